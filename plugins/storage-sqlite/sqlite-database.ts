import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type {
  Current,
  Decision,
  MutateRequest,
  StorageDescription,
  StorageOptions,
} from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import { Damage } from '../storage-knex/write/damage.ts';
import type { SqlDatabase } from '../storage-knex/sql-database.ts';
import type { Dialect, Connection, KnexConnection } from '../storage-knex/dialects/dialect.ts';
import {
  FILE_DAMAGED,
  assertSafeSqlite,
  createSqliteDialect,
  isSqliteBusy,
  translateSqliteError,
} from '../storage-knex/dialects/sqlite.ts';
import { IdSkewKeeper } from '../storage-knex/write/id-skew.ts';
import { SILENT_LOG } from '../storage-knex/knex-connection.ts';
import {
  SCHEMA_VERSION,
  SCHEMA_VERSION_KEY,
  assertKnownSchema,
  migrate,
} from '../storage-knex/schema/migrate.ts';
import { applyMutations, checkMutateRequest } from '../storage-knex/write/mutation.ts';
import type { BoundConnection, SqliteConnection, SqliteModule } from './connection.ts';
import { loadSqliteModule } from './connection.ts';
import { assertOneName, countNames, resolveOnlyName, tellNames } from './database-path.ts';
import { OpenFiles } from './open-files.ts';
import type { SqliteSettings } from './options.ts';
import { Readers } from './readers.ts';
import { Writer } from './writer.ts';
import { toKnexConnection } from '../storage-knex/knex-connection.ts';

/** How long the start waits for another process that is opening or migrating the same file. */
const START_TIMEOUT_MS = 30_000;
/**
 * Pages of the log after which a commit also brings them into the database: 64 MB. A page that
 * changed often meanwhile is brought over once: with 16 MB a fifth more bytes were written.
 */
const CHECKPOINT_PAGES = 16_000;
/** What the log's file is cut back to after a checkpoint: writing over it is quicker than growing. */
const LOG_BYTES = 96 * 1024 * 1024;
/** Connections of the admin's lists. */
const LIST_CONNECTIONS = 2;

/** SQLite as the stores of storage-knex see it: one writer, some readers, and Knex for lists. */
export class SqliteDatabase implements SqlDatabase {
  readonly name = 'sqlite';
  // Measured: more of them keep threads waiting for each other, fewer leave a core idle.
  readonly groupedReads = 2;
  private readonly options: SqliteSettings;
  readonly skew = new IdSkewKeeper();
  readonly damage = new Damage();
  private opened: Opened | null = null;
  private isClosed = false;

  constructor(options: SqliteSettings) {
    this.options = options;
  }

  async init({ log }: StorageOptions): Promise<void> {
    if (this.opened !== null || this.isClosed) {
      throw new MemoryError('INTERNAL', 'A storage is opened once.');
    }
    this.damage.logTo(log);
    const { driver } = this.options;
    const native = typeof driver === 'string' ? await loadSqliteModule(driver) : driver;
    const place = await findPlace(this.options.filename);
    try {
      this.opened = await this.open(native, place, log);
    } catch (error) {
      await place.remove();
      throw translateSqliteError(error);
    }
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    const { opened } = this;
    if (opened === null) return;
    try {
      await opened.readers.close();
      await opened.knex?.destroy();
      // Last, so that SQLite brings the log into the database and removes it.
      await opened.writer.close();
      await opened.place.remove();
    } catch (error) {
      throw translateSqliteError(error);
    }
  }

  async describe(): Promise<StorageDescription> {
    const { native, version, synchronous, readers } = this.live();
    return await Promise.resolve({
      name: this.name,
      driver: native.name,
      version,
      schemaVersion: SCHEMA_VERSION,
      settings: {
        journalMode: 'wal',
        synchronous,
        readers: readers.size,
        lockTimeoutMs: this.options.lockTimeoutMs,
      },
    });
  }

  async checkFiles(): Promise<void> {
    const { files, readers, writer } = this.live();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await readers.use((connection) => files.checkAtRest(connection));
      } catch (error) {
        files.assertKept();
        // The checkpoint of a write that is under way, or was since.
        if (!writer.isIdle) return;
        if (attempt > 0) throw this.toError(error);
      }
    }
  }

  async inspect(): Promise<readonly string[]> {
    const { files, place } = this.live();
    const names = await countNames(place.filename);
    const found = names > 1 ? [tellNames(names)] : [];
    try {
      await this.checkFiles();
    } catch (error) {
      found.push((error as MemoryError).message);
      files.assertKept();
    }
    const tables = await this.read((connection) =>
      connection.all("select name from sqlite_master where type = 'table' order by name", []),
    );
    for (const { name } of tables) {
      const lines = await this.read((connection) => checkTable(connection, String(name)));
      if (lines.length > 0) this.damage.note(new MemoryError('STORAGE_DAMAGED', FILE_DAMAGED));
      found.push(...lines);
    }
    return found;
  }

  async read<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.live().readers.use(run);
    } catch (error) {
      throw this.toError(error);
    }
  }

  async snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.live().readers.snapshot(run);
    } catch (error) {
      throw this.toError(error);
    }
  }

  async write<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const { writer } = this.live();
    try {
      return await writer.write(run);
    } catch (error) {
      throw this.toError(error);
    }
  }

  async writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void> {
    const ends = await Promise.allSettled(runs.map((run) => this.write(run)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async mutate<R>(request: MutateRequest, decide: (current: Current) => Decision<R>): Promise<R> {
    checkMutateRequest(request);
    const { writer } = this.live();
    try {
      return (await writer.mutate({ request, decide })) as R;
    } catch (error) {
      throw this.toError(error);
    }
  }

  async list<T>(run: (connection: KnexConnection) => Promise<T>): Promise<T> {
    const opened = this.live();
    opened.knex ??= await connectKnex(opened.native, opened.place.filename, LIST_CONNECTIONS);
    try {
      return await run(toKnexConnection(opened.knex, opened.dialect));
    } catch (error) {
      throw this.toError(error);
    }
  }

  private toError(error: unknown): MemoryError {
    return this.damage.note(translateSqliteError(error));
  }

  private live(): Opened {
    if (this.isClosed) throw new MemoryError('SHUTTING_DOWN');
    if (this.opened === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    // Reads, too: a read that cannot be logged does not happen.
    this.opened.files.assertKept();
    return this.opened;
  }

  private async open(
    native: SqliteModule,
    place: Place,
    log: StorageOptions['log'],
  ): Promise<Opened> {
    const { lockTimeoutMs, groupSize, readers: readerCount } = this.options;
    const synchronous = place.isTemporary ? 'off' : this.options.synchronous;
    const openWriter = () => openWriterConnection(native, place.filename, synchronous);

    const first = await untilUnlocked(openWriter);
    const readers: SqliteConnection[] = [];
    let version: string;
    let dialect: Dialect;
    let files: OpenFiles;
    try {
      version = String((await first.get('select sqlite_version() as version', []))?.['version']);
      assertSafeSqlite(version);
      dialect = createSqliteDialect(version);
      const schemaVersion = await untilUnlocked(() => readSchemaVersion(first));
      assertKnownSchema(schemaVersion);
      if (schemaVersion < SCHEMA_VERSION) {
        if (schemaVersion > 0) await backUp(first, place.filename, schemaVersion, log);
        await migrateFile(native, place.filename, dialect);
      }
      for (let index = 0; index < Math.min(Math.max(readerCount, 1), 16); index += 1) {
        readers.push(await openReaderConnection(native, place.filename, lockTimeoutMs));
      }
      files = await OpenFiles.take(place.filename, first, { damage: this.damage, version });
      // It was not there yet when its name was resolved, perhaps.
      await assertOneName(place.filename);
    } catch (error) {
      for (const connection of [...readers, first]) await connection.close();
      throw error;
    }
    const bind = (connection: SqliteConnection): BoundConnection =>
      Object.assign(connection, { dialect });
    return {
      native,
      place,
      version,
      dialect,
      synchronous,
      files,
      readers: new Readers(readers.map(bind)),
      writer: new Writer({
        connection: bind(first),
        open: async () => bind(await openWriter()),
        apply: (connection, mutations) => applyMutations(connection, this, mutations),
        confirm: (connection) => files.check(connection),
        groupSize,
        lockTimeoutMs,
      }),
      knex: null,
    };
  }
}

interface Opened {
  native: SqliteModule;
  place: Place;
  version: string;
  dialect: Dialect;
  synchronous: string;
  files: OpenFiles;
  readers: Readers;
  writer: Writer;
  knex: Knex | null;
}

interface Place {
  filename: string;
  isTemporary: boolean;
  remove: () => Promise<void>;
}

async function findPlace(filename: string): Promise<Place> {
  try {
    if (filename === ':memory:') {
      // Several connections to `:memory:` would be several databases.
      const directory = await mkdtemp(join(tmpdir(), 'memory-service-'));
      return {
        filename: join(directory, 'memory.db'),
        isTemporary: true,
        remove: () => rm(directory, { recursive: true, force: true }),
      };
    }
    const path = await resolveOnlyName(filename);
    await mkdir(dirname(path), { recursive: true });
    return { filename: path, isTemporary: false, remove: () => Promise.resolve() };
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    throw new MemoryError(
      'STORAGE_UNAVAILABLE',
      'The directory of the database can not be made or written.',
      { cause: error },
    );
  }
}

async function openWriterConnection(
  native: SqliteModule,
  filename: string,
  synchronous: string,
): Promise<SqliteConnection> {
  // Busy at once: the writer waits with timers, and keeps no thread meanwhile.
  const connection = await native.open(filename, { busyTimeoutMs: 0 });
  try {
    await connection.all('pragma journal_mode = wal', []);
    await connection.exec(
      `pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};` +
        ` pragma journal_size_limit = ${LOG_BYTES}; pragma cache_size = -16000;` +
        ' pragma temp_store = memory',
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function openReaderConnection(
  native: SqliteModule,
  filename: string,
  busyTimeoutMs: number,
): Promise<SqliteConnection> {
  // A reader waits for nobody in WAL mode, but for the recovery after a crash.
  const connection = await native.open(filename, { busyTimeoutMs });
  await connection.exec(
    'pragma query_only = on; pragma cache_size = -6000; pragma temp_store = memory',
  );
  return connection;
}

/** What SQLite itself finds wrong with a table and its indexes. */
async function checkTable(connection: Connection, table: string): Promise<string[]> {
  try {
    const rows = await connection.all(
      'select integrity_check as line from pragma_integrity_check(?)',
      [table],
    );
    const lines = rows.map(({ line }) => String(line)).filter((line) => line !== 'ok');
    return lines.map((line) => `${table}: ${line}`);
  } catch (error) {
    return [`${table}: ${translateSqliteError(error).message}`];
  }
}

async function readSchemaVersion(connection: Pick<Connection, 'all'>): Promise<number> {
  const tables = await connection.all("select 1 from sqlite_master where name = 'svc_meta'", []);
  if (tables.length === 0) return 0;
  const [row] = await connection.all('select value from svc_meta where key = ?', [
    SCHEMA_VERSION_KEY,
  ]);
  return row === undefined ? 0 : Number(row['value']);
}

async function migrateFile(
  native: SqliteModule,
  filename: string,
  dialect: Dialect,
): Promise<void> {
  const knex = await connectKnex(native, filename, 1, 'read-write');
  try {
    // Knex would begin without the lock, and fail where it first writes.
    await untilUnlocked(() => knex.raw('begin immediate'));
    try {
      const connection = toKnexConnection(knex, dialect);
      const from = await readSchemaVersion(connection);
      assertKnownSchema(from);
      await migrate(connection, { from });
      await knex.raw('commit');
    } catch (error) {
      await knex.raw('rollback').catch(() => undefined);
      throw error;
    }
  } finally {
    await knex.destroy();
  }
}

async function connectKnex(
  native: SqliteModule,
  filename: string,
  connections: number,
  mode: 'read-only' | 'read-write' = 'read-only',
): Promise<Knex> {
  const { default: knex } = await import('knex');
  return knex({
    client: native.knexClient,
    connection: { filename },
    useNullAsDefault: true,
    log: SILENT_LOG,
    pool: {
      min: 0,
      max: connections,
      afterCreate(connection: unknown, done: (error: Error | null) => void) {
        prepareKnexConnection(native, connection, mode).then(
          () => done(null),
          (error: unknown) => done(error as Error),
        );
      },
    },
  });
}

async function prepareKnexConnection(
  native: SqliteModule,
  connection: unknown,
  mode: 'read-only' | 'read-write',
): Promise<void> {
  const sql =
    mode === 'read-only'
      ? 'pragma busy_timeout = 2000; pragma query_only = on; pragma cache_size = -32000;'
      : 'pragma busy_timeout = 0;';
  if (native.knexClient === 'better-sqlite3') {
    (connection as { exec: (sql: string) => unknown }).exec(sql);
    return;
  }
  await new Promise<void>((done, reject) => {
    (connection as { exec: (sql: string, done: (error: Error | null) => void) => unknown }).exec(
      sql,
      (error) => (error === null ? done() : reject(error)),
    );
  });
}

/** Keeps a copy beside the database, whole or not at all, before its schema changes. */
async function backUp(
  connection: SqliteConnection,
  filename: string,
  schemaVersion: number,
  log: StorageOptions['log'],
): Promise<void> {
  const target = `${filename}.schema-${schemaVersion}.backup`;
  const partial = `${target}.partial`;
  log.info({ schemaVersion }, 'backing up the database before its schema changes');
  await rm(partial, { force: true });
  await untilUnlocked(() => connection.run('vacuum into ?', [partial]));
  const file = await open(partial, 'r');
  await file.sync();
  await file.close();
  await rename(partial, target);
  log.info({ bytes: (await stat(target)).size }, 'the database is backed up');
}

async function untilUnlocked<T>(attempt: () => Promise<T>): Promise<T> {
  const end = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > end) throw error;
    }
    await sleep(10);
  }
}
