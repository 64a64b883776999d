import { existsSync } from 'node:fs';
import sqlite3 from 'sqlite3';
import {
  type Connection,
  type Examined,
  type Outcome,
  outcomeUnknown,
  readOptions,
  type Row,
  type SqlDatabase,
  type TransactOptions,
} from 'memory-service/plugin';
import {
  assertSafeSqlite,
  classifySqliteError,
  createSqliteDialect,
  toSqliteStatement,
  translateSqliteError,
} from 'memory-service/plugins/storage-sqlite';

/** The options of {@link database}. */
export interface DatabaseOptions {
  /** The file, made when it is absent. */
  filename: string;
}

const OPTIONS = {
  filename: {
    // Each connection would have its own `:memory:`.
    schema: { type: 'string', pattern: '^[^:]' },
    default: null,
    isRequired: true,
    allowed: 'the name of a file',
    description: 'The database file, made when it is absent.',
  },
} as const;

/**
 * Stores memory in a SQLite file, with the package sqlite3.
 *
 * @example
 * createMemoryService({ storage: database({ filename: 'memory.db' }) });
 */
export function database(options: DatabaseOptions): SqlDatabase {
  return new MyDatabase(readOptions(OPTIONS, options, { plugin: 'my-database' }).filename);
}

class MyDatabase implements SqlDatabase {
  readonly apiVersion = 1;
  readonly name = 'my-database';
  readonly limits = {
    writers: 'one',
    groupSize: 64,
    groupedReads: 2,
    lockTimeoutMs: 2_000,
  } as const;
  readonly mayRemain = ['The log beside the database file, until SQLite overwrites it.'];
  readonly filename: string;
  readonly #readers: Pool;
  readonly #writers: Pool;

  constructor(filename: string) {
    this.filename = filename;
    this.#readers = new Pool(() => connect(filename, 'pragma query_only = on'));
    // The service waits for the lock: the last setting lets SQLite say at once that it is taken.
    const settings = ['journal_mode = wal', 'secure_delete = on', 'busy_timeout = 0'];
    const setUp = settings.map((setting) => `pragma ${setting}`).join('; ');
    this.#writers = new Pool(() => connect(filename, setUp));
  }

  async open(): Promise<void> {
    assertSafeSqlite(sqlite3.VERSION);
    await explained(() => this.#writers.lend(look));
  }

  async close(): Promise<void> {
    await this.#readers.close();
    await this.#writers.close();
  }

  async describe() {
    const settings = { journalMode: 'wal' };
    const description = { name: this.name, driver: 'sqlite3', version: sqlite3.VERSION, settings };
    return await Promise.resolve(description);
  }

  async ping(): Promise<void> {
    await explained(() => this.#readers.lend(look));
  }

  async read<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.#readers.lend(run);
  }

  async snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.#readers.lend(async (connection) => {
      await connection.run('begin', []);
      const result = await run(connection);
      await connection.run('rollback', []);
      return result;
    });
  }

  async transact<T>(
    run: (connection: Connection) => Promise<T>,
    { isSpoiled }: TransactOptions,
  ): Promise<Outcome<T>> {
    let isCommitting = false;
    const work = async (connection: Connection) => {
      await connection.run('begin immediate', []);
      const result = await run(connection);
      isCommitting = true;
      await connection.run('commit', []);
      return result;
    };
    try {
      return { status: 'done', result: await this.#writers.lend(work, isSpoiled) };
    } catch (error) {
      // The end of the log may have reached the disk.
      const isUnknown = isCommitting && this.classify(error) === 'disk';
      return { status: 'failed', error: isUnknown ? outcomeUnknown(error) : error, isUnknown };
    }
  }

  classify = classifySqliteError;
  explain = translateSqliteError;

  async examine<T>(run: (found: Examined | null) => Promise<T>): Promise<T> {
    if (!existsSync(this.filename)) return await run(null);
    const version = sqlite3.VERSION;
    try {
      return await explained(() =>
        this.#readers.lend((connection) => run({ version, connection })),
      );
    } finally {
      await this.#readers.close();
    }
  }
}

/** A connection of the package, with promises and the statements of the service. */
interface OpenConnection extends Connection {
  close(): Promise<void>;
}

const dialect = createSqliteDialect(sqlite3.VERSION);

async function connect(filename: string, setUp: string): Promise<OpenConnection> {
  const native = await answered<sqlite3.Database>((done) => {
    const opened = new sqlite3.Database(filename, (error) => done(error, opened));
  });
  const close = () => new Promise<void>((resolve) => native.close(() => resolve()));
  try {
    await answered((done) => native.exec(setUp, done));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    dialect,
    all: (sql, parameters) =>
      answered<Row[]>((done) => native.all(toSqliteStatement(sql), parameters, done)),
    run: (sql, parameters) =>
      answered<number>((done) => {
        native.run(toSqliteStatement(sql), parameters, function (error) {
          done(error, this.changes);
        });
      }),
    close,
  };
}

type Done<T> = (error: Error | null, result?: T) => void;

/** Calls a method of the package that takes a callback. */
function answered<T>(begin: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    begin((error, result) => (error === null ? resolve(result as T) : reject(error)));
  });
}

const MOST_IDLE = 4;

/** Connections of one kind, each lent to one caller at a time. */
class Pool {
  readonly #open: () => Promise<OpenConnection>;
  readonly #idle: OpenConnection[] = [];

  constructor(open: () => Promise<OpenConnection>) {
    this.#open = open;
  }

  /** Closes the connection if `run` fails, which rolls back its transaction, or if it is spoiled. */
  async lend<T>(
    run: (connection: OpenConnection) => Promise<T>,
    isSpoiled: () => boolean = () => false,
  ): Promise<T> {
    const connection = this.#idle.pop() ?? (await this.#open());
    let isReusable = false;
    try {
      const result = await run(connection);
      isReusable = this.#idle.length < MOST_IDLE && !isSpoiled();
      return result;
    } finally {
      if (isReusable) this.#idle.push(connection);
      else await connection.close();
    }
  }

  async close(): Promise<void> {
    for (const connection of this.#idle.splice(0)) await connection.close();
  }
}

async function look(connection: Connection): Promise<void> {
  await connection.all('select 1 from sqlite_master limit 1', []);
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}
