import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { createSqliteDialect } from '../../../plugins/storage-sqlite/dialect.ts';
import { Connections } from '../../../plugins/storage-mysql/connections.ts';
import { parseMysqlOptions } from '../../../plugins/storage-mysql/options.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { sharedMariadb } from '../../support/mariadb.ts';
import { connectAsRoot, createDatabase } from '../../support/mariadb-server.ts';
import { explainOnMysql, explainOnSqlite, type TableRead } from '../../support/query-plan.ts';
import { quiet } from '../../support/quiet-log.ts';
import { seedTables, TABLES } from '../../support/seeded-tables.ts';
import { readStatements, type RecordedStatement } from '../../support/statements.ts';
import { mysql, sqlite } from '../../support/databases.ts';

/** Their rows do not become more with use. */
const FIXED = new Set(['svc_meta', 'svc_config', 'svc_embed_model']);

/** Statements that may read all rows of a table, by the line and the text, and why they may. */
const SCANS: readonly { line: RegExp; why: string }[] = [
  {
    line: /schema\/(?:migrations\/|prepare-schema\.ts)/,
    why: 'A migration changes the rows of a table once, at the first start of a version.',
  },
  {
    line: /read\/inspection\.ts/,
    why: 'Only verify asks for this: it compares all rows with each other.',
  },
  {
    line: /index\/vectors\.ts:\d+: (?:delete from|update) svc_\w+(?: set \w+ = [\w +-]+)?$/,
    why: 'The admin discards all vectors: every row changes.',
  },
  {
    line: /select count\(\*\) as behind from svc_index_queue$/,
    why: 'The queue has only the files that wait, and its key alone is counted.',
  },
  {
    line: /file-list\.ts.* order by `[ft]`\.`(?:size|writes|reads)`/,
    why: 'An admin sorts the files of all users: an index for each sort would slow every write.',
  },
];

type Explain = (statement: { sql: string; values: readonly unknown[] }) => Promise<TableRead[]>;

interface Seeded {
  explain: Explain;
  close(): Promise<void>;
}

/** Opens a database with many rows in every table. */
const SEEDED: Record<RecordedStatement['database'], () => Promise<Seeded>> = {
  // Without ANALYZE, which the service never runs.
  async sqlite() {
    const directory = await mkdtemp(join(tmpdir(), 'memory-plans-'));
    const filename = join(directory, 'memory.db');
    await createTables(sqlite({ filename }));
    const native = await loadSqliteModule('sqlite3');
    const connection = await native.open(filename, { busyTimeoutMs: 10_000 });
    await connection.exec('begin');
    await seedTables({ ...connection, dialect: createSqliteDialect('3.51.3') });
    await connection.exec('commit');
    return {
      explain: (statement) => explainOnSqlite(connection, statement),
      async close() {
        await connection.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  // MariaDB itself keeps its statistics up to date: here at once.
  async mysql() {
    const port = await sharedMariadb();
    const url = await createDatabase(port);
    await createTables(mysql({ url }));
    const connections = new Connections(parseMysqlOptions({ url }), { limit: 1, setup: [] });
    await connections.use(async (session) => {
      await session.command('start transaction');
      await seedTables(session);
      await session.command('commit');
      await session.command(`analyze table ${[...TABLES.keys()].join(', ')}`);
    });
    await connections.close();
    const root = await connectAsRoot(port, new URL(url).pathname.slice(1));
    return {
      explain: (statement) => explainOnMysql(root, statement),
      close: () => root.end(),
    };
  },
};

async function createTables(storage: Storage): Promise<void> {
  await storage.init({ log: quiet, now: Date.now });
  await storage.close();
}

/** What is wrong with the plan of a statement, a line for each table. */
async function judge(
  explain: Explain,
  { from, sql, values }: RecordedStatement,
): Promise<string[]> {
  const reads = await explain({ sql, values });
  const found =
    reads.length === 0
      ? ['there is no plan']
      : reads
          .filter(({ by, table }) => by === 'scan' && !FIXED.has(table))
          .map(({ table, how }) => `${table} is scanned (${how})`);
  return found.map((line) => `${line} by ${from}: ${sql}`);
}

/** Whether all tests have run before these: what they have sent is all that there is to check. */
const isWhole = process.env['MEMORY_TEST_WHOLE'] !== undefined;
const used = new Set<RegExp>();

describe.each(['sqlite', 'mysql'] as const)('on %s', (database) => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await SEEDED[database]();
  });
  afterAll(() => seeded.close());

  it('finds rows of growing tables by an index, whatever the tests have run', async ({
    annotate,
    skip,
  }) => {
    const statements = readStatements(database);
    skip(!isWhole && statements.length === 0, 'npm test');
    const found: string[] = [];
    for (const statement of statements) {
      for (const line of await judge(seeded.explain, statement)) {
        const allowed = SCANS.find((scan) => scan.line.test(line));
        if (allowed === undefined) found.push(line);
        else used.add(allowed.line);
      }
    }
    expect(found).toEqual([]);
    await annotate(`The plans of ${statements.length} statements were checked on ${database}.`);
  });

  it('has the statements of every table', ({ skip }) => {
    skip(!isWhole, 'npm test');
    const statements = readStatements(database);
    const named = new Set(statements.flatMap(({ sql }) => sql.match(/\bsvc_\w+/g) ?? []));
    expect([...TABLES.keys()].filter((table) => !named.has(table))).toEqual([]);
  });

  it('reports reads of all rows: without an index, in full, before a sort, in a join', async () => {
    const reads: [table: string, sql: string][] = [
      ['svc_file', "select path from svc_file where hash = 'a'"],
      ['svc_revision', 'select count(*) from svc_revision'],
      ['svc_access_log', 'select id from svc_access_log order by at limit 5'],
      [
        'svc_event',
        'select s.scope from svc_scope s join svc_event e on e.tool = s.scope where s.scope_id = 7',
      ],
      ['svc_file', "update svc_file set size = 0 where latest_actor = 'agent'"],
      ['svc_event', 'delete from svc_event where duration_ms > 5'],
    ];
    for (const [table, sql] of reads) {
      const lines = await judge(seeded.explain, { database, sql, values: [], from: 'this test' });
      expect(lines).toEqual([expect.stringContaining(`${table} is scanned`)]);
    }
    const walk = 'select id from svc_access_log order by id limit 5';
    const line = { database, sql: walk, values: [], from: 'this test' };
    expect(await judge(seeded.explain, line)).toEqual([]);
  });
});

it('allows no scan that no statement makes', ({ skip }) => {
  skip(!isWhole, 'npm test');
  expect(SCANS.filter(({ line }) => !used.has(line)).map(({ why }) => why)).toEqual([]);
});
