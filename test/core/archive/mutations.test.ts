import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { TarEntry } from '../../../core/archive/tar.ts';
import type { RevisionRecord, ScopeKey } from '../../../core/contracts/records.ts';
import { MemoryError } from '../../../core/errors.ts';
import { parsePhysicalPath } from '../../../core/files/paths.ts';
import { chainStart, hashRow, linkHash } from '../../../core/history/chain.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import { readRows } from '../../../core/lists/page.ts';
import type { Core } from '../../../core/service.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { call, openCore, temporaryDatabase } from '../../support/service.ts';
import { exportAll, importAll, pack, unpack } from './archives.ts';
import { sqlite } from '../../support/databases.ts';

/** One of so many changes is tried. */
const EVERY = process.env['MEMORY_TEST_RELEASE'] === undefined ? 151 : 5;
const ADMIN = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** A memory with every kind of history, as an archive. */
async function makeArchive(): Promise<Buffer> {
  const filename = await temporaryDatabase();
  const options = { tools: { delete: true, move: true }, sharedWrites: true };
  const old = await openCore({ ...options, storage: sqlite({ filename }) });
  const write = async (core: Core, user: string, name: string, content: string) => {
    const args = { path: name, content, reason: 'Ünï “x”' };
    await call(core, user, 'memory_write', args, { idempotencyKey: `${user}-${randomUUID()}` });
  };
  const rewrite = async (core: Core, user: string, name: string, versions: number) => {
    for (let n = 1; n <= versions; n += 1) {
      const lines = Array.from({ length: n }, (_, at) => `- fact ${at} of ${at === n - 1 ? n : 0}`);
      await write(core, user, name, `${lines.join('\n')}\n`);
    }
  };
  await rewrite(old, 'carol', 'user/old.md', 3);
  await rewrite(old, 'dave', 'user/old.md', 4);
  await old.close();
  // As a database from before the chain has them.
  await withRawSql(filename, 'sqlite3', async (raw) => {
    await raw.run('update svc_revision set content_salt = null, previous_hash = null', []);
    await raw.run('update svc_revision set chain_hash = null', []);
    const newest =
      'select max(r.id) from svc_revision r where r.scope_id = svc_scope.scope_id group by r.scope_id';
    await raw.run(`update svc_scope set chain_head = null, chain_after = (${newest})`, []);
  });
  const core = await openCore({ ...options, storage: sqlite({ filename }) });
  await rewrite(core, 'carol', 'user/old.md', 2);
  await core.revisions.prune({ keepLast: 2, userId: 'dave' }, ADMIN);
  await rewrite(core, 'alice', 'user/tea.md', 5);
  const revisionOf = async (physical: string, version: number) => {
    const found = await core.storage.revisions.ofVersion(parsePhysicalPath(physical), version);
    return found?.id ?? '';
  };
  await core.revisions.redact(await revisionOf('users/alice/tea.md', 3), { reason: 'x' }, ADMIN);
  await call(core, 'alice', 'memory_delete', { path: 'user/tea.md' });
  await rewrite(core, 'alice', 'user/tea.md', 2);
  await write(core, 'alice', 'user/gone.md', 'soon gone');
  await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' });
  await write(core, 'alice', 'user/from.md', 'moves');
  await call(core, 'alice', 'memory_move', { from: 'user/from.md', to: 'shared/to.md' });
  await write(core, 'alice', 'user/here.md', 'moves, too');
  await call(core, 'alice', 'memory_move', { from: 'user/here.md', to: 'user/there.md' });
  await rewrite(core, 'bob', 'user/plan.md', 6);
  await core.revisions.prune({ keepLast: 3, userId: 'bob' }, ADMIN);
  await core.revisions.revert(await revisionOf('users/bob/plan.md', 6), {}, ADMIN);
  await rewrite(core, 'bob', 'user/key.md', 4);
  await core.revisions.redact(await revisionOf('users/bob/key.md', 2), { reason: 'x' }, ADMIN);
  await core.revisions.prune({ keepLast: 2, path: 'users/bob/key.md' }, ADMIN);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
  return await exportAll(core);
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Values that stand in the place of another one. */
function* otherValues(value: Json, neighbour: Json | undefined): Generator<Json | undefined> {
  yield undefined;
  if (neighbour !== undefined && neighbour !== value) yield neighbour;
  if (value !== null) yield null;
  if (typeof value === 'number') {
    yield* [value + 1, value - 1, -1, 0, 0.5, String(value), 2 ** 31, 2 ** 40, 2 ** 48];
    yield* [2 ** 53 - 1, 2 ** 53, 1e300];
  } else if (typeof value === 'boolean') yield* [!value, Number(value)];
  else if (typeof value === 'string') {
    yield* ['', `${value}x`, 7, { is: value }];
    if (/^\d{4}-/.test(value)) {
      yield* ['1969-12-31T23:59:59.999Z', '0001-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z'];
      yield* ['9999-12-31T23:59:59.999Z', '+275760-09-13T00:00:00.000Z'];
      yield* [new Date(Date.now() + 7_200_000).toISOString(), value.replace('Z', '+00:00')];
    }
    if (/^[0-9a-f]{8}-/.test(value)) {
      yield* ['ffffffff-ffff-7fff-bfff-ffffffffffff', '00000000-0000-0000-0000-000000000000'];
      yield value.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    }
    if (/^[0-9a-f]{32,64}$/.test(value)) yield '0'.repeat(value.length);
  } else if (value === null) yield* ['x', 'f'.repeat(32), 1, true, {}];
  else yield* [{}, [], 'x'];
}

interface Mutation {
  what: string;
  entries: readonly TarEntry[];
}

/** The rows of an entry, with the first character of the line end that they need. */
function toRows({ path: name, content }: TarEntry): Json[] | null {
  if (name === 'manifest.json' || name === 'totals.json') {
    return [JSON.parse(content.toString()) as Json];
  }
  if (!/^(?:history|chain)\//.test(name)) return null;
  return content
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

function fromRows(name: string, rows: readonly Json[]): TarEntry {
  return {
    path: name,
    content: Buffer.from(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`),
  };
}

/** Each change of a value, at any depth. */
function* changedValues(
  value: Json,
  neighbour: Json | undefined,
  where: string,
): Generator<{ what: string; value: Json | undefined }> {
  if (where !== '') {
    for (const other of otherValues(value, neighbour)) {
      yield { what: `${where} is ${JSON.stringify(other) ?? 'missing'}`, value: other };
    }
  }
  if (typeof value !== 'object' || value === null) return;
  const beside = (typeof neighbour === 'object' ? neighbour : null) as Record<string, Json> | null;
  for (const [name, inner] of Object.entries(value)) {
    for (const change of changedValues(inner, beside?.[name], `${where}/${name}`)) {
      const copy = structuredClone(value) as Record<string, Json>;
      if (change.value === undefined) Reflect.deleteProperty(copy, name);
      else copy[name] = change.value;
      yield { what: change.what, value: copy };
    }
  }
  if (!Array.isArray(value)) yield { what: `${where}/extra`, value: { ...value, extra: 1 } };
}

/** Every change of one field, one row or one entry. */
function* mutate(entries: readonly TarEntry[]): Generator<Mutation> {
  for (const [at, entry] of entries.entries()) {
    const put = (what: string, ...others: TarEntry[]): Mutation => ({
      what: `${entry.path}: ${what}`,
      entries: [...entries.slice(0, at), ...others, ...entries.slice(at + 1)],
    });
    const next = entries[at + 1];
    yield put('missing');
    yield put('twice', entry, entry);
    if (next !== undefined) {
      const swapped = [...entries];
      [swapped[at], swapped[at + 1]] = [next, entry];
      yield { what: `${entry.path}: after the next`, entries: swapped };
      yield put('the content of the next', { path: entry.path, content: next.content });
    }
    const rows = toRows(entry);
    if (rows === null) {
      for (const content of ['', `${entry.content.toString()}x`, 'forged\n']) {
        yield put(`is ${JSON.stringify(content)}`, {
          path: entry.path,
          content: Buffer.from(content),
        });
      }
      continue;
    }
    const withRows = (what: string, changed: readonly Json[]) =>
      put(what, fromRows(entry.path, changed));
    for (const [index, row] of rows.entries()) {
      const before = rows.slice(0, index);
      const after = rows.slice(index + 1);
      if (index > 0) {
        yield withRows(`row ${index} missing`, [...before, ...after]);
        yield withRows(`row ${index} twice`, [...before, row, row, ...after]);
      }
      const [following, ...others] = after;
      if (index > 0 && following !== undefined) {
        yield withRows(`row ${index} after the next`, [...before, following, row, ...others]);
      }
      for (const { what, value } of changedValues(row, rows[index + 1] ?? rows[index - 1], '')) {
        yield withRows(`row ${index} ${what}`, [...before, value as Json, ...after]);
      }
    }
  }
}

/** The archive with its chains made again, as someone can do who knows how they are made. */
function withNewChains(entries: readonly TarEntry[]): TarEntry[] {
  const links = new Map<ScopeKey, { id: string; row: Record<string, Json>; rowHash: string }[]>();
  const parsed = entries.map((entry) => ({ entry, rows: toRows(entry) }));
  for (const { entry, rows } of parsed) {
    if (rows === null || !/^(?:history|chain)\//.test(entry.path)) continue;
    const [head, ...others] = rows as Record<string, Json>[];
    const isChain = entry.path.startsWith('chain/');
    const key = parsePhysicalPath(isChain ? `${String(head?.['path'])}x` : String(head?.['path']));
    const list = links.get(key.scope) ?? [];
    links.set(key.scope, list);
    for (const row of others) {
      if (!isChain && row['chainHash'] === null) continue;
      const at = Date.parse(String(row['at']));
      const rowHash = isChain
        ? String(row['rowHash'])
        : hashRow({ ...(row as unknown as RevisionRecord), ...key, at });
      list.push({ id: String(row['id']), row, rowHash });
    }
  }
  for (const { entry, rows } of parsed) {
    const [head] = (rows ?? []) as Record<string, Json>[];
    if (!entry.path.startsWith('chain/') || head === undefined) continue;
    const { scope } = parsePhysicalPath(`${String(head['path'])}x`);
    let place = chainStart(scope, head['after'] as string | null);
    const list = (links.get(scope) ?? []).sort((one, other) => (one.id < other.id ? -1 : 1));
    for (const { row, rowHash } of list) {
      row['previousHash'] = place;
      place = linkHash(place, rowHash);
      if ('chainHash' in row) row['chainHash'] = place;
    }
    if (list.length > 0) head['head'] = place;
  }
  return parsed.map(({ entry, rows }) =>
    rows === null || !/^(?:history|chain)\//.test(entry.path) ? entry : fromRows(entry.path, rows),
  );
}

async function isEmpty({ storage }: Core): Promise<boolean> {
  const page = { limit: 1, order: 'asc', after: null } as const;
  const scopes = (await storage.inspection?.scopes(null, 1)) ?? [];
  return scopes.length === 0 && (await storage.audit.list({}, page)).items.length === 0;
}

/** What can't be done after an import that was taken; empty for a memory that goes on. */
async function findFaults(core: Core): Promise<string[]> {
  const faults: string[] = [];
  const { storage } = core;
  const attempt = async (what: string, work: () => Promise<unknown>) => {
    await work().catch((error: unknown) => faults.push(`${what}: ${String(error)}`));
  };
  const verify = async (when: string) => {
    await core.indexer.drain();
    const { findings } = await verifyMemory(storage);
    faults.push(...findings.map(({ path: of, message }) => `${when}: ${of ?? ''} ${message}`));
    await attempt(`${when}: ready`, () => storage.ping());
  };
  await verify('imported');
  const revisions: RevisionRecord[] = [];
  for await (const row of readRows((page) => storage.revisions.list({}, page))) revisions.push(row);
  for (const { id } of revisions) await attempt(`revision ${id}`, () => core.revisions.get(id));
  const inspection = storage.inspection as NonNullable<typeof storage.inspection>;
  for (const { scope } of await inspection.scopes(null, 99)) {
    for (const { path: name } of await inspection.files(scope, { after: null, limit: 99 })) {
      const physical = scope === 's' ? `shared/${name}` : `users/${scope.slice(2)}/${name}`;
      for (const content of ['next\n', 'and the next\n']) {
        await attempt(`write ${physical}`, () => core.files.put(physical, { content }, ADMIN));
      }
    }
  }
  await verify('written');
  const there = await openCore();
  await attempt('its own archive', async () => importAll(there, await exportAll(core)));
  await there.close();
  return faults;
}

it.each([
  ['', (entries: readonly TarEntry[]) => entries],
  [', with a chain that was made again', withNewChains],
])(
  'an archive with anything changed%s is refused whole, or makes a memory that verify takes and that goes on',
  { timeout: 3_600_000 },
  async (_, finish) => {
    const archive = await makeArchive();
    const entries = await unpack(archive);
    expect(pack(finish(entries)).length).toBeGreaterThan(0);
    const counts = { tried: 0, refused: 0, taken: 0 };
    const wrong: string[] = [];
    let core = await openCore();
    let number = 0;
    for (const mutation of mutate(entries)) {
      number += 1;
      if (number % EVERY !== 0) continue;
      let changed: Buffer;
      try {
        changed = pack(finish(mutation.entries));
      } catch {
        // Nothing to make a chain of.
        continue;
      }
      counts.tried += 1;
      try {
        await importAll(core, changed);
      } catch (error) {
        const isRefused = error instanceof MemoryError && error.code === 'INVALID_ARCHIVE';
        const isNamed = isRefused && error.message.length > 20;
        if (isNamed && (await isEmpty(core))) {
          counts.refused += 1;
          continue;
        }
        wrong.push(`${mutation.what}: ${String(error)}`);
        await core.close();
        core = await openCore();
        continue;
      }
      counts.taken += 1;
      for (const fault of await findFaults(core)) wrong.push(`${mutation.what}: ${fault}`);
      await core.close();
      core = await openCore();
    }
    if (process.env['SHOW_COUNTS'] !== undefined) console.log(counts);
    expect(wrong).toEqual([]);
    expect(counts.taken).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(counts.taken);
  },
);
