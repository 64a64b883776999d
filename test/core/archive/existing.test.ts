import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { exportAll, importAll } from './archives.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

async function write(core: Core, path: string, content: string): Promise<void> {
  await call(core, 'alice', 'memory_write', { path: `user/${path}`, content });
}

/** Memory of alice here and elsewhere: one file is the same, one differs, one is only in each. */
async function makeBoth(): Promise<{ archive: Buffer; core: Core }> {
  const here = await openCore();
  await write(here, 'differs.md', 'here');
  await write(here, 'only-here.md', 'here');
  await write(here, 'same.md', 'same');
  const core = await openCore();
  await write(core, 'differs.md', 'there');
  await write(core, 'only-there.md', 'there');
  await write(core, 'same.md', 'same');
  return { archive: await exportAll(here), core };
}

async function contents(core: Core): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const files = await core.storage.files.list('u:alice', { prefix: '', after: null, limit: 50 });
  for (const { path } of files) {
    const file = await core.storage.files.get({ scope: 'u:alice', path });
    found[path] = `${file?.content} v${file?.version} ${file?.latestActor}`;
  }
  return found;
}

/** A file whose second version is redacted, and the archive from before that. */
async function openRedacted(): Promise<{ core: Core; archive: Buffer }> {
  const core = await openCore();
  for (const content of ['one', 'secret', 'three', 'four']) await write(core, 'a.md', content);
  const archive = await exportAll(core);
  const { items } = await core.revisions.list({ path: 'users/alice/a.md', order: 'asc' });
  await core.revisions.redact(items[1]?.id ?? '', { reason: 'a secret' }, operator);
  return { core, archive };
}

const THERE = {
  'differs.md': 'there v1 agent',
  'only-there.md': 'there v1 agent',
  'same.md': 'same v1 agent',
};

describe('an import over existing files', () => {
  it('is refused by default, names the files, and writes nothing', async () => {
    const { archive, core } = await makeBoth();
    const error = await rejection(importAll(core, archive));
    expect(error).toMatchObject({
      code: 'IMPORT_CONFLICT',
      status: 409,
      details: { count: 1, paths: ['users/alice/differs.md'] },
    });
    expect(await contents(core)).toEqual(THERE);
  });

  it('leaves them with skip, and writes the others as import', async () => {
    const { archive, core } = await makeBoth();
    const { files, summary } = await importAll(core, archive, { onExisting: 'skip' });
    expect(files).toEqual({
      'users/alice/differs.md': 'skipped',
      'users/alice/only-here.md': 'created',
      'users/alice/same.md': 'unchanged',
    });
    expect(summary).toEqual({
      dryRun: false,
      restored: 0,
      created: 1,
      updated: 0,
      unchanged: 1,
      skipped: 1,
    });
    expect(await contents(core)).toEqual({ ...THERE, 'only-here.md': 'here v1 import' });
  });

  it('writes new versions with new_versions, which can be undone', async () => {
    const { archive, core } = await makeBoth();
    await importAll(core, archive, { onExisting: 'new_versions' });
    expect(await contents(core)).toEqual({
      ...THERE,
      'differs.md': 'here v2 import',
      'only-here.md': 'here v1 import',
    });
    const at = { version: 1 };
    const earlier = await core.revisions.contentAt({ scope: 'u:alice', path: 'differs.md' }, at);
    expect(earlier.content).toBe('there');
    await core.indexer.drain();
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it.each(['skip', 'new_versions'] as const)(
    'says in a dry run what %s would do, and writes nothing',
    async (onExisting) => {
      const { archive, core } = await makeBoth();
      const before = await exportAll(core);
      const dry = await importAll(core, archive, { onExisting, dryRun: true });
      expect((await exportAll(core)).equals(before)).toBe(true);
      const done = await importAll(core, archive, { onExisting });
      expect(dry.files).toEqual(done.files);
      expect(dry.summary).toEqual({ ...done.summary, dryRun: true });
    },
  );

  it('says in a dry run what would be restored', async () => {
    const { archive } = await makeBoth();
    const core = await openCore();
    const { summary } = await importAll(core, archive, { dryRun: true });
    expect(summary).toMatchObject({ dryRun: true, restored: 3 });
    expect(await contents(core)).toEqual({});
  });

  it('changes nothing when it is repeated', async () => {
    const { archive } = await makeBoth();
    const core = await openCore();
    await importAll(core, archive);
    const once = await exportAll(core);
    const { summary } = await importAll(core, archive);
    expect(summary).toMatchObject({ unchanged: 3, restored: 0 });
    expect((await exportAll(core)).equals(once)).toBe(true);
  });

  it('completes an import that stopped, with its history', async () => {
    const { archive } = await makeBoth();
    const core = await openCore();
    const options = { onExisting: 'refuse', dryRun: false, caller: null } as const;
    const stopped = await core.archive.import(() => Readable.from([archive]), options);
    await stopped.next();
    await stopped.return({} as never);
    await importAll(core, archive);
    expect((await exportAll(core)).equals(archive)).toBe(true);
  });

  it('brings back no file that was deleted in the archive, and deletes none', async () => {
    const here = await openCore({ tools: { delete: true } });
    await write(here, 'gone.md', 'here');
    await call(here, 'alice', 'memory_delete', { path: 'user/gone.md' });
    const core = await openCore();
    await write(core, 'gone.md', 'there');
    const { files } = await importAll(core, await exportAll(here), { onExisting: 'new_versions' });
    expect(files).toEqual({ 'users/alice/gone.md': 'skipped' });
    expect(await contents(core)).toEqual({ 'gone.md': 'there v1 agent' });
  });

  it('joins no older history on to a file whose redacted revision is pruned here', async () => {
    const { core, archive } = await openRedacted();
    await core.revisions.prune({ keepLast: 2 }, operator);
    const before = await exportAll(core);
    for (const dryRun of [true, false]) {
      const { summary } = await importAll(core, archive, { dryRun });
      expect(summary).toMatchObject({ unchanged: 1, restored: 0 });
    }
    expect((await exportAll(core)).equals(before)).toBe(true);
    await core.indexer.drain();
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('joins no redacted revision on to a file that has the content of it', async () => {
    const { core: there, archive } = await openRedacted();
    const core = await openCore();
    await importAll(core, archive);
    await core.revisions.prune({ keepLast: 2 }, operator);
    const before = await exportAll(core);
    for (const dryRun of [true, false]) {
      const { summary } = await importAll(core, await exportAll(there), { dryRun });
      expect(summary).toMatchObject({ unchanged: 1, restored: 0 });
    }
    expect((await exportAll(core)).equals(before)).toBe(true);
  });

  it('joins a redacted revision on to a file in which it is redacted, too', async () => {
    const { core } = await openRedacted();
    const whole = await exportAll(core);
    await core.revisions.prune({ keepLast: 2 }, operator);
    const { summary } = await importAll(core, whole);
    expect(summary).toMatchObject({ unchanged: 0, restored: 1 });
    await core.indexer.drain();
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
    const { content } = await core.revisions.contentAt(
      { scope: 'u:alice', path: 'a.md' },
      { version: 1 },
    );
    expect(content).toBe('one');
  });
});
