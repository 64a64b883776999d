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
async function makeEarlier(schema: number): Promise<string> {
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
  for (const { table, row } of await readLines(schema)) {
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
