import { expect, it } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import type { StoreVersion } from '../../../core/schemas/archive.ts';
import type { Core } from '../../../core/service.ts';
import { openCore } from '../../support/service.ts';
import { importAll } from './archives.ts';

const SCOPE = 's:team';

/** What happened in a store, the oldest first: the memory, its path (`null`: redacted) and its content (`null`: deleted). */
type Event = [memory: string, path: string | null, content: string | null];

const HISTORY: Event[] = [
  ['moved', '/a', 'one'],
  ['moved', '/a', 'two'],
  ['moved', '/b', 'two'],
  // It takes the path of a memory that has moved away.
  ['after', '/a', 'another'],
  ['after', '/a', null],
  // A folder where a file was.
  ['below', '/a/x', 'below'],
  ['p', '/p', 'P'],
  ['q', '/q', 'Q'],
  ['p', '/between', 'P'],
  ['q', '/p', 'Q'],
  ['p', '/q', 'P, changed'],
  ['same', '/same', 'same'],
  ['same', '/same', 'same'],
  ['redacted', null, null],
  ['redacted', '/r', 'harmless'],
  ['gone', '/gone', 'x'],
  ['gone', '/gone', null],
  ['again', '/gone', 'y'],
  ['moved', '/c/d', 'three'],
  ['below', '/b', 'where it was'],
];

function toArchive(history: readonly Event[]): Buffer {
  const seen = new Set<string>();
  const lines = history.map(([memory, path, content], no): StoreVersion => {
    const isFirst = !seen.has(memory);
    seen.add(memory);
    const isDeletion = path !== null && content === null;
    return {
      id: `memver_${no}`,
      memoryId: `mem_${memory}`,
      at: new Date(Date.UTC(2026, 0, 1) + no * 1000).toISOString(),
      operation: isDeletion ? 'deleted' : isFirst ? 'created' : 'modified',
      path,
      content,
    };
  });
  const head = { format: 'memory-stores', version: 1, spaceId: 'team' };
  return Buffer.from([head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
}

const importStore = (core: Core, archive: Buffer, more: object = {}) =>
  importAll(core, archive, { from: 'memory-stores', ...more });

/** What the space has and had: no ids and times. */
async function readSpace(core: Core) {
  const page = { limit: 500, order: 'asc', after: null } as const;
  const { items } = await core.storage.revisions.list({ scope: SCOPE }, page);
  const files = await core.storage.files.list(SCOPE, { prefix: '', after: null, limit: 100 });
  return {
    files: files.map(({ path, hash, version }) => [path, hash, version]),
    revisions: items
      .map(({ path, version, action, hash, reason }) =>
        [path, version, action, hash, reason].join(' '),
      )
      .sort(),
  };
}

async function openSpace(): Promise<Core> {
  const core = await openCore();
  const caller = { operator: null, address: null, traceId: null };
  await core.spaces.create({ id: 'team', exclusivePaths: true }, caller);
  return core;
}

it('is completed by the next one, after whichever transaction it was cut off', async () => {
  const archive = toArchive(HISTORY);
  const whole = await openSpace();
  const first = await importStore(whole, archive);
  expect(first.skipped).toEqual({});
  const expected = await readSpace(whole);
  expect(expected.files.map(([path]) => path)).toEqual(['b', 'c/d', 'gone', 'p', 'q', 'r', 'same']);
  for (let after = 0; ; after += 1) {
    const core = await openSpace();
    const { mutate } = core.storage;
    let left = after;
    core.storage.mutate = (request, decide) => {
      if (left === 0) return Promise.reject(new MemoryError('STORAGE_UNAVAILABLE'));
      left -= 1;
      return mutate.call(core.storage, request, decide) as never;
    };
    const cut = await importStore(core, archive).catch((error: unknown) => error);
    core.storage.mutate = mutate;
    const completed = await importStore(core, archive).catch((error: unknown) => error);
    expect([after, completed]).toMatchObject([after, { skipped: {} }]);
    expect([after, await readSpace(core)]).toEqual([after, expected]);
    await core.close();
    if (!(cut instanceof Error)) break;
  }
});

it('names what others wrote at any of the paths of a memory, before it writes', async () => {
  const archive = toArchive([
    ['one', '/first', 'one'],
    ['one', '/between', 'one'],
    ['one', '/last', 'one'],
    ['two', '/two', 'two'],
  ]);
  for (const path of ['first', 'between', 'last']) {
    const core = await openSpace();
    const caller = { operator: null, address: null, traceId: null };
    await core.files.put(`spaces/team/${path}`, { content: 'by others' }, caller);
    const before = await readSpace(core);
    await expect(importStore(core, archive)).rejects.toMatchObject({
      code: 'IMPORT_CONFLICT',
      details: { paths: [`spaces/team/${path}`] },
    });
    expect(await readSpace(core)).toEqual(before);
    const { files } = await importStore(core, archive, { onExisting: 'skip' });
    expect(files).toEqual({ 'spaces/team/last': 'skipped', 'spaces/team/two': 'created' });
    await core.close();
    const other = await openSpace();
    await other.files.put(`spaces/team/${path}`, { content: 'by others' }, caller);
    await importStore(other, archive, { onExisting: 'new_versions' });
    const { files: after } = await readSpace(other);
    const paths = after.map(([at]) => at);
    // Its last place gets new versions; on its way it stops where others are.
    const stopped = { first: ['first', 'two'], between: ['between', 'first', 'two'] }[path];
    expect([path, paths]).toEqual([path, stopped ?? ['last', 'two']]);
    await other.close();
  }
});
