import { copyFile, mkdtemp, open as openFile, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { listScopeFiles } from '../../../core/archive/scopes.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { createCore } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Finding } from '../../../core/contracts/admin.ts';
import { sealPruned } from '../../../core/history/chain.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import { quiet } from '../../support/quiet-log.ts';
import { removeTerm } from '../../support/spoil-index.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** Pages that are checked at once: each is read again for a while before it counts as damaged. */
const AT_ONCE = 16;

let directory: string;
let healthy: string;

/** A database with a long history, a deleted file, a moved one, shared memory and an index. */
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-verify-'));
  healthy = path.join(directory, 'healthy.db');
  const core = createCore({
    storage: sqlite({ filename: healthy }),
    tools: { delete: true, move: true },
  });
  const write = (tool: string, args: object) => call(core, 'alice', tool, args);
  await write('memory_write', { path: 'user/tea.md', content: 'green\n' });
  for (let n = 0; n < 70; n++) {
    await write('memory_patch', { path: 'user/tea.md', append: { text: `cup ${n}` } });
  }
  await write('memory_write', { path: 'user/gone.md', content: 'soon gone' });
  await write('memory_delete', { path: 'user/gone.md' });
  await write('memory_write', { path: 'user/old.md', content: 'moves' });
  await write('memory_move', { from: 'user/old.md', to: 'user/new.md' });
  const admin = { address: '127.0.0.1', traceId: '0'.repeat(32) };
  await core.files.put('shared/plan.md', { content: 'for all' }, admin);
  await core.files.put('users/bob/plan.md', { content: 'by the admin' }, admin);
  await core.indexer.drain();
  await core.close();
  return () => rm(directory, { recursive: true });
});

/** Here what is damaged stays so: a second look need not wait (test/faults/failing-disk.test.ts waits). */
async function open(filename: string): Promise<Storage> {
  const storage = { ...sqlite({ filename }), doubtMs: () => 0 };
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

const toLines = (findings: readonly Finding[]) =>
  findings.map(({ invariant, path: of, message }) => `${invariant} ${of ?? ''}: ${message}`);

it('finds nothing wrong with a memory that is whole, and says how far it is', async () => {
  const seen: [number, number][] = [];
  const verification = await verifyMemory(await open(healthy), {
    progress: (done, files) => seen.push([done, files]),
  });
  expect(toLines(verification.findings)).toEqual([]);
  // Four that exist and two that are gone; of a move there are two revisions.
  expect(verification).toMatchObject({ scopes: 3, files: 6, revisions: 78, found: 0 });
  expect(seen[0]).toEqual([0, 4]);
  expect(seen.at(-1)).toEqual([4, 4]);
});

describe('a memory that was spoilt', () => {
  const TEA = "(select file_no from svc_file where path = 'tea.md')";
  it.each<[Finding['invariant'], string]>([
    ['I1', `update svc_content set content = content || 'x' where file_no = ${TEA}`],
    ['I1', `delete from svc_content where file_no = ${TEA}`],
    ['I1', `update svc_file set hash = zeroblob(32) where path = 'plan.md'`],
    ['I2', `update svc_file set version = version + 1 where path = 'tea.md'`],
    ['I2', `update svc_file set writes = writes - 1 where path = 'tea.md'`],
    ['I2', `delete from svc_revision where file_no = ${TEA} and version = 1`],
    ['I2', `update svc_file set revisions = 3 where path = 'gone.md'`],
    ['I3', `update svc_content set content = replace(content, 'cup 3', 'cup 9')`],
    ['I3', `update svc_revision set delta = null where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set delta = zeroblob(9) where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set hash = zeroblob(32) where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set size = 7 where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set keyframe = 'x' where keyframe is not null`],
    ['I3', `update svc_revision set existed_before = 0 where file_no = ${TEA} and version = 9`],
    ['I4', 'delete from svc_segment'],
    ['I4', 'update svc_segment set head = zeroblob(9)'],
    ['I4', `update svc_segment set head = (select max(o.head) from svc_segment o)`],
    ['I5', `delete from svc_file where path = 'new.md'`],
    ['I5', `delete from svc_scope where scope = 'u:bob'`],
    [
      'I6',
      `delete from svc_access_log where id = (select max(id) from svc_access_log where action = 'write')`,
    ],
    ['I8', `update svc_revision set version = 99 where file_no = ${TEA} and version = 71`],
    ['I8', `update svc_revision set id = zeroblob(16) where file_no = ${TEA} and version = 30`],
    ['I8', `update svc_revision set at = at - 9999999 where file_no = ${TEA} and version = 30`],
    ['I8', `update svc_file set latest_revision_id = randomblob(16) where path = 'tea.md'`],
    ['I8', `update svc_file set latest_actor = 'nobody' where path = 'gone.md'`],
    ['whole', `update svc_scope set files = files + 1`],
    ['whole', `update svc_scope set bytes = bytes - 1`],
    ['whole', `update svc_scope set revisions = 0 where scope = 's'`],
    ['whole', `update svc_revision set peer_id = null where exists_after = 0 and action = 'move'`],
  ])('breaks %s by: %s', async (invariant, sql) => {
    const spoilt = path.join(await temporaryDirectory(), 'spoilt.db');
    await copyFile(healthy, spoilt);
    const changed = await withRawSql(spoilt, 'sqlite3', (raw) => raw.run(sql, []));
    expect(changed).toBeGreaterThan(0);
    const { findings, found } = await verifyMemory(await open(spoilt));
    expect(toLines(findings).join('\n')).toMatch(new RegExp(`^${invariant} `, 'm'));
    expect(found).toBe(findings.length);
    for (const { message } of findings) expect(message).not.toMatch(/green|cup \d/);
  });
});

it('finds that an intact segment lacks postings of its text', async () => {
  const spoilt = path.join(await temporaryDirectory(), 'spoilt.db');
  await copyFile(healthy, spoilt);
  await removeTerm(spoilt, 'green');
  const { findings } = await verifyMemory(await open(spoilt));
  expect(toLines(findings).join('\n')).toMatch(/^I4 .*tea\.md: lacks postings of its text/m);
});

describe('a memory with pages that cannot be read', () => {
  it('lists what is wrong and goes on, whichever page it is', { timeout: 300_000 }, async () => {
    const pageSize = 4_096;
    const pages = (await stat(healthy)).size / pageSize;
    const counts = { unopened: 0, unused: 0, found: 0 };
    const checkPage = async (page: number): Promise<keyof typeof counts> => {
      const spoilt = path.join(await temporaryDirectory(), 'spoilt.db');
      await copyFile(healthy, spoilt);
      await overwrite(spoilt, page * pageSize, Buffer.alloc(pageSize, 0xee));
      const storage = sqlite({ filename: spoilt });
      onTestFinished(() => storage.close());
      try {
        await storage.init({ log: quiet, now: Date.now });
      } catch (error) {
        expect(error).toMatchObject({ code: 'STORAGE_DAMAGED', retryable: false });
        return 'unopened';
      }
      const { findings, found, files } = await verifyMemory(storage);
      expect(found).toBe(findings.length);
      if (found === 0) {
        expect(files).toBe(6);
        return 'unused';
      }
      expect(toLines(findings).join('\n')).toMatch(/^storage /m);
      await expect(storage.ping()).rejects.toMatchObject({ code: 'STORAGE_DAMAGED' });
      await storage.close();
      return 'found';
    };
    // The first page holds the schema: without it nothing can be opened.
    const each = Array.from({ length: pages - 1 }, (_, at) => 1 + at);
    const sample = isRelease ? each : each.filter((page) => page % 3 === 0);
    for (let start = 0; start < sample.length; start += AT_ONCE) {
      const some = sample.slice(start, start + AT_ONCE);
      for (const outcome of await Promise.all(some.map(checkPage))) counts[outcome] += 1;
    }
    expect(counts.found).toBeGreaterThan(sample.length / 2);
  });

  it('names every file whose content is another, beside a page that is gone', async () => {
    const spoilt = path.join(await temporaryDirectory(), 'spoilt.db');
    await copyFile(healthy, spoilt);
    const bytes = await readFile(spoilt);
    for (const text of ['by the admin', 'for all']) {
      const at = bytes.indexOf(text);
      expect(at).toBeGreaterThan(0);
      await overwrite(spoilt, at, Buffer.from('B'));
    }
    await withRawSql(spoilt, 'sqlite3', (raw) =>
      raw.run("update svc_file set hash = zeroblob(32) where path = 'new.md'", []),
    );
    const { findings } = await verifyMemory(await open(spoilt));
    const damaged = findings.filter(({ invariant }) => invariant === 'I1').map((one) => one.path);
    expect(damaged.sort()).toEqual(['shared/plan.md', 'users/alice/new.md', 'users/bob/plan.md']);
  });

  it('ends where a list comes back to rows that it has listed', async () => {
    const storage = await open(healthy);
    const inspection = storage.inspection as NonNullable<Storage['inspection']>;
    // What SQLite reads where a page of the files is a copy of the page before it.
    const repeating = {
      ...inspection,
      files: (scope: ScopeKey, { limit }: { after: string | null; limit: number }) =>
        inspection.files(scope, { after: null, limit }),
    };
    const { findings } = await verifyMemory({ ...storage, inspection: repeating });
    expect(toLines(findings)).toContainEqual(expect.stringMatching(/^storage .*cannot be listed/));
    await expect(storage.ping()).rejects.toMatchObject({ code: 'STORAGE_DAMAGED' });
    const listed = async () => {
      for await (const { path: name } of listScopeFiles(repeating, 'u:alice'))
        expect(name).toBeTruthy();
    };
    expect(await rejection(listed())).toMatchObject({ code: 'STORAGE_DAMAGED' });
  });

  it('goes past rows that cannot be listed', async () => {
    const storage = await open(healthy);
    const inspection = storage.inspection as NonNullable<Storage['inspection']>;
    const isGap = (path: string) => path >= 'k' && path < 'r';
    const { findings, files } = await verifyMemory({
      ...storage,
      inspection: {
        ...inspection,
        // A page with the files new.md and old.md.
        async files(scope, options) {
          const rows = await inspection.files(scope, options);
          const begin = options.after ?? '';
          const isMet = isGap(begin) || rows.some((row) => isGap(row.path));
          if (scope === 'u:alice' && isMet) throw new MemoryError('STORAGE_DAMAGED');
          return rows;
        },
      },
    });
    expect(toLines(findings)).toContainEqual(
      expect.stringContaining('files of u:alice after users/alice/gone.md cannot be listed'),
    );
    // gone.md comes before them, tea.md behind; bob and shared memory have one each.
    expect(files).toBe(4);
  });
});

async function overwrite(filename: string, at: number, bytes: Uint8Array): Promise<void> {
  const file = await openFile(filename, 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

it('takes nothing that is written meanwhile for a fault', async () => {
  const core = await openCore();
  const write = (n: number) =>
    call(core, `u${n % 3}`, 'memory_write', { path: `user/f${n % 5}.md`, content: `fact ${n}` });
  for (let n = 0; n < 30; n += 1) await write(n);
  let isOver = false;
  const writing = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = writer; !isOver; n += 4) await write(n);
  });
  for (let round = 0; round < 5; round += 1) {
    const { findings } = await verifyMemory(core.storage);
    expect(toLines(findings)).toEqual([]);
  }
  isOver = true;
  await Promise.all(writing);
});

it('takes nothing that was pruned, or that retention removed, for a fault', async () => {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  await copyFile(healthy, filename);
  const storage = await open(filename);
  const audit = () => ({
    id: '00000000-0000-7000-8000-000000000000',
    at: 1,
    action: 'x',
    target: 'all',
    details: {},
    operator: null,
    address: null,
    traceId: null,
  });
  await storage.revisions.prune(
    { keepLast: 10, scope: 'u:alice' },
    { dryRun: false, audit, seal: sealPruned(Date.now) },
  );
  await storage.log.expire('access', Date.now() + 1, 1_000);
  const cut = await verifyMemory(storage, { accessLogSince: Date.now() + 1 });
  expect(toLines(cut.findings)).toEqual([]);
  const all = await verifyMemory(storage);
  expect(new Set(all.findings.map(({ invariant }) => invariant))).toEqual(new Set(['I6']));
});
