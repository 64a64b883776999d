import { readFile } from 'node:fs/promises';
import path from 'node:path';
import knexOf from 'knex';
import { expect, it, onTestFinished } from 'vitest';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import { verifyMemory } from '../../../../core/maintenance/verify.ts';
import type { Core } from '../../../../core/service.ts';
import { migrate } from '../../../../core/storage/schema/migrate.ts';
import { foldTables } from '../../../../core/storage/schema/migration.ts';
import { MIGRATIONS } from '../../../../core/storage/schema/migrations/list.ts';
import { toScopeId } from '../../../../core/storage/schema/scope-id.ts';
import { onMysql, onSqliteFile } from '../../../support/bare-connection.ts';
import { sharedMariadb } from '../../../support/mariadb.ts';
import { createDatabase } from '../../../support/mariadb-server.ts';
import { call, openCore, temporaryDirectory } from '../../../support/service.ts';
import { openDatabase } from '../../../support/tables.ts';
import { dreamRunsOf } from '../../../support/dream-runs.ts';
import { openDreams } from '../../../plugins/dreaming/dream-service.ts';

/**
 * The rows of a database as schema 12 had it, a line each. alice's history has a redaction, a prune,
 * a move and a deletion. Work was cut off: a restore that holds bob, half an erasure of carol, an open
 * run of dave, the removal of erin's index.
 */
const ROWS = new URL('./schema-12.jsonl', import.meta.url);

interface Line {
  table: string;
  row: Record<string, string | number | null | { hex: string }>;
}

async function readLines(schema: number): Promise<Line[]> {
  const lines = (await readFile(ROWS, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  if (schema >= 10) return lines;
  // Nothing could be redacted or erased.
  const later = [toScopeId('u:alice'), toScopeId('u:carol')];
  const rows = lines.filter(({ row }) => !later.includes(Number(row['scope_id'])));
  if (schema > 1) return rows;
  // Nothing was indexed.
  const files = rows.filter(({ table }) => table === 'svc_file');
  const others = rows.filter(({ table }) => table !== 'svc_index_queue');
  return [...others, ...files.map(({ row }) => ({ table: 'svc_index_queue', row }))];
}

/** A database of an earlier schema with the rows that it could have, by its file name or URL. */
async function makeEarlier(
  schema: number,
  change: (line: Line) => Line = (line) => line,
): Promise<string> {
  const isMariadb = process.env['MEMORY_TEST_DATABASE'] === 'mariadb';
  const database = isMariadb
    ? await createDatabase(await sharedMariadb())
    : path.join(await temporaryDirectory(), 'memory.db');
  const knex = isMariadb
    ? knexOf({ client: 'mysql2', connection: database.split('?')[0] ?? database })
    : knexOf({
        client: 'better-sqlite3',
        connection: { filename: database },
        useNullAsDefault: true,
      });
  const migrations = MIGRATIONS.slice(0, schema);
  await (isMariadb ? onMysql : onSqliteFile)(database, (connection) =>
    migrate(connection, { from: 0, migrations }),
  );
  const tables = foldTables(migrations);
  for (const { table, row } of (await readLines(schema)).map(change)) {
    const columns = tables.get(table)?.columns ?? [];
    if (columns.length === 0) continue;
    const cells = columns.flatMap(({ name }) => {
      const value = row[name];
      if (value === undefined) return [];
      const isBytes = value !== null && typeof value === 'object';
      return [[name, isBytes ? Buffer.from(value.hex, 'hex') : value] as const];
    });
    await knex(table).insert(Object.fromEntries(cells));
  }
  await knex.destroy();
  return database;
}

/**
 * Gives dave's open run a write that its instance began, without storing how it ended. The run has one
 * operation that changes x.md, and one that waits for a person.
 */
function withOpenWrite(
  state: 'running' | 'completed' | 'canceled',
  isCommitted: boolean,
): (line: Line) => Line {
  const dave = toScopeId('u:dave');
  return ({ table, row }) => {
    const line = { table, row };
    if (Number(row['scope_id']) !== dave) return line;
    if (table === 'svc_revision' && isCommitted) {
      return { table, row: { ...row, actor: 'dream-agent', run_id: { hex: DAVES_RUN } } };
    }
    if (table !== 'svc_dream_history') return line;
    const operation = (number: number) => ({
      operation: { number, kind: 'merge', reason: '', remove: [], add: null, sources: [] },
      remove: [],
      add: null,
      sources: [],
      class: 'meaning',
      signals: [],
      verdict: null,
      status: 'waiting',
      guard: null,
      why: null,
      isPreselected: true,
    });
    const endedAt = state === 'completed' ? ENDED_AT : null;
    const details = {
      ...(JSON.parse(String(row['details'])) as object),
      operations: [operation(1), operation(2)],
      writing: { numbers: [1], path: 'user/x.md', version: 0, endedAt, reviewCursor: 'x.md' },
    };
    const counts = { waiting: 0, applied: 0 };
    return { table, row: { ...row, ...counts, state, details: JSON.stringify(details) } };
  };
}

/** Operations wait from the end of their run on, for some days. */
const ENDED_AT = Date.now();
const DAVES_RUN = '018f31737a7970008352163d6d51a1d1';

async function contentsOf(core: Core, userId: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const { path: physical } of (await core.fileLists.files({ userId })).items) {
    contents[physical] = (await core.fileLists.file(physical, {})).file.content;
  }
  return contents;
}

const SCHEMAS = MIGRATIONS.map(({ version }) => version).filter((version) => version < 13);
/** To make one takes seconds on MariaDB. */
const SAMPLE =
  process.env['MEMORY_TEST_DATABASE'] === 'mariadb' &&
  process.env['MEMORY_TEST_RELEASE'] === undefined
    ? [1, 8, 12]
    : SCHEMAS;

it.each(SAMPLE)(
  'goes on with a database of schema %i, and with the work that was cut off there',
  async (schema) => {
    const core = await openCore(
      { storage: openDatabase(await makeEarlier(schema)), tools: { delete: true } },
      { erasureLookMs: 1 },
    );
    onTestFinished(() => core.close());
    await core.start();
    await expect.poll(() => core.storage.holds?.list(10)).toEqual([]);

    const bob = schema < 7 ? { 'a.md': 'a harmed\n', 'b.md': 'b new\n' } : { 'a.md': 'a 2\n' };
    expect(await contentsOf(core, 'bob')).toEqual(
      Object.fromEntries(Object.entries(bob).map(([name, text]) => [`users/bob/${name}`, text])),
    );
    if (schema >= 10) {
      expect(await contentsOf(core, 'carol')).toEqual({});
      expect(await core.storage.erasure?.count('u:carol')).toEqual({});
      expect((await contentsOf(core, 'alice'))['users/alice/tea.md']).toBe('# Tea\n\n- black\n');
      const key = { scope: 'u:alice', path: 'key.md' } as const;
      expect(await core.storage.revisions.ofVersion(key, 2)).toMatchObject({ redacted: true });
    }
    for (const userId of ['alice', 'bob', 'dave']) {
      await call(core, userId, 'memory_write', { path: 'user/tea.md', content: 'new\n' });
    }
    await core.indexer.drain();
    const { result } = await call(core, 'erin', 'memory_find', { query: 'saffron' });
    expect(result).toMatchObject({ results: [{ path: 'user/e.md' }] });
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
    expect(await formatsOf(core, 'u:bob')).toEqual(new Set([1, 2]));
  },
);

async function formatsOf({ storage }: Core, scope: ScopeKey): Promise<Set<number>> {
  const page = { limit: 500, order: 'asc', after: null } as const;
  const { items } = await storage.revisions.list({ scope }, page);
  return new Set(items.map(({ hashFormat }) => hashFormat));
}

it.each([
  {
    state: 'running',
    isCommitted: true,
    run: { state: 'completed', outcome: 'waiting', applied: 1, waiting: 1, writes: 1 },
    user: { status: 'completed', waiting: 1, reviewCursor: 'x.md', watermark: 1, filesTouched: 1 },
  },
  {
    state: 'running',
    isCommitted: false,
    run: { state: 'failed', outcome: null, applied: 0, waiting: 0, writes: 0 },
    user: { status: 'failed', waiting: 0, reviewCursor: null, watermark: null, filesTouched: 0 },
  },
  {
    state: 'completed',
    isCommitted: true,
    run: { state: 'completed', applied: 1, waiting: 1, writes: 1, endedAt: ENDED_AT },
    user: { status: 'running', waiting: 1, watermark: null, filesTouched: 1 },
  },
  {
    state: 'completed',
    isCommitted: false,
    run: { state: 'completed', applied: 0, waiting: 2, writes: 0, endedAt: ENDED_AT },
    user: { status: 'running', waiting: 2, watermark: null, filesTouched: 0 },
  },
  {
    state: 'canceled',
    isCommitted: true,
    run: { state: 'canceled', outcome: 'partial', applied: 1, waiting: 0, dropped: 1, writes: 1 },
    user: { status: 'canceled', waiting: 0, watermark: null, filesTouched: 1 },
  },
] as const)(
  'settles the write that an instance of an earlier version had begun for a run that is $state: committed $isCommitted',
  async ({ state, isCommitted, run, user }) => {
    const database = await makeEarlier(12, withOpenWrite(state, isCommitted));
    const service = await openDreams({ storage: openDatabase(database) });
    // Ends runs whose process is gone.
    expect((await service.admin('GET', 'dream/runs')).status).toBe(200);
    const dreams = dreamRunsOf(service.core.storage);
    const found = await dreams.run(idOf(DAVES_RUN));
    expect(found).toMatchObject({ ...run, isWaiting: run.waiting > 0 });
    expect(found?.endedAt).not.toBeNull();
    expect(found?.details).not.toContain('"writing":{');
    expect((await dreams.user('u:dave'))?.record).toMatchObject(user);
  },
);

function idOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
