import type {
  ClientConfig,
  CustomTypesConfig,
  Pool,
  PoolClient,
  PoolConfig,
  QueryResult,
} from 'pg';
import {
  type Connection,
  type Dialect,
  MemoryError,
  type Row,
  type SqlValue,
} from '../../core/plugin.ts';
import { createPostgresDialect, createTranslator } from './dialect.ts';
import { classifyPostgresError } from './errors.ts';
import type { PgModule } from './load-pg.ts';
import type { PostgresSettings } from './options.ts';

/** How long a connection that nobody uses stays open. */
const IDLE_MS = 60_000;

/** One connection, lent to one caller. */
export interface Session extends Connection {
  /**
   * Runs statements without values in one message. Returns the command that the last one did: a
   * COMMIT of a failed transaction does a ROLLBACK.
   */
  command(sql: string): Promise<string>;
  /** The same with values. The statement is not one of the stores: it is sent as it is. */
  query(sql: string, parameters: readonly unknown[]): Promise<QueryResult<Row>>;
}

/** The parts of {@link Connections}. */
export interface ConnectionsOptions {
  limit: number;
  /** The schema of the tables. */
  schema: string;
}

/** Options for lending a connection. */
export interface UseOptions {
  /** Runs on the connection after the answer, before another caller gets it. */
  behind?: (session: Session) => Promise<unknown>;
  /** The deadline, as a point of `performance.now()`: no statement is sent or awaited after it. */
  until?: number;
  /** The time limit of each statement of `run`; default `settings.statementTimeoutMs`. */
  statementTimeoutMs?: number;
}

/**
 * A pool of `pg`, its own or the app's. All access to the database goes through it, and it alone sets
 * time limits. It drops a connection that is lost, takes too long, or leads to a server that has
 * become read-only. It prepares no statement by name and sets nothing for a session, so a pooler may
 * run each transaction in a different session. Errors are those of `pg`.
 */
export class Connections {
  readonly #pg: PgModule;
  readonly #timeoutMs: number;
  readonly #dialect: Dialect;
  readonly #translate: (sql: string) => string;
  readonly #pool: Pick<Pool, 'connect'>;
  /** Absent for the app's pool, which is not ours to close. */
  readonly #own: Pool | null;
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(
    pg: PgModule,
    { server, statementTimeoutMs }: PostgresSettings,
    { limit, schema }: ConnectionsOptions,
  ) {
    this.#pg = pg;
    this.#timeoutMs = statementTimeoutMs;
    this.#dialect = createPostgresDialect(schema);
    this.#translate = createTranslator(schema);
    if ('pool' in server) {
      this.#own = null;
      this.#pool = server.pool as Pick<Pool, 'connect'>;
      return;
    }
    this.#own = new pg.Pool({
      ...server.config,
      application_name: 'memory-service',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      max: limit,
      idleTimeoutMillis: IDLE_MS,
      // As an option of the pool, it would also end the wait for a connection that is in use.
      Client: withConnectTimeout(pg.Client, Math.min(statementTimeoutMs, 5_000)),
    });
    // A connection that is lost while nobody uses it: the next caller gets another one.
    this.#own.on('error', ignore);
    this.#pool = this.#own;
  }

  /** Lends a connection until `run` ends. */
  use<T>(run: (session: Session) => Promise<T>, options: UseOptions = {}): Promise<T> {
    if (this.#isClosed) return Promise.reject(new MemoryError('SHUTTING_DOWN'));
    return new Promise<T>((resolve, reject) => {
      const work = this.#lend(run, options, resolve, reject);
      this.#underWay.add(work);
      void work.finally(() => this.#underWay.delete(work));
    });
  }

  /** Waits for work in progress, then closes every connection of its own. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    await this.#own?.end();
  }

  async #lend<T>(
    run: (session: Session) => Promise<T>,
    { behind, until = Number.POSITIVE_INFINITY, statementTimeoutMs }: UseOptions,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.#acquire(until);
    } catch (error) {
      reject(error);
      return;
    }
    client.on('error', ignore);
    const session = new PooledSession(client, {
      timeoutMs: statementTimeoutMs ?? this.#timeoutMs,
      until,
      dialect: this.#dialect,
      translate: this.#translate,
      cancel: () => void cancel(this.#pg, client),
    });
    try {
      resolve(await run(session));
    } catch (error) {
      reject(error);
    }
    try {
      if (!session.isBroken) await behind?.(session);
    } catch {
      // The caller has its answer; what is wrong with the connection shows below.
    }
    client.off('error', ignore);
    client.release(session.isBroken);
  }

  #acquire(until: number): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(
        () => {
          isLate = true;
          reject(timedOut('No connection to the database was free in time.'));
        },
        timeLeft(this.#timeoutMs, until),
      );
      this.#pool.connect().then(
        (client) => {
          clearTimeout(timer);
          if (isLate) client.release();
          else resolve(client);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error as Error);
        },
      );
    });
  }
}

/** A client of the pool that ends an attempt to connect after a time. */
function withConnectTimeout(Client: PgModule['Client'], timeoutMs: number): PgModule['Client'] {
  return class extends Client {
    constructor(config: ClientConfig = {}) {
      const { password } = config;
      // The pool hides the password from being listed.
      super({
        ...config,
        ...(password === undefined ? {} : { password }),
        connectionTimeoutMillis: timeoutMs,
      });
    }
  };
}

function ignore(): void {
  // The statement under way rejects with it. Without a listener it would end the process.
}

interface SessionOptions {
  timeoutMs: number;
  until: number;
  dialect: Dialect;
  translate: (sql: string) => string;
  /** Asks the server to end the statement under way. */
  cancel: () => void;
}

class PooledSession implements Session {
  readonly dialect: Dialect;
  /** Whether the connection can't be used any more. */
  isBroken = false;
  readonly #client: PoolClient;
  readonly #options: SessionOptions;

  constructor(client: PoolClient, options: SessionOptions) {
    this.dialect = options.dialect;
    this.#client = client;
    this.#options = options;
  }

  async all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    return (await this.query(this.#options.translate(sql), parameters)).rows;
  }

  async run(sql: string, parameters: readonly SqlValue[]): Promise<number> {
    return (await this.query(this.#options.translate(sql), parameters)).rowCount ?? 0;
  }

  async command(sql: string): Promise<string> {
    const result: QueryResult | QueryResult[] = await this.query(sql, []);
    return (Array.isArray(result) ? result.at(-1) : result)?.command ?? '';
  }

  query(text: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    const { timeoutMs, until, cancel: cancelStatement } = this.#options;
    return new Promise((resolve, reject) => {
      if (performance.now() >= until) {
        // The connection may still be inside an abandoned transaction.
        this.isBroken = true;
        return reject(timedOut('The time of the call was over.'));
      }
      const fail = (error: unknown) => {
        clearTimeout(timer);
        const failure = classifyPostgresError(error);
        if (failure === 'lost' || failure === 'read-only') this.isBroken = true;
        reject(error as Error);
      };
      const timer = setTimeout(
        () => {
          cancelStatement();
          fail(timedOut('The database took too long over a statement.'));
        },
        timeLeft(timeoutMs, until),
      );
      this.#client
        .query<Row>({ text, values: parameters.map(toParameter), types: TYPES })
        .then((result) => {
          clearTimeout(timer);
          resolve(result);
        }, fail);
    });
  }
}

/** PostgreSQL stores no NUL. The service refuses it where it would matter: in contents and paths. */
function toParameter(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\ufffd')
    : value;
}

/** By the numbers of PostgreSQL's types (pg_type): numbers as numbers, bytes as bytes, else text. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  17: toBytes,
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  // A sum of numbers of 64 bits.
  1700: Number,
};

const TYPES: CustomTypesConfig = {
  getTypeParser: ((type: number) => PARSERS[type] ?? String) as CustomTypesConfig['getTypeParser'],
};

function toBytes(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  // The older form, which a server may be set to: \\ and \ooo for what cannot be printed.
  const plain = text.replaceAll(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(plain, 'latin1');
}

/** What a connection knows of its server, which the types of `pg` leave out. */
interface ConnectedClient {
  host: string;
  port: number;
  ssl: PoolConfig['ssl'];
  processID: number;
  secretKey: number;
}

/**
 * Asks the server to end the statement of a connection that is given up. Otherwise a read would go on
 * there until it is done. It takes a connection of its own, and there is no answer to it.
 */
function cancel(pg: PgModule, client: PoolClient): void {
  const { host, port, ssl, processID, secretKey } = client as unknown as ConnectedClient;
  const { connection } = new pg.Client({ host, port, ssl: ssl ?? false }) as unknown as {
    connection: NodeJS.EventEmitter & {
      connect(port: number | string, host?: string): void;
      cancel(processID: number, secretKey: number): void;
      stream: { destroy(): void };
    };
  };
  const send = () => connection.cancel(processID, secretKey);
  connection.on('error', () => connection.stream.destroy());
  connection.once('connect', send);
  connection.once('sslconnect', send);
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
}

function timeLeft(timeoutMs: number, until: number): number {
  return Math.max(0, Math.min(timeoutMs, until - performance.now()));
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}
