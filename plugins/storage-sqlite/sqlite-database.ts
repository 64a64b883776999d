import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CommitLog,
  type Connection,
  type DamageNotes,
  type DatabaseLimits,
  type DatabaseOptions,
  type Dialect,
  type Examined,
  makeTemporaryFolder,
  MemoryError,
  type Outcome,
  type ReadCallOptions,
  type SqlDatabase,
  type StorageDescription,
  type StorageOptions,
  type TransactOptions,
} from '../../core/plugin.ts';
import {
  FILE_DAMAGED,
  assertSafeSqlite,
  classifySqliteError,
  createSqliteDialect,
  diskFailed,
  isDiskFailure,
  isSqliteBusy,
  translateSqliteError,
} from './dialect.ts';
import { bindDialect, type SqliteConnection, type SqliteModule } from './connection.ts';
import { backUpFile } from './backup.ts';
import { Disk } from './disk.ts';
import { loadSqliteModule } from './drivers/load.ts';
import { assertOneName, countNames, resolveOnlyName, tellNames } from './database-path.ts';
import { assertOneIndex } from './one-index.ts';
import { OpenFiles } from './open-files.ts';
import { examineFile } from './examine.ts';
import type { SqliteSettings } from './options.ts';
import { Readers } from './readers.ts';
import { assertRoomToRewrite, isRewrittenInMemory } from './rewrite-room.ts';
import { untilUnlocked } from './until-unlocked.ts';
import { countCommits, createHeader, isSameHeader, type WalHeader, WalIndex } from './wal-index.ts';
import { whileDiskFails } from './while-disk-fails.ts';
import { WriteConnection } from './write-connection.ts';

/** How long the start waits for another process that opens or migrates the same file. */
const START_TIMEOUT_MS = 30_000;
/**
 * The size of the log, in pages, at which a commit copies it into the database: 64 MB. A page that
 * changed several times is copied once; with 16 MB a fifth more bytes were written.
 */
const CHECKPOINT_PAGES = 16_000;
/**
 * The size that a checkpoint truncates the log to: overwriting a file is faster than growing it.
 */
const LOG_BYTES = 96 * 1024 * 1024;
/** Connections for the admin's lists. */
const LIST_CONNECTIONS = 2;

/** How long a rewriting waits for a write of another process. */
const REWRITE_LOCK_MS = 5_000;
/** How often the progress of a rewriting is looked at. */
const PROGRESS_MS = 200;
/** How long a checkpoint waits for readers and writers, who wait for it too, and the pause behind it. */
const CHECKPOINT_LOCK_MS = 200;
const CHECKPOINT_PAUSE_MS = 50;

const MAY_REMAIN = [
  'The disk below the file: a file system or an SSD can keep blocks that were overwritten, and snapshots of the volume have the file as it was.',
];

/** The most problems that SQLite lists of a table, and that it is asked for of the whole file. */
const TABLE_PROBLEMS = 100;
const FILE_PROBLEMS = 1_000;

/** SQLite for the stores (core/storage): one writer and several readers. */
export class SqliteDatabase implements SqlDatabase {
  readonly apiVersion = 1;
  readonly name = 'sqlite';
  readonly limits: DatabaseLimits;
  readonly filename: string;
  readonly driver?: SqliteSettings['driver'];
  readonly backUp?: (target: string) => Promise<void>;
  private readonly options: SqliteSettings;
  private opened: Opened | null = null;
  private isClosed = false;
  readonly mayRemain = MAY_REMAIN;
  readonly file = {
    size: async () => (await stat(this.live().place.filename)).size,
    rewrite: this.rewrite.bind(this),
    emptyLog: this.emptyLog.bind(this),
  };
  /** Whether the disk failed, and no look has found it well since. */
  private isDiskInDoubt = false;

  constructor(options: SqliteSettings) {
    this.options = options;
    const { filename, driver, groupSize, lockTimeoutMs } = options;
    // Measured: with more grouped reads threads wait for each other, with fewer a core is idle.
    this.limits = { writers: 'one', groupSize, groupedReads: 2, lockTimeoutMs };
    this.filename = filename;
    if (driver !== null) this.driver = driver;
    // A temporary database needs no backup.
    if (filename !== ':memory:') this.backUp = (target) => backUpFile(filename, target, { driver });
  }

  async examine<T>(run: (found: Examined | null) => Promise<T>): Promise<T> {
    return await examineFile(this.options, run);
  }

  get commits(): CommitLog<WalHeader> | null {
    return this.live().commits;
  }

  async open({ log, damage }: DatabaseOptions): Promise<void> {
    const native = await loadSqliteModule(this.options.driver);
    const place = await findPlace(this.options.filename);
    const disk = new Disk(place.filename);
    try {
      this.opened = await whileDiskFails(async () => {
        try {
          return await this.openFiles(native, { ...place, disk }, { log, damage });
        } catch (error) {
          throw await explain(error, disk);
        }
      });
      // `--print-config` and the status name the driver, too.
      log.debug({ driver: native.name, version: this.opened.version }, 'the database is open');
    } catch (error) {
      await disk.close();
      await place.remove();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    const { opened } = this;
    if (opened === null) return;
    const { files, place, readers, writer, index } = opened;
    try {
      const guard = (await this.mayCheckpoint(opened)) ? null : await guardFromCheckpoint(opened);
      await readers.close();
      await opened.lists.close();
      // Closed last, so that SQLite copies the log into the database and removes it.
      await writer.close();
      await guard?.close();
      await place.remove();
    } catch (error) {
      throw translateSqliteError(error);
    } finally {
      files.close();
      index?.close();
      await place.disk.close();
    }
  }

  /** Whether the last checkpoint is harmless: the log is whole, and the database is the one it is for. */
  private async mayCheckpoint({ files, readers, damage }: Opened): Promise<boolean> {
    try {
      await readers.use((connection) => files.checkAtRest(connection));
      return true;
    } catch (error) {
      damage.note(translateSqliteError(error));
      return files.areMoved;
    }
  }

  async describe(): Promise<Omit<StorageDescription, 'schemaVersion'>> {
    const { native, version, synchronous, readers } = this.live();
    return await Promise.resolve({
      name: this.name,
      driver: native.name,
      version,
      settings: {
        journalMode: 'wal',
        synchronous,
        readers: readers.size,
        lockTimeoutMs: this.options.lockTimeoutMs,
      },
    });
  }

  async ping(): Promise<void> {
    const { damage, place } = this.live();
    if (this.isDiskInDoubt) {
      const reason = await place.disk.look();
      if (reason !== null) throw diskFailed(reason, null);
      this.isDiskInDoubt = false;
    }
    await damage.confirm(() => this.checkFiles());
    await this.read((connection) => connection.all('select 1 as alive', []));
  }

  /** Throws `STORAGE_DAMAGED` if the files were replaced or overwritten since they were opened. */
  private async checkFiles(): Promise<void> {
    const { files, readers } = this.live();
    await readers.use((connection) => files.checkAtRest(connection));
  }

  async inspect(): Promise<readonly string[]> {
    const { damage, files, place } = this.live();
    const read = <T>(run: (connection: Connection) => Promise<T>) =>
      damage.confirm(() => this.read(run));
    const names = await countNames(place.filename);
    const found = names > 1 ? [tellNames(names)] : [];
    try {
      await damage.confirm(() => this.checkFiles());
    } catch (thrown) {
      const error = thrown as MemoryError;
      if (error.code !== 'STORAGE_DAMAGED') throw error;
      found.push(error.message);
      files.assertKept();
    }
    let lines: string[] = [];
    try {
      await read(async (connection) => {
        lines = await checkIntegrity(connection, FILE_PROBLEMS);
        if (lines.length > 0) throw new MemoryError('STORAGE_DAMAGED', FILE_DAMAGED);
      });
    } catch (thrown) {
      const error = thrown as MemoryError;
      if (error.code !== 'STORAGE_DAMAGED') throw error;
    }
    if (lines.length === 0) return found;
    // Checking each table names it, and continues where the check of the whole file gave up.
    const inTables = new Set<string>();
    const tables = await read((connection) =>
      connection.all("select name from sqlite_master where type = 'table' order by name", []),
    );
    for (const { name } of tables) {
      const table = String(name);
      const quoted = `"${table.replaceAll('"', '""')}"`;
      const ofTable = await read((connection) => checkIntegrity(connection, quoted));
      for (const line of ofTable) inTables.add(line);
      found.push(...describeProblems(table, ofTable, TABLE_PROBLEMS));
    }
    // The list of free pages, and pages that two tables share, belong to no table.
    const others = lines.filter((line) => !inTables.has(line));
    found.push(...describeProblems('the database file', others, FILE_PROBLEMS));
    return found;
  }

  async read<T>(
    run: (connection: Connection) => Promise<T>,
    { isList = false }: ReadCallOptions = {},
  ): Promise<T> {
    const { lists, readers } = this.live();
    return await (isList ? lists : readers).use(run);
  }

  async snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.live().readers.snapshot(run);
  }

  async transact<T>(
    run: (connection: Connection) => Promise<T>,
    options: TransactOptions,
  ): Promise<Outcome<T>> {
    try {
      const { writer, readers, lists } = this.live();
      const outcome = await writer.transact(run, options);
      if (options.isSlow === true && outcome.status === 'done') {
        // It may have changed the schema.
        await readers.openAnew();
        await lists.openAnew();
      }
      const isDamaged = outcome.status === 'failed' && this.isDamage(outcome.error);
      // It may have met another file, from which nothing must be answered.
      if (isDamaged) await this.checkFiles();
      return outcome;
    } catch (error) {
      return { status: 'failed', error, isUnknown: false };
    }
  }

  private isDamage(error: unknown): boolean {
    return translateSqliteError(error).code === 'STORAGE_DAMAGED';
  }

  classify = classifySqliteError;

  private async rewrite(progress?: (done: number, total: number) => void): Promise<void> {
    const { native, place, synchronous } = this.live();
    await this.checkLog();
    await this.checkFiles();
    const { filename } = place;
    const { size } = await stat(filename);
    await assertRoomToRewrite(filename, size);
    const logBefore = await sizeOf(`${filename}-wal`);
    // The new pages are written to the log first.
    const report = async () =>
      progress?.(Math.min(size, Math.max(0, (await sizeOf(`${filename}-wal`)) - logBefore)), size);
    const timer = setInterval(() => void report(), PROGRESS_MS);
    try {
      const connection = await native.open(filename, { busyTimeoutMs: REWRITE_LOCK_MS });
      try {
        await connection.exec(
          `pragma temp_store = ${isRewrittenInMemory(size) ? 'memory' : 'file'};` +
            ` pragma synchronous = ${synchronous}; pragma secure_delete = on; vacuum`,
        );
      } finally {
        await connection.close();
      }
    } finally {
      clearInterval(timer);
    }
  }

  /** Copies the log into the database and truncates it: its pages are from before what was removed. */
  private async emptyLog(limitMs: number): Promise<boolean> {
    const { native, place } = this.live();
    await this.checkLog();
    const end = performance.now() + limitMs;
    // On its own: the locks of a checkpoint are waited for inside of SQLite.
    const connection = await native.open(place.filename, { busyTimeoutMs: CHECKPOINT_LOCK_MS });
    try {
      do {
        if (await truncateLog(connection)) return true;
        await sleep(CHECKPOINT_PAUSE_MS);
      } while (performance.now() < end);
      return false;
    } finally {
      await connection.close();
    }
  }

  /** Throws `STORAGE_DAMAGED` if the log was cut or overwritten. A checkpoint would copy that. */
  private async checkLog(): Promise<void> {
    await this.live().files.checkLog();
  }

  async explain(thrown: unknown): Promise<MemoryError> {
    if (this.opened === null) return translateSqliteError(thrown);
    const explained = await explain(thrown, this.opened.place.disk);
    if (explained.details?.['reason'] === 'disk') this.isDiskInDoubt = true;
    return explained;
  }

  private live(): Opened {
    if (this.isClosed) throw new MemoryError('SHUTTING_DOWN');
    if (this.opened === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    // Reads too, because a read that can't be logged is refused.
    this.opened.files.assertKept();
    return this.opened;
  }

  private async openFiles(
    native: SqliteModule,
    place: Place & { disk: Disk },
    { log, damage }: Pick<DatabaseOptions, 'log' | 'damage'>,
  ): Promise<Opened> {
    const { lockTimeoutMs, readers: readerCount } = this.options;
    const synchronous = place.isTemporary ? 'off' : this.options.synchronous;
    const openWriter = () => openWriterConnection(native, place.filename, synchronous);

    await assertOneIndex(native, place.filename);
    const first = await untilUnlocked(openWriter, START_TIMEOUT_MS);
    const others: SqliteConnection[] = [];
    let index: WalIndex | null = null;
    let files: OpenFiles | null = null;
    const openOthers = async (count: number, options: ReaderOptions) => {
      const connections: SqliteConnection[] = [];
      while (connections.length < count) {
        const connection = await openReaderConnection(native, place.filename, options);
        others.push(connection);
        connections.push(connection);
      }
      return connections;
    };
    try {
      const version = String(
        (await first.get('select sqlite_version() as version', []))?.['version'],
      );
      assertSafeSqlite(version);
      const dialect = createSqliteDialect(version);
      const bind = (connection: SqliteConnection) => bindDialect(connection, dialect);
      const reopen = async (open: () => Promise<SqliteConnection>) => {
        await files?.untilInPlace();
        const connection = await open();
        try {
          await files?.untilInPlace();
          return bind(connection);
        } catch (error) {
          await connection.close();
          throw error;
        }
      };
      const reopenReader = (options: ReaderOptions) => () =>
        reopen(() => openReaderConnection(native, place.filename, options));
      // After a crash the first look at the tables recovers the log, for which it locks out others.
      await untilUnlocked(
        () => first.all('select 1 from sqlite_master limit 1', []),
        START_TIMEOUT_MS,
      );
      const forReads = { busyTimeoutMs: lockTimeoutMs, cacheKilobytes: 6_000 };
      const forLists = { busyTimeoutMs: 2_000, cacheKilobytes: 32_000 };
      const readers = await openOthers(readerCount, forReads);
      const lists = await openOthers(LIST_CONNECTIONS, forLists);
      index = WalIndex.open(place.filename);
      const opened = await OpenFiles.take({ ...place, index, damage }, first);
      files = opened;
      // The file may not have existed when its path was resolved.
      await assertOneName(place.filename);
      return {
        native,
        place,
        log,
        version,
        dialect,
        synchronous,
        files,
        damage,
        index,
        commits: index === null ? null : toCommitLog(index),
        readers: new Readers(readers.map(bind), reopenReader(forReads)),
        lists: new Readers(lists.map(bind), reopenReader(forLists)),
        writer: new WriteConnection({
          connection: bind(first),
          open: () => reopen(openWriter),
          confirm: (connection) => opened.check(connection),
        }),
      };
    } catch (error) {
      for (const connection of [...others, first]) await connection.close();
      files?.close();
      index?.close();
      throw error;
    }
  }
}

interface Opened {
  native: SqliteModule;
  place: Place & { disk: Disk };
  log: StorageOptions['log'];
  version: string;
  dialect: Dialect;
  synchronous: string;
  files: OpenFiles;
  damage: DamageNotes;
  /** `null` where it can't be read. */
  index: WalIndex | null;
  commits: CommitLog<WalHeader> | null;
  readers: Readers;
  /** Connections for the admin's lists. */
  lists: Readers;
  writer: WriteConnection;
}

/**
 * The error in the words of the contract. SQLite says that a database is corrupt when the system can't
 * read a page of it, and that the disk fails when there is no room.
 */
async function explain(thrown: unknown, disk: Disk): Promise<MemoryError> {
  const error = translateSqliteError(thrown);
  if (error.code === 'STORAGE_DAMAGED' && error.details === undefined) {
    const reason = await disk.look();
    return reason === null ? error : diskFailed(reason, error.cause);
  }
  if (isDiskFailure(error.cause) && (await disk.isFull())) {
    return new MemoryError('STORAGE_FULL', undefined, { cause: error.cause, retryAfterSeconds: 5 });
  }
  return error;
}

/** Reading the header of the log takes 2 µs. */
function toCommitLog(index: WalIndex): CommitLog<WalHeader> {
  return {
    createMark: createHeader,
    read: (mark) => index.readInto(mark),
    isSame: isSameHeader,
    count: countCommits,
  };
}

interface Place {
  /** The name that was configured. */
  given: string;
  /** The file that it leads to. */
  filename: string;
  isTemporary: boolean;
  remove: () => Promise<void>;
}

async function findPlace(filename: string): Promise<Place> {
  try {
    if (filename === ':memory:') {
      // Each connection to `:memory:` would be a database of its own.
      const folder = await makeTemporaryFolder('database');
      const path = join(folder.path, 'memory.db');
      return {
        given: path,
        filename: path,
        isTemporary: true,
        remove: () => folder.remove(),
      };
    }
    const path = await resolveOnlyName(filename);
    await mkdir(dirname(path), { recursive: true });
    const given = resolve(filename);
    return { given, filename: path, isTemporary: false, remove: () => Promise.resolve() };
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
  // No busy timeout: the writer waits with timers, which blocks no thread.
  const connection = await native.open(filename, { busyTimeoutMs: 0 });
  try {
    await connection.all('pragma journal_mode = wal', []);
    await connection.exec(
      `pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};` +
        ` pragma journal_size_limit = ${LOG_BYTES}; pragma cache_size = -16000;` +
        // What is deleted is overwritten, so that no free page keeps it.
        ' pragma temp_store = memory; pragma secure_delete = on',
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * A connection that can't write. SQLite makes a checkpoint when the last connection is closed. If that
 * is this one, there is no checkpoint, because it can't write.
 */
async function guardFromCheckpoint({
  native,
  place,
  log,
}: Opened): Promise<SqliteConnection | null> {
  try {
    const guard = await native.open(place.filename, { busyTimeoutMs: 0, isReadOnly: true });
    // Takes the lock that keeps the others from the checkpoint, even if it fails.
    await guard.all('select 1 from sqlite_master', []).catch(() => undefined);
    return guard;
  } catch (error) {
    log.warn({ err: error }, 'the damaged log may be copied into the database');
    return null;
  }
}

interface ReaderOptions {
  busyTimeoutMs: number;
  cacheKilobytes: number;
}

async function openReaderConnection(
  native: SqliteModule,
  filename: string,
  { busyTimeoutMs, cacheKilobytes }: ReaderOptions,
): Promise<SqliteConnection> {
  // In WAL mode a reader waits only for the recovery after a crash.
  const connection = await native.open(filename, { busyTimeoutMs });
  await connection.exec(
    `pragma query_only = on; pragma cache_size = -${cacheKilobytes}; pragma temp_store = memory`,
  );
  return connection;
}

/**
 * The problems that SQLite's own check finds, a line each. `what` is a quoted table, checked with its
 * indexes, or the most problems to list of the whole file.
 */
async function checkIntegrity(connection: Connection, what: string | number): Promise<string[]> {
  try {
    const rows = await connection.all(`pragma integrity_check(${what})`, []);
    // One row may have many lines, below a title with stars.
    const lines = rows.flatMap((row) => String(row['integrity_check']).split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('*** '));
  } catch (error) {
    const { retryable, message } = translateSqliteError(error);
    if (retryable) throw error;
    return [message];
  }
}

function describeProblems(place: string, lines: readonly string[], most: number): string[] {
  const described = lines.map((line) => `${place}: ${line}`);
  if (lines.length < most) return described;
  return [...described, `${place}: at least ${most} problems, of which SQLite lists no more`];
}

/** Whether the log could be truncated; `false` while others use it. */
async function truncateLog(connection: SqliteConnection): Promise<boolean> {
  try {
    const [row] = await connection.all('pragma wal_checkpoint(truncate)', []);
    return Number(row?.['busy']) === 0;
  } catch (error) {
    if (isSqliteBusy(error)) return false;
    throw error;
  }
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
