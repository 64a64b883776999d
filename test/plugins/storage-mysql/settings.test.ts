import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import { createDatabase, type Mariadb, startMariadb } from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { mysql } from '../../support/databases.ts';

/** A server with a binary log, so that its format matters. */
const FLAGS = [
  '--log-bin',
  '--server-id=1',
  '--sync-binlog=0',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-flush-method=nosync',
];

let server: Mariadb;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memory-settings-'));
  server = await startMariadb({ directory, flags: FLAGS });
});

afterAll(async () => {
  await server.remove();
  await rm(directory, { recursive: true, force: true });
});

/** Settings of the server under which all work of the service goes as it does under the defaults. */
const WORKING: Readonly<Record<string, Settings>> = {
  'autocommit=0 with SERIALIZABLE': { autocommit: 0, tx_isolation: 'SERIALIZABLE' },
  'READ UNCOMMITTED, a read-only default, and no sql_mode': {
    tx_isolation: 'READ-UNCOMMITTED',
    tx_read_only: 1,
    sql_mode: '',
    innodb_force_primary_key: 1,
  },
  'ANSI and its like, and a mixed binary log': {
    sql_mode: 'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH',
    binlog_format: 'MIXED',
    time_zone: '+13:00',
  },
  'the mode of Oracle, and other character sets': {
    sql_mode: 'ORACLE',
    character_set_server: 'latin1',
    collation_server: 'latin1_swedish_ci',
    character_set_client: 'latin1',
    character_set_connection: 'latin1',
    character_set_results: 'latin1',
  },
  'a binary log of statements': { binlog_format: 'STATEMENT' },
  'another engine, no strict InnoDB, and small rows': {
    default_storage_engine: 'Aria',
    innodb_strict_mode: 0,
    innodb_default_row_format: 'redundant',
    character_set_server: 'utf8mb3',
    collation_server: 'utf8mb3_general_ci',
  },
  'safe updates, short answers, and a chain of transactions': {
    sql_safe_updates: 1,
    sql_select_limit: 1,
    max_join_size: 1,
    completion_type: 'CHAIN',
    foreign_key_checks: 0,
    unique_checks: 0,
  },
  'connections that end with a commit, and short sort keys': {
    completion_type: 'RELEASE',
    max_sort_length: 64,
    group_concat_max_len: 4,
    tmp_table_size: 1024,
    max_heap_table_size: 16_384,
  },
  'short time limits, and an odd optimizer': {
    wait_timeout: 1,
    max_statement_time: 0.02,
    innodb_lock_wait_timeout: 1,
    lock_wait_timeout: 1,
    net_read_timeout: 1,
    net_write_timeout: 1,
    idle_transaction_timeout: 1,
    optimizer_switch:
      'index_merge=off,derived_merge=off,derived_with_keys=off,condition_pushdown_for_derived=off,mrr=on,join_cache_hashed=off,materialization=off,semijoin=off',
    join_cache_level: 0,
    optimizer_search_depth: 1,
  },
  'statements before each session': {
    init_connect: "set autocommit=0, sql_mode='ANSI_QUOTES', tx_isolation='SERIALIZABLE'",
  },
};

/** Settings that the service cannot work with, and what its start or its first write says. */
const REFUSED: Readonly<Record<string, { settings: Settings; says: RegExp }>> = {
  'messages that are too small': {
    settings: { max_allowed_packet: 1_048_576 },
    says: /set max_allowed_packet to 4194304 or more/,
  },
  'a read-only server': { settings: { read_only: 1 }, says: /The database is read-only/ },
  'only encrypted connections': {
    settings: { require_secure_transport: 1 },
    says: /set ssl-mode=required/,
  },
  'no prepared statements': {
    settings: { max_prepared_stmt_count: 0 },
    says: /raise its max_prepared_stmt_count/,
  },
  'statements before each session that fail': {
    settings: { init_connect: 'select 1 from nowhere.nothing' },
    says: /init_connect/,
  },
};

type Settings = Readonly<Record<string, string | number>>;

describe('MariaDB with', () => {
  it.each(Object.entries(WORKING))('%s: all work is done', async (_, settings) => {
    const { url } = await prepare(settings);
    await work(url);
  });

  it('a binary log of statements, and a user who may not change it: the start says what to set', async () => {
    const { url } = await prepare({ binlog_format: 'STATEMENT' }, { as: 'plain' });
    const storage = mysql({ url });
    onTestFinished(() => storage.close());
    const error = await rejection(storage.init({ log: quiet, now: Date.now }));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(error.message).toMatch(/set binlog_format=ROW.* or grant BINLOG ADMIN/);
  });

  it('a binary log that becomes one of statements: the next write says what to set', async () => {
    const { url, setGlobal } = await prepare({}, { as: 'plain' });
    await setGlobal({ binlog_format: 'STATEMENT' });
    const core = await openCore({ storage: mysql({ url }) }).catch((error: unknown) => error);
    expect(String((core as Error).message)).toMatch(/set binlog_format=ROW/);
  });

  it.each(Object.entries(REFUSED))('%s: says what to set', async (_, { settings, says }) => {
    const { url } = await prepare(settings, { as: 'plain' });
    const storage = mysql({ url });
    onTestFinished(() => storage.close());
    const error = await rejection(
      (async () => {
        await storage.init({ log: quiet, now: Date.now });
        await storage.config.set({ key: 1 }, null);
      })(),
    );
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toMatch(says);
  });
});

/** What a service does in a day, from an empty database on. */
async function work(url: string): Promise<void> {
  const core = await openCore({
    storage: mysql({ url }),
    tools: { delete: true, move: true },
  });
  const agent = (tool: string, args: object) => call(core, 'alice', tool, args);
  await agent('memory_write', {
    path: 'user/a.md',
    content: '# Grün "tea" \\ \'n\' 🍵\n\nblack\n',
  });
  await agent('memory_patch', {
    path: 'user/a.md',
    edits: [{ oldText: 'black', newText: 'white' }],
  });
  await Promise.all(
    Array.from({ length: 8 }, (__, n) =>
      call(core, `user-${n}`, 'memory_write', { path: `user/${n}.md`, content: `tea of ${n}\n` }),
    ),
  );
  await agent('memory_move', { from: 'user/a.md', to: 'user/b/c.md' });
  await core.indexer.drain();
  const read = await agent('memory_read', { path: 'user/b/c.md' });
  expect(read.result['content']).toBe('# Grün "tea" \\ \'n\' 🍵\n\nwhite\n');
  const found = await agent('memory_find', { query: 'white tea' });
  expect(found.result['results']).toMatchObject([{ path: 'user/b/c.md' }]);
  const listed = await agent('memory_list', {});
  expect(listed.result['files']).toMatchObject([{ path: 'user/b/c.md', version: 1 }]);
  expect((await core.fileLists.files({ limit: 50 })).items).toHaveLength(9);
  expect((await core.revisions.list({ limit: 50 })).items).toHaveLength(12);
  await agent('memory_delete', { path: 'user/b/c.md' });
  const lease = await core.storage.leases.claim('test', 'me', 60_000);
  expect(lease).not.toBeNull();
  await core.storage.ping();
  const { findings } = await verifyMemory(core.storage);
  expect(findings).toEqual([]);
  await core.close();
}

/** Without TLS, a server may take only connections by its socket. */
function connectBySocket(): Promise<Connection> {
  return createConnection({
    socketPath: join(directory, 'socket'),
    user: 'root',
    multipleStatements: true,
  });
}

/** Gives the server these settings for the time of a test, and makes an empty database. */
async function prepare(settings: Settings, { as = 'root' }: { as?: 'root' | 'plain' } = {}) {
  const before: Record<string, string | number> = {};
  const setGlobal = async (values: Settings) => {
    const root = await connectBySocket();
    for (const [name, value] of Object.entries(values)) {
      const [rows] = await root.query(`select @@global.${name} as value`);
      before[name] ??= (rows as { value: string | number }[])[0]?.value ?? '';
      await root.query(`set global ${name} = ?`, [value]);
    }
    await root.end();
  };
  const url = new URL(await createDatabase(server.port));
  url.search = 'start-timeout-ms=1000';
  const root = await connectBySocket();
  await root.query(
    "create user if not exists plain@'127.0.0.1'; grant all on `" +
      `${url.pathname.slice(1)}\`.* to plain@'127.0.0.1'`,
  );
  await root.end();
  onTestFinished(async () => {
    const again = await connectBySocket();
    for (const [name, value] of Object.entries(before)) {
      await again.query(`set global ${name} = ?`, [value]);
    }
    await again.end();
  });
  await setGlobal(settings);
  // Only a user without privileges runs init_connect.
  url.username = 'init_connect' in settings ? 'plain' : as;
  return { url: url.href, setGlobal };
}
