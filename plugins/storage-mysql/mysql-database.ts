import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CallOptions,
  type Connection,
  type DatabaseLimits,
  type DatabaseOptions,
  type Examined,
  MemoryError,
  type Outcome,
  type ReadCallOptions,
  SCOPE_TABLES,
  type SqlDatabase,
  type StorageDescription,
  type StorageOptions,
  type TransactOptions,
} from '../../core/plugin.ts';
import { classifyMysqlError, isMysqlMistake, translateMysqlError } from './dialect.ts';
import { Connections, type Session } from './connections.ts';
import type { MysqlSettings } from './options.ts';
import { examineServer } from './examine.ts';
import type { ServerFacts } from './server.ts';
import { LOG_ROWS, SQL_MODE, checkServer } from './server.ts';
import { transactOn } from './transactions.ts';

/** Connections for the admin's lists. */
const LIST_CONNECTIONS = 2;
/** The most mutations of one transaction. */
const GROUP_SIZE = 32;
/** The time limit of a whole ping. */
const PING_MS = 1_500;
/** Reads a table, because a server can answer while the tables are locked. */
const PING_SQL = 'select 1 from svc_file limit 1';
/** The time limit of one statement that may rewrite a large table. */
const SLOW_STATEMENT_MS = 3_600_000;
/** The pause between two attempts of the start to reach the database. */
const START_WAIT_MS = 250;

/** The places that a server keeps removed rows in, with what an operator can do about each. */
const MAY_REMAIN = [
  `Freed space in the tables and in the undo log: OPTIMIZE TABLE ${[...SCOPE_TABLES, 'svc_admin_audit'].join(', ')} writes the tables anew; SET GLOBAL innodb_undo_log_truncate = ON shortens the undo log.`,
  'The redo log, a ring that later writes overwrite: SET GLOBAL innodb_log_file_size (MariaDB 10.9 and newer) or innodb_redo_log_capacity (MySQL 8.0.30 and newer) with another value makes a new one.',
  'The binary log, and the relay logs of replicas: FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW(), once all replicas have read them.',
];

/** MySQL or MariaDB for the stores (core/storage). */
export class MysqlDatabase implements SqlDatabase {
  readonly apiVersion = 1;
  readonly name = 'mysql';
  readonly limits: DatabaseLimits;
  private readonly settings: MysqlSettings;
  readonly mayRemain = MAY_REMAIN;
  private opened: Opened | null = null;

  constructor(settings: MysqlSettings) {
    this.settings = settings;
    const { connections, lockTimeoutMs } = settings;
    // At most half of the connections, so that writes have the other half.
    const groupedReads = Math.max(1, Math.floor(connections / 2));
    this.limits = { writers: 'many', groupSize: GROUP_SIZE, groupedReads, lockTimeoutMs };
  }

  async open({ log }: DatabaseOptions): Promise<void> {
    try {
      this.opened = await this.connect(log);
    } catch (error) {
      throw translateMysqlError(error);
    }
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = null;
    if (opened === null) return;
    const { agents, snapshots, lists, pings } = opened;
    await Promise.all([agents, snapshots, lists, pings].map((each) => each.close()));
  }

  async examine<T>(run: (found: Examined | null) => Promise<T>): Promise<T> {
    return await examineServer(this.settings, run);
  }

  async ping(): Promise<void> {
    const { pings } = this.live();
    // A separate connection, so that it never waits for other statements, nor they for it.
    await pings.use((session) => session.command(PING_SQL), {
      until: performance.now() + PING_MS,
    });
  }

  async describe(): Promise<Omit<StorageDescription, 'schemaVersion'>> {
    const { facts, wsrepSyncWait } = this.live();
    const { connections, lockTimeoutMs, tls } = this.settings;
    return await Promise.resolve({
      name: this.name,
      driver: driverName(),
      version: facts.version,
      settings: {
        connections,
        isolation: 'read-committed',
        lockTimeoutMs,
        tls,
        ...(wsrepSyncWait === null ? {} : { wsrepSyncWait }),
      },
    });
  }

  async read<T>(
    run: (connection: Connection) => Promise<T>,
    { until, isList = false }: ReadCallOptions,
  ): Promise<T> {
    const { agents, lists } = this.live();
    return await (isList ? lists : agents).use(run, toUntil(until));
  }

  async snapshot<T>(
    run: (connection: Connection) => Promise<T>,
    { until }: CallOptions,
  ): Promise<T> {
    // The first statement began the transaction, on the newest state.
    const behind = (session: Session) => session.command('commit');
    return await this.live().snapshots.use(run, { behind, ...toUntil(until) });
  }

  async transact<T>(
    run: (connection: Connection) => Promise<T>,
    { until = Number.POSITIVE_INFINITY, isSlow = false }: TransactOptions,
  ): Promise<Outcome<T>> {
    const { agents, facts, wsrepSyncWait } = this.live();
    if (!isSlow) return await transactOn(agents, run, { until });
    const setup = setupOf(this.settings, 'migrations', { ...facts, wsrepSyncWait });
    const connections = new Connections(this.settings, { limit: 1, setup });
    try {
      return await transactOn(connections, run, { until, statementTimeoutMs: SLOW_STATEMENT_MS });
    } finally {
      await connections.close();
    }
  }

  classify = classifyMysqlError;
  explain = translateMysqlError;

  private live(): Opened {
    if (this.opened === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    return this.opened;
  }

  private async connect(log: StorageOptions['log']): Promise<Opened> {
    const { settings } = this;
    const facts = await this.askServer(log);
    const wsrepSyncWait = facts.isGalera ? (settings.wsrepSyncWait ?? 1) : null;
    const setup = (kind: SessionKind) => setupOf(settings, kind, { ...facts, wsrepSyncWait });
    const limit = Math.max(2, Math.ceil(settings.connections / 2));
    return {
      facts,
      wsrepSyncWait,
      agents: new Connections(settings, { limit: settings.connections, setup: setup('agents') }),
      snapshots: new Connections(settings, { limit, setup: setup('snapshots') }),
      lists: new Connections(settings, {
        limit: LIST_CONNECTIONS,
        setup: setup('lists'),
        isPrepared: false,
      }),
      pings: new Connections(settings, { limit: 1, setup: setup('pings') }),
    };
  }

  /** Waits for a database that is not running yet: containers often start both at once. */
  private async askServer(log: StorageOptions['log']): Promise<ServerFacts> {
    const { settings } = this;
    const connections = new Connections(settings, {
      limit: 1,
      setup: setupOf(settings, 'agents', UNKNOWN_SERVER),
    });
    const end = performance.now() + settings.startTimeoutMs;
    try {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await connections.use(checkServer);
        } catch (error) {
          const isDown = classifyMysqlError(error) === 'lost' && !isMysqlMistake(error);
          if (!isDown || performance.now() >= end) throw error;
          if (attempt === 0) {
            const { message: reason } = error as Error;
            log.warn({ reason }, 'the database can not be reached yet: waiting for it');
          }
        }
        await sleep(START_WAIT_MS);
      }
    } finally {
      await connections.close();
    }
  }
}

interface Opened {
  facts: ServerFacts;
  wsrepSyncWait: number | null;
  /** For the reads and writes of tool calls. */
  agents: Connections;
  /** Read-only connections that see one state from their first statement to the commit. */
  snapshots: Connections;
  lists: Connections;
  pings: Connections;
}

type SessionKind = 'agents' | 'snapshots' | 'lists' | 'pings' | 'migrations';

const ISOLATION: Record<SessionKind, string> = {
  agents: 'read committed, read write',
  migrations: 'read committed, read write',
  snapshots: 'repeatable read, read only',
  lists: 'read committed, read only',
  pings: 'read committed, read only',
};

/** What a session sets depends on the server. */
interface ServerSettings extends Partial<Pick<ServerFacts, 'isMariadb' | 'logsStatements'>> {
  wsrepSyncWait: number | null;
}

/** Before the server was asked: only what every server has. */
const UNKNOWN_SERVER: ServerSettings = { wsrepSyncWait: null };

/** Statements of every connection, because the server's own settings may be anything. */
function setupOf(
  { lockTimeoutMs, statementTimeoutMs }: MysqlSettings,
  kind: SessionKind,
  { wsrepSyncWait, isMariadb, logsStatements }: ServerSettings,
): string[] {
  const lockTimeout = Math.ceil(lockTimeoutMs / 1_000);
  const variables = [
    `sql_mode = '${SQL_MODE}'`,
    `innodb_lock_wait_timeout = ${lockTimeout}`,
    // Limits waits for locks on whole tables, which a backup takes: the server's default is a day
    // or a year. A migration has to wait for whoever still uses the table.
    ...(kind === 'migrations' ? [] : [`lock_wait_timeout = ${lockTimeout}`]),
    // With 0, a read would keep its locks until somebody commits.
    `autocommit = ${kind === 'snapshots' ? 0 : 1}`,
    ...PLAIN_SETTINGS,
    // The service has its own time limits. The server's would end a long migration.
    ...(isMariadb === undefined
      ? []
      : [isMariadb ? 'max_statement_time = 0' : 'max_execution_time = 0']),
    // Otherwise an instance that stops in the middle of a write would block its user until it
    // continues. Nothing is committed by then, and the write starts over when it continues.
    ...(isMariadb === true && kind === 'agents'
      ? [`idle_transaction_timeout = ${Math.ceil(statementTimeoutMs / 1_000)}`]
      : []),
    ...(wsrepSyncWait === null ? [] : [`wsrep_sync_wait = ${wsrepSyncWait}`]),
  ];
  return [
    'set names utf8mb4 collate utf8mb4_bin',
    `set session transaction isolation level ${ISOLATION[kind]}`,
    `set session ${variables.join(', ')}`,
    ...(logsStatements === true ? [LOG_ROWS] : []),
  ];
}

/** Settings of a session that change what statements do or return. Every server has them. */
const PLAIN_SETTINGS = [
  // CHAIN would begin a transaction behind each commit, RELEASE would end the connection.
  "completion_type = 'NO_CHAIN'",
  // These refuse a deletion or a join, or leave out rows.
  'sql_safe_updates = 0',
  'sql_big_selects = 1',
  'sql_select_limit = 18446744073709551615',
  // Rows are sorted by the first bytes of a text alone, and a path has up to 1,024.
  'max_sort_length = 2048',
  // With 0 a table may name rows that are not there, or a key come twice.
  'unique_checks = 1',
  // A connection that rests is closed by the pool, not by the server.
  'wait_timeout = 28800',
];

function toUntil(until: number | undefined): { until?: number } {
  return until === undefined ? {} : { until };
}

function driverName(): string {
  const require = createRequire(import.meta.url);
  const { version } = require('mysql2/package.json') as { version: string };
  return `mysql2 ${version}`;
}
