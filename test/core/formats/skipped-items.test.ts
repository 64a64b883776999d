import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { compress, packFiles, type PlainFile } from '../../../core/archive/export.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { importAll, pack } from '../archive/archives.ts';

type Notes = Record<string, string | Buffer>;

/** A folder as the command packs it, also with files that the command would leave out itself. */
async function packNotes(notes: Notes, userId = 'alice'): Promise<Buffer> {
  const files = Object.entries(notes).map(([path, content]): PlainFile => ({
    key: { scope: `u:${userId}`, path },
    content: Buffer.from(content),
  }));
  return await buffer(compress(packFiles(files, userId)));
}

async function pathsOf(core: Core): Promise<string[]> {
  const { items } = await core.fileLists.files({ prefix: 'users/' });
  return items.map(({ path }) => path);
}

const NOTES: Notes = {
  'a.md': 'good\n',
  'b.md': 'x'.repeat(300_000),
  'bb.md': 'x'.repeat(20 * 1024 ** 2),
  'c.md': 'a\0b',
  'd.md': Buffer.from([0x61, 0xff]),
  'e?.md': 'a name that memory does not take',
  'f.md': 'good, too\n',
};
const SKIPPED = {
  'users/alice/b.md': 'The content has 300000 bytes; a file has at most 262144.',
  'users/alice/bb.md': 'The content has 20971520 bytes; a file has at most 262144.',
  'users/alice/c.md': 'The content has a NUL character.',
  'users/alice/d.md': 'The content is not UTF-8.',
  'users/alice/e?.md': expect.stringMatching(/^A segment has none of/) as string,
};

describe('a folder', () => {
  it('is imported without the files that memory does not take, which are named', async () => {
    const core = await openCore();
    const folder = await packNotes(NOTES);
    const dry = await importAll(core, folder, { from: 'markdown', dryRun: true });
    expect(await pathsOf(core)).toEqual([]);
    const done = await importAll(core, folder, { from: 'markdown' });
    for (const { skipped, files, summary } of [dry, done]) {
      expect(skipped).toEqual(SKIPPED);
      expect(files).toEqual({ 'users/alice/a.md': 'created', 'users/alice/f.md': 'created' });
      expect(summary).toMatchObject({
        created: 2,
        skipped: 0,
        source: { from: 'markdown', items: 7, written: 2, skipped: 5 },
      });
    }
    expect(await pathsOf(core)).toEqual(['users/alice/a.md', 'users/alice/f.md']);
  });

  it('fills a user up to the limit, and names the files above it', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 3 } });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'mine' });
    await call(core, 'alice', 'memory_write', { path: 'user/z.md', content: 'mine' });
    const notes = { 'a.md': 'new', 'b.md': 'b', 'c.md': 'c', 'd.md': 'd', 'z.md': 'mine' };
    const folder = await packNotes(notes);
    const options = { from: 'markdown', onExisting: 'new_versions' } as const;
    const dry = await importAll(core, folder, { ...options, dryRun: true });
    const done = await importAll(core, folder, options);
    const reason = 'The memory has 3 files; at most 3 are allowed.';
    for (const { files, skipped, summary } of [dry, done]) {
      expect(files).toEqual({
        'users/alice/a.md': 'updated',
        'users/alice/b.md': 'created',
        'users/alice/z.md': 'unchanged',
      });
      expect(skipped).toEqual({ 'users/alice/c.md': reason, 'users/alice/d.md': reason });
      expect(summary.source).toEqual({ from: 'markdown', items: 5, written: 3, skipped: 2 });
    }
    expect(await pathsOf(core)).toEqual([
      'users/alice/a.md',
      'users/alice/b.md',
      'users/alice/z.md',
    ]);
    // Its audit row is written, also if the first file is not.
    const { items } = await core.storage.audit.list({}, { limit: 10, order: 'asc', after: null });
    expect(items.map(({ details }) => details['step'])).toEqual(['begin', 'end']);
  });

  it('is refused as a whole if files differ and nothing is said about that', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'mine' });
    const error = await rejection(importAll(core, await packNotes(NOTES), { from: 'markdown' }));
    expect(error).toMatchObject({ code: 'IMPORT_CONFLICT' });
    expect(await pathsOf(core)).toEqual(['users/alice/a.md']);
  });

  it('is still refused where it is cut off, or has the files of another user', async () => {
    const core = await openCore();
    const folder = await packNotes({ 'a.md': 'good\n', 'b.md': 'good\n' });
    const cut = await rejection(importAll(core, folder.subarray(0, -20), { from: 'markdown' }));
    expect(cut).toMatchObject({ code: 'INVALID_ARCHIVE' });
    const manifest = { format: 'memory-service', version: 1, userId: 'alice', history: false };
    const foreign = pack([
      { path: 'manifest.json', content: Buffer.from(`${JSON.stringify(manifest)}\n`) },
      { path: 'users/bob/a.md', content: Buffer.from('bob’s') },
    ]);
    const other = await rejection(importAll(core, foreign, { from: 'markdown' }));
    expect(other).toMatchObject({ code: 'INVALID_ARCHIVE' });
    expect(await pathsOf(core)).toEqual([]);
  });
});

it('an archive of ours is imported as a whole or refused', async () => {
  const core = await openCore();
  const archive = await packNotes(NOTES);
  for (const from of [undefined, 'archive'] as const) {
    const error = await rejection(importAll(core, archive, { from }));
    expect(error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  }
  expect(await pathsOf(core)).toEqual([]);
});

describe('an export of another program', () => {
  const memories = Array.from({ length: 3 }, (_, at) => ({
    memory: `fact ${at}`,
    user_id: 'alice',
    created_at: `2026-0${at + 1}-01T00:00:00Z`,
  }));

  it('fills a user up to the limit, and names the files above it with their items', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 2 } });
    const { skipped, summary } = await importAll(core, Buffer.from(JSON.stringify(memories)));
    expect(skipped).toEqual({
      'users/alice/memories/2026-03.md': 'The memory has 2 files; at most 2 are allowed.',
    });
    expect(summary.source).toEqual({ from: 'mem0', items: 3, written: 2, skipped: 1 });
  });

  it('goes on after a damaged line', async () => {
    const core = await openCore();
    const lines = memories.map((memory) => JSON.stringify(memory));
    lines.splice(1, 0, '{"memory":"cut o');
    const { skipped, summary } = await importAll(core, Buffer.from(lines.join('\n')));
    expect(skipped).toEqual({ 'line 2': 'It is not JSON: the line is damaged or cut off.' });
    expect(summary.source).toEqual({ from: 'mem0', items: 4, written: 3, skipped: 1 });
  });
});
