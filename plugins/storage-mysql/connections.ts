import type { Pool, PoolConnection } from 'mysql2';
import { createPool } from 'mysql2';
import { type Connection, MemoryError, type Row, type SqlValue } from '../../core/plugin.ts';
import { MYSQL_DIALECT, classifyMysqlError, toMysqlStatement } from './dialect.ts';
import type { MysqlSettings } from './options.ts';

/** The most prepared statements of one connection: more than the stores have texts. */
const KEPT_STATEMENTS = 300;

/** One connection, lent to one caller. */
export interface Session extends Connection {
  /** Runs a statement without preparing it, for transactions and settings. */
  command(sql: string): Promise<void>;
}

/** The number of connections, and the statements that prepare each of them. */
export interface ConnectionsOptions {
  limit: number;
  setup: readonly string[];
  /** Whether statements are prepared: of no use where their texts are many. Default true. */
  isPrepared?: boolean;
}

/** Options for lending a connection. */
export interface UseOptions {
  /** Runs on the connection after the answer, before another caller gets it. */
  behind?: (session: Session) => Promise<void>;
  /** The deadline, as a point of `performance.now()`: no statement is sent or awaited after it. */
  until?: number;
  /** The time limit of each statement of `run`; default `settings.statementTimeoutMs`. */
  statementTimeoutMs?: number;
}

/**
 * mysql2's pool with prepared statements. All access to the database goes through it, and it alone
 * sets time limits. It drops a connection that is lost, takes too long, or leads to a server that
 * has become read-only; the next one leads to the new primary after a failover. Errors are those of
 * mysql2.
 */
export class Connections {
  private readonly pool: Pool;
  private readonly timeoutMs: number;
  private readonly setup: readonly string[];
  private readonly isPrepared: boolean;
  private readonly prepared = new WeakSet<PoolConnection>();
  private readonly underWay = new Set<Promise<unknown>>();
  private isClosed = false;

  constructor(settings: MysqlSettings, { limit, setup, isPrepared = true }: ConnectionsOptions) {
    this.isPrepared = isPrepared;
    this.timeoutMs = settings.statementTimeoutMs;
    this.setup = setup;
    this.pool = createPool({
      ...settings.server,
      charset: 'utf8mb4_bin',
      enableKeepAlive: true,
      keepAliveInitialDelay: 10_000,
      // Refuses several statements in one text.
      multipleStatements: false,
      connectionLimit: limit,
      maxPreparedStatements: KEPT_STATEMENTS,
      connectTimeout: Math.min(this.timeoutMs, 5_000),
    });
  }

  /** Lends a connection until `run` ends. */
  use<T>(run: (session: Session) => Promise<T>, options: UseOptions = {}): Promise<T> {
    if (this.isClosed) return Promise.reject(new MemoryError('SHUTTING_DOWN'));
    return new Promise<T>((resolve, reject) => {
      const work = this.lend(run, options, resolve, reject);
      this.underWay.add(work);
      void work.finally(() => this.underWay.delete(work));
    });
  }

  /** Waits for work in progress, then closes every connection. */
  async close(): Promise<void> {
    this.isClosed = true;
    while (this.underWay.size > 0) await Promise.all(this.underWay);
    await new Promise<void>((resolve) => this.pool.end(() => resolve()));
  }

  private async lend<T>(
    run: (session: Session) => Promise<T>,
    { behind, until = Number.POSITIVE_INFINITY, statementTimeoutMs }: UseOptions,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    let connection: PoolConnection;
    try {
      connection = await this.acquire(until);
    } catch (error) {
      reject(error);
      return;
    }
    const limits = { timeoutMs: this.timeoutMs, until };
    const session = new PooledSession(connection, { limits, isPrepared: this.isPrepared });
    try {
      if (!this.prepared.has(connection)) {
        connection.on('error', ignore);
        for (const sql of this.setup) await session.command(sql);
        this.prepared.add(connection);
      }
      limits.timeoutMs = statementTimeoutMs ?? this.timeoutMs;
      resolve(await run(session));
    } catch (error) {
      reject(error);
    }
    try {
      if (!session.isBroken) await behind?.(session);
    } catch {
      // The caller has its answer; what is wrong with the connection shows below.
    }
    if (session.isBroken) connection.destroy();
    else connection.release();
  }

  private acquire(until: number): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(
        () => {
          isLate = true;
          reject(timedOut('No connection to the database was free in time.'));
        },
        timeLeft(this.timeoutMs, until),
      );
      this.pool.getConnection((error, connection) => {
        clearTimeout(timer);
        if (isLate) connection?.release();
        else if (error === null) resolve(connection);
        else reject(error);
      });
    });
  }
}

function ignore(): void {
  // The statement under way rejects with it. Without a listener it would end the process.
}

interface StatementLimits {
  timeoutMs: number;
  until: number;
}

class PooledSession implements Session {
  readonly dialect = MYSQL_DIALECT;
  /** Whether the connection can't be used any more. */
  isBroken = false;
  private readonly connection: PoolConnection;
  private readonly limits: StatementLimits;
  private readonly isPrepared: boolean;

  constructor(
    connection: PoolConnection,
    { limits, isPrepared }: { limits: StatementLimits; isPrepared: boolean },
  ) {
    this.connection = connection;
    this.limits = limits;
    this.isPrepared = isPrepared;
  }

  async all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    return (await this.execute(sql, parameters)) as Row[];
  }

  async run(sql: string, parameters: readonly SqlValue[]): Promise<number> {
    return ((await this.execute(sql, parameters)) as { affectedRows: number }).affectedRows;
  }

  async command(sql: string): Promise<void> {
    await this.send((done) => void this.connection.query(sql, done));
  }

  private execute(sql: string, parameters: readonly SqlValue[]): Promise<unknown> {
    const text = toMysqlStatement(sql);
    const values = [...parameters];
    return this.send((done) => {
      if (this.isPrepared) this.connection.execute(text, values, done);
      else this.connection.query(text, values, done);
    });
  }

  private send(
    start: (done: (error: Error | null, result: unknown) => void) => void,
  ): Promise<unknown> {
    const { timeoutMs, until } = this.limits;
    return new Promise((resolve, reject) => {
      if (performance.now() >= until) {
        // The connection may still be inside an abandoned transaction.
        this.isBroken = true;
        return reject(timedOut('The time of the call was over.'));
      }
      const fail = (error: Error) => {
        clearTimeout(timer);
        const failure = classifyMysqlError(error);
        if (failure === 'lost' || failure === 'read-only') this.isBroken = true;
        reject(error);
      };
      const timer = setTimeout(
        () => {
          this.connection.destroy();
          fail(timedOut('The database took too long over a statement.'));
        },
        timeLeft(timeoutMs, until),
      );
      start((error, result) => {
        if (error !== null) return fail(error);
        clearTimeout(timer);
        resolve(result);
      });
    });
  }
}

function timeLeft(timeoutMs: number, until: number): number {
  return Math.max(0, Math.min(timeoutMs, until - performance.now()));
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}
