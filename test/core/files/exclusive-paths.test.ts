import { expect, it, onTestFinished } from 'vitest';
import type { Core } from '../../../core/service.ts';
import { lineageOf } from '../../../core/files/lineage.ts';
import { makeStorage, openCore } from '../../support/service.ts';

const OPERATOR = { operator: 'admin', address: null, traceId: null };
const SCOPE = 's:acme';

async function openSpace(settings: { exclusivePaths?: boolean } = {}): Promise<Core> {
  const core = await openCore({
    storage: await makeStorage(),
    tools: { delete: true, move: true },
  });
  onTestFinished(() => core.close());
  await core.spaces.create({ id: 'acme', ...settings }, OPERATOR);
  return core;
}

const run = (core: Core, tool: string, args: object) =>
  core.tools.execute(tool, {
    context: { userId: 'alice', spaces: [{ id: 'acme', access: 'write' }] },
    arguments: args,
  });
const write = (core: Core, path: string, content = `${path}\n`) =>
  run(core, 'memory_write', { path: `space/${path}`, content });

const lineageAt = async (core: Core, path: string) => {
  const file = await core.storage.files.get({ scope: SCOPE, path });
  return file === null ? null : lineageOf(file);
};

it('takes no file in place of a folder, nor in a file, from any writer', async () => {
  const core = await openSpace({ exclusivePaths: true });
  await write(core, 'notes/2026/a.md');
  for (const path of ['notes', 'notes/2026', 'notes/2026/a.md/b', 'notes/2026/a.md/b/c.md']) {
    const refused = { code: 'PATH_CONFLICT', status: 409 };
    await expect(write(core, path)).rejects.toMatchObject({
      ...refused,
      details: { conflictingPath: 'spaces/acme/notes/2026/a.md' },
    });
    await expect(
      core.files.put(`spaces/acme/${path}`, { content: 'x\n' }, OPERATOR),
    ).rejects.toMatchObject(refused);
  }
  await write(core, 'b.md');
  await expect(
    run(core, 'memory_move', { from: 'space/b.md', to: 'space/notes' }),
  ).rejects.toMatchObject({ code: 'PATH_CONFLICT' });
  await expect(
    run(core, 'memory_move', { from: 'space/b.md', to: 'space/b.md/c' }),
  ).resolves.toBeDefined();
  // Names that only begin alike are others.
  await write(core, 'notes-archive');
  await write(core, 'notes/2026/a.md2');
  await run(core, 'memory_delete', { path: 'space/notes/2026/a.md' });
  await run(core, 'memory_delete', { path: 'space/notes/2026/a.md2' });
  await write(core, 'notes/2026');
  const { result } = await run(core, 'memory_list', { path: 'space/' });
  const { files } = result as { files: { path: string }[] };
  expect(files.map(({ path }) => path)).toEqual([
    'spaces/acme/b.md/c',
    'spaces/acme/notes-archive',
    'spaces/acme/notes/2026',
  ]);
});

it('lets one of two writes at once win', async () => {
  const core = await openSpace({ exclusivePaths: true });
  const paths = ['x', 'x/a', 'x/b', 'x/a/c', 'x', 'x/a'];
  await Promise.allSettled(paths.map((path) => write(core, path)));
  const found = await core.storage.files.list(SCOPE, { prefix: '', after: null, limit: 10 });
  const all = found.map(({ path }) => path);
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter((one) => all.some((other) => other.startsWith(`${one}/`)))).toEqual([]);
});

it('allows both in other memory', async () => {
  const core = await openSpace();
  await write(core, 'a');
  await write(core, 'a/b');
  await expect(write(core, 'a/b/c')).resolves.toBeDefined();
  const { context } = { context: { userId: 'alice' } };
  for (const path of ['user/a', 'user/a/b']) {
    await core.tools.execute('memory_write', { context, arguments: { path, content: 'x\n' } });
  }
});

it('keeps the settings of a space that is written the first time', async () => {
  const core = await openSpace({ exclusivePaths: true });
  await write(core, 'a');
  expect(await core.spaces.get('acme')).toMatchObject({ exclusivePaths: true, version: 1 });
});

it('knows a file of a space by its lineage through moves, until it is deleted', async () => {
  const core = await openSpace();
  await write(core, 'a.md');
  const first = await lineageAt(core, 'a.md');
  await write(core, 'a.md', 'changed\n');
  await run(core, 'memory_move', { from: 'space/a.md', to: 'space/b.md' });
  expect(await lineageAt(core, 'b.md')).toBe(first);
  expect((await core.storage.files.ofLineage(SCOPE, first as string))?.path).toBe('b.md');
  await write(core, 'a.md', 'another\n');
  const second = await lineageAt(core, 'a.md');
  expect(second).not.toBe(first);
  // A swap by two moves and a place between.
  await run(core, 'memory_move', { from: 'space/a.md', to: 'space/c.md' });
  await run(core, 'memory_move', { from: 'space/b.md', to: 'space/a.md' });
  await run(core, 'memory_move', { from: 'space/c.md', to: 'space/b.md' });
  expect([await lineageAt(core, 'a.md'), await lineageAt(core, 'b.md')]).toEqual([first, second]);
  await run(core, 'memory_delete', { path: 'space/a.md' });
  expect(await core.storage.files.ofLineage(SCOPE, first as string)).toBeNull();
  await write(core, 'a.md', 'anew\n');
  expect([first, second]).not.toContain(await lineageAt(core, 'a.md'));
});

it('gives a lineage back when a deletion or a move is reverted', async () => {
  const core = await openSpace();
  await write(core, 'a.md');
  const lineage = await lineageAt(core, 'a.md');
  const { result } = await run(core, 'memory_delete', { path: 'space/a.md' });
  const { revisionId } = result as { revisionId: string };
  await core.revisions.revert(revisionId, {}, OPERATOR);
  expect((await core.storage.files.ofLineage(SCOPE, lineage as string))?.path).toBe('a.md');

  const moved = await run(core, 'memory_move', { from: 'space/a.md', to: 'space/b.md' });
  const move = (moved.result as { revisionId: string }).revisionId;
  await core.revisions.revert(move, {}, OPERATOR);
  expect((await core.storage.files.ofLineage(SCOPE, lineage as string))?.path).toBe('a.md');
  const page = { limit: 10, order: 'desc', after: null } as const;
  const undone = (await core.storage.revisions.list({ scope: SCOPE }, { ...page, limit: 2 })).items;
  await core.revisions.revertWrites({ revisionIds: undone.map(({ id }) => id) }, OPERATOR);
  expect((await core.storage.files.ofLineage(SCOPE, lineage as string))?.path).toBe('b.md');
  const { items } = await core.storage.revisions.list({ scope: SCOPE, lineageId: lineage }, page);
  expect(items.map(({ path, action }) => `${path} ${action}`)).toEqual([
    'b.md revert',
    'a.md revert',
    'b.md move',
    'a.md revert',
    'a.md delete',
    'a.md create',
  ]);
});

it('restores what fits, and says in the preview what it would refuse', async () => {
  const core = await openSpace();
  await write(core, 'a');
  await write(core, 'a/b');
  await write(core, 'folder/x');
  await write(core, 'kept');
  const at = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (const path of ['a', 'a/b', 'folder/x', 'kept']) {
    await run(core, 'memory_delete', { path: `space/${path}` });
  }
  await core.spaces.change('acme', { exclusivePaths: true }, OPERATOR);
  await write(core, 'folder');
  await write(core, 'kept/later');
  const restore = (dryRun: boolean) =>
    core.restores.restore({ spaceId: 'acme' }, { at, dryRun }, OPERATOR);
  const outcomes = async (dryRun: boolean) =>
    (await restore(dryRun)).files.map(({ path, outcome, why }) => [path, outcome, why]).sort();
  const expected = [
    ['spaces/acme/a', 'restored', null],
    [
      'spaces/acme/a/b',
      'refused',
      'spaces/acme/a/b cannot be a file: spaces/acme/a is a file, not a folder.',
    ],
    ['spaces/acme/folder', 'deleted', null],
    ['spaces/acme/folder/x', 'restored', null],
    ['spaces/acme/kept', 'restored', null],
    ['spaces/acme/kept/later', 'deleted', null],
  ];
  expect(await outcomes(true)).toEqual(expected);
  expect(await outcomes(false)).toEqual(expected);
  // Nothing holds the space.
  await expect(write(core, 'next')).resolves.toBeDefined();
});
