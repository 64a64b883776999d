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
import { Connections, type Session } from './connections.ts';
import { classifyPostgresError, isPostgresMistake, translatePostgresError } from './errors.ts';
import { describePg, loadPg, type PgModule } from './load-pg.ts';
import type { PostgresSettings } from './options.ts';
import { checkServer, readFacts, type ServerFacts } from './server.ts';
import { BEGIN_READ, BEGIN_SNAPSHOT, beginWrite, transactOn } from './transactions.ts';

/** Connections for the admin's lists. */
const LIST_CONNECTIONS = 2;
/** The most mutations of one transaction. */
const GROUP_SIZE = 32;
/** The time limit of a whole ping. */
const PING_MS = 1_500;
/** Reads a table, because a server can answer while the tables are locked. */
const PING_SQL = 'select 1 from svc_file limit 1';
/** The time limit of one statement that may rewrite a large table, or wait for its lock. */
const SLOW_STATEMENT_MS = 3_600_000;
/** The pause between two attempts of the start to reach the database. */
const START_WAIT_MS = 250;

/** The places that a server keeps removed rows in, with what an operator can do about each. */
const MAY_REMAIN = [
  `Removed rows in the files of the tables and their indexes: VACUUM FULL ${[...SCOPE_TABLES, 'svc_admin_audit'].join(', ')} writes the tables anew.`,
  'The write-ahead log: it is written over in the course of time; CHECKPOINT makes that sooner. An archive of it (archive_command) keeps it for as long as you say there.',
  'Replicas and replication slots: they get the removal with the log, and a slot that nobody reads keeps the log.',
];

/** PostgreSQL for the stores (core/storage). */
export class PostgresDatabase implements SqlDatabase {
  readonly apiVersion = 1;
  readonly name = 'postgres';
  readonly limits: DatabaseLimits;
  readonly mayRemain = MAY_REMAIN;
  readonly #settings: PostgresSettings;
  #opened: Opened | null = null;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
    const { connections, lockTimeoutMs } = settings;
    // At most half of the connections, so that writes have the other half.
    const groupedReads = Math.max(1, Math.floor(connections / 2));
    this.limits = { writers: 'many', groupSize: GROUP_SIZE, groupedReads, lockTimeoutMs };
  }

  async open({ log }: DatabaseOptions): Promise<void> {
    try {
      const pg = await loadPg();
      this.#opened = this.#connect(pg, await this.#askServer(pg, log));
    } catch (error) {
      throw translatePostgresError(error);
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    if (opened === null) return;
    const { agents, lists, pings } = opened;
    await Promise.all([agents, lists, pings].map((each) => each.close()));
  }

  async examine<T>(run: (found: Examined | null) => Promise<T>): Promise<T> {
    const settings = this.#settings;
    try {
      const pg = await loadPg();
      const facts = await useOnce(pg, settings, { schema: '', limit: 1 }, async (session) => {
        return (await readFacts(session, settings.schema)).facts;
      });
      return await useOnce(pg, settings, { schema: facts.schema, limit: 1 }, (connection) =>
        run({ version: facts.version, connection }),
      );
    } catch (error) {
      throw translatePostgresError(error);
    }
  }

  async ping(): Promise<void> {
    // A separate connection, so that it never waits for other statements, nor they for it.
    await this.#live().pings.use((session) => session.all(PING_SQL, []), {
      until: performance.now() + PING_MS,
    });
  }

  async describe(): Promise<Omit<StorageDescription, 'schemaVersion'>> {
    const { facts } = this.#live();
    const { server, connections, lockTimeoutMs, tls } = this.#settings;
    const pool = 'pool' in server ? { pool: "the app's" } : { connections, tls };
    return await Promise.resolve({
      name: this.name,
      driver: describePg(),
      version: facts.version,
      settings: {
        schema: facts.schema,
        isolation: 'read committed',
        lockTimeoutMs,
        ...pool,
      },
    });
  }

  async read<T>(
    run: (connection: Connection) => Promise<T>,
    { until, isList = false }: ReadCallOptions,
  ): Promise<T> {
    const { agents, lists } = this.#live();
    if (isList) return await readOnly(lists, BEGIN_READ, run, until);
    return await agents.use(run, toUntil(until));
  }

  async snapshot<T>(
    run: (connection: Connection) => Promise<T>,
    { until }: CallOptions,
  ): Promise<T> {
    return await readOnly(this.#live().agents, BEGIN_SNAPSHOT, run, until);
  }

  async transact<T>(
    run: (connection: Connection) => Promise<T>,
    { until, isSlow = false }: TransactOptions,
  ): Promise<Outcome<T>> {
    const { agents, begin } = this.#live();
    if (!isSlow) return await transactOn(agents, begin, run, toUntil(until));
    const limits = { lockTimeoutMs: SLOW_STATEMENT_MS, statementTimeoutMs: SLOW_STATEMENT_MS };
    return await transactOn(agents, beginWrite(limits), run, {
      ...toUntil(until),
      statementTimeoutMs: SLOW_STATEMENT_MS,
    });
  }

  classify = classifyPostgresError;
  explain = translatePostgresError;

  #live(): Opened {
    if (this.#opened === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    return this.#opened;
  }

  #connect(pg: PgModule, facts: ServerFacts): Opened {
    const { schema } = facts;
    const open = (limit: number) => new Connections(pg, this.#settings, { limit, schema });
    return {
      facts,
      begin: beginWrite(this.#settings),
      agents: open(this.#settings.connections),
      lists: open(LIST_CONNECTIONS),
      pings: open(1),
    };
  }

  /** Waits for a database that is not running yet: containers often start both at once. */
  async #askServer(pg: PgModule, log: StorageOptions['log']): Promise<ServerFacts> {
    const settings = this.#settings;
    const end = performance.now() + settings.startTimeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await useOnce(pg, settings, { schema: '', limit: 1 }, (session) =>
          checkServer(session, settings.schema),
        );
      } catch (error) {
        const isDown = classifyPostgresError(error) === 'lost' && !isPostgresMistake(error);
        if (!isDown || performance.now() >= end) throw error;
        if (attempt === 0) {
          const { message: reason } = error as Error;
          log.warn({ reason }, 'the database can not be reached yet: waiting for it');
        }
      }
      await sleep(START_WAIT_MS);
    }
  }
}

interface Opened {
  facts: ServerFacts;
  /** The begin of a write. */
  begin: string;
  /** For the reads and writes of tool calls. */
  agents: Connections;
  lists: Connections;
  pings: Connections;
}

/** Reads in a transaction that can't write. */
function readOnly<T>(
  connections: Connections,
  begin: string,
  run: (connection: Connection) => Promise<T>,
  until: number | undefined,
): Promise<T> {
  const read = async (session: Session) => {
    await session.command(begin);
    return await run(session);
  };
  // Nothing was written, so a rollback ends it as well, and also after a failure.
  const behind = (session: Session) => session.command('rollback');
  return connections.use(read, { behind, ...toUntil(until) });
}

/** Lends a connection outside of a service. */
async function useOnce<T>(
  pg: PgModule,
  settings: PostgresSettings,
  options: ConstructorParameters<typeof Connections>[2],
  run: Parameters<typeof Connections.prototype.use<T>>[0],
): Promise<T> {
  const connections = new Connections(pg, settings, options);
  try {
    return await connections.use(run);
  } finally {
    await connections.close();
  }
}

function toUntil(until: number | undefined): { until?: number } {
  return until === undefined ? {} : { until };
}
