import { setTimeout as sleep } from 'node:timers/promises';
import { type DamageNotes, DOUBT_MS, MemoryError, toInteger } from '../../core/plugin.ts';
import type { SqliteConnection } from './connection.ts';
import { factsOf, type FileFacts } from './file-facts.ts';
import { untilUnlocked } from './until-unlocked.ts';
import { WalFile } from './wal-file.ts';
import type { WalIndex, WalState } from './wal-index.ts';

/** How long the start waits for others to end a checkpoint that was cut off. */
const START_MS = 30_000;
/** How long a change of the database file may stay unexplained, and how far apart the looks are. */
const UNEXPLAINED_MS = 10_000;
const UNEXPLAINED_AT_REST_MS = 500;
/** How long a name may be absent. */
const ABSENT_MS = 500;
const LOOK_MS = 50;

/** What the files are opened with. */
export interface OpenFilesOptions {
  /** The name that was configured; it may be a symbolic link. */
  given: string;
  /** The file that it led to when it was opened. */
  filename: string;
  /** `null` where it can't be read: then only the names are looked up. */
  index: WalIndex | null;
  damage: Pick<DamageNotes, 'note'>;
}

/**
 * The database file and its log, as they were opened. If someone replaces them, this process goes on
 * writing to the old files, and everything it writes is lost. So each write looks the names up again
 * before it is acknowledged.
 *
 * `cp backup.db memory.db` keeps the file and overwrites its content. The modification time shows it:
 * SQLite writes to the database file only in a checkpoint. A log that was overwritten or cut shows it
 * by its frames.
 */
export class OpenFiles {
  readonly #options: OpenFilesOptions;
  readonly #log: WalFile;
  /** The devices and inodes of the database file and the log. */
  readonly #ids: { database: string; log: string };
  #state: WalState | null;
  #modified: bigint;
  /** By connection, at its last look: changes whenever another connection writes. */
  readonly #dataVersions = new WeakMap<SqliteConnection, number>();
  /** Whether other files have the names, or these have another content. */
  #lost: 'names' | 'content' | null = null;
  /** Since when a name is absent, or the log lacks frames: both may pass on a disk that was away. */
  #doubtSince: number | null = null;

  /** Records the current files. `connection` has just opened and read them. */
  static async take(options: OpenFilesOptions, connection: SqliteConnection): Promise<OpenFiles> {
    const state = options.index?.readState() ?? null;
    // After a crash it looks as if a checkpoint were under way.
    if (state !== null && isUnderWay(state)) {
      await untilUnlocked(() => makeCheckpoint(connection), START_MS);
    }
    const files = new OpenFiles(options);
    try {
      files.#dataVersions.set(connection, await readDataVersion(connection));
      return files;
    } catch (error) {
      files.close();
      throw error;
    }
  }

  private constructor(options: OpenFilesOptions) {
    const { database, log } = readFacts(options.filename);
    if (database === null || log === null) throw filesLost();
    this.#options = options;
    this.#ids = { database: database.id, log: log.id };
    this.#modified = database.modified;
    this.#state = options.index?.readState() ?? null;
    this.#log = new WalFile(options.filename);
  }

  /** Whether other files have the names now. The old ones are whole. */
  get areMoved(): boolean {
    return this.#lost === 'names';
  }

  /** Call this after the connections are closed. */
  close(): void {
    this.#log.close();
  }

  /** Throws `STORAGE_DAMAGED` once the files were found to be lost. */
  assertKept(): void {
    if (this.#lost !== null) throw filesLost();
  }

  /**
   * Checks the files before a write and after its commit. Throws `STORAGE_DAMAGED` if they were
   * replaced or overwritten; every later call throws it, too. Only the writer may call this.
   */
  async check(connection: SqliteConnection): Promise<void> {
    const end = performance.now() + UNEXPLAINED_MS;
    while (!(await this.#areExplained(connection, false))) {
      if (performance.now() > end) this.#lose('content');
      await sleep(LOOK_MS);
    }
  }

  /** Makes the same check on another connection. After an unexplained change, a later call may pass. */
  async checkAtRest(connection: SqliteConnection): Promise<void> {
    const end = performance.now() + UNEXPLAINED_AT_REST_MS;
    while (!(await this.#areExplained(connection, true))) {
      if (performance.now() > end && this.#doubtSince === null) throw filesLost();
      await sleep(LOOK_MS);
    }
  }

  /**
   * Call this before and after a connection is opened, since the names may lead to other files by now.
   * SQLite would make a file that is absent, and remove the log beside it. Throws `STORAGE_DAMAGED`.
   */
  async untilInPlace(): Promise<void> {
    while (this.#readDatabase() === null) await sleep(LOOK_MS);
  }

  /** Throws `STORAGE_DAMAGED` if the log was cut or overwritten. A checkpoint would copy that. */
  async checkLog(): Promise<void> {
    while (this.#readState() === null && this.#doubtSince !== null) await sleep(LOOK_MS);
  }

  /** Whether checkpoints alone wrote to the database file since the last call. Records what it sees. */
  async #areExplained(connection: SqliteConnection, isAtRest: boolean): Promise<boolean> {
    const first = this.#look();
    if (this.#doubtSince !== null) return false;
    if (this.#options.index === null) return true;
    const isQuiet = first !== null && first.modified === this.#modified;
    // A log that was copied completely begins anew with the next commit.
    if (isQuiet && first.state.copied < first.state.frames) {
      this.#state = first.state;
      return true;
    }
    const dataVersion = await readDataVersion(connection);
    const isWrittenElsewhere = dataVersion !== this.#dataVersions.get(connection);
    const now = this.#look();
    if (now === null) return false;
    if (now.modified !== this.#modified) {
      if (isUnderWay(now.state)) {
        // Somebody else makes a checkpoint, or was killed in one: then this one ends it.
        return (await makeCheckpoint(connection)) === 'busy';
      }
      if (!isCheckpointBetween(this.#state, now.state)) {
        // All of the log was copied before, but another process may have written and copied more since.
        if (now.state.salts === this.#state?.salts || !isWrittenElsewhere) return false;
        // Only the writer looks after each of our writes, so only it can tell those of others apart.
        if (isAtRest) return true;
      }
    }
    this.#dataVersions.set(connection, dataVersion);
    this.#modified = now.modified;
    this.#state = now.state;
    return true;
  }

  /**
   * When the database file was written to, and what checkpoints say of it; `null` if the two don't
   * belong together, because one came in between.
   */
  #look(): { modified: bigint; state: WalState } | null {
    // In this order: a checkpoint says that it has begun before it writes.
    const database = this.#readDatabase();
    if (database === null) return null;
    const { modified } = database;
    const state = this.#readState();
    if (state === null) return null;
    const isSame = isUnderWay(state) || factsOf(this.#options.filename)?.modified === modified;
    return isSame ? { modified, state } : null;
  }

  /** Returns `null` while a name is absent, and not for long enough to count as removed. */
  #readDatabase(): FileFacts | null {
    this.assertKept();
    const { given, filename, index } = this.#options;
    const { database, log } = readFacts(filename);
    const link = given === filename ? database : factsOf(given);
    const isAbsent = database === null || log === null || link === null;
    const isSame =
      database?.id === this.#ids.database &&
      log?.id === this.#ids.log &&
      link?.id === this.#ids.database &&
      index?.isInPlace() !== false;
    if (isSame) {
      // Without an index nothing else can be in doubt.
      if (index === null) this.#doubtSince = null;
      return database;
    }
    if (!isAbsent) this.#lose('names');
    this.#doubt('names', ABSENT_MS);
    return null;
  }

  /** Returns `null` while somebody changes it, and while it is in doubt. */
  #readState(): WalState | null {
    const { index } = this.#options;
    const state = index?.readState() ?? null;
    if (index === null || state === null) return state;
    if (this.#log.has(state)) {
      this.#doubtSince = null;
      return state;
    }
    // The log may have begun anew between the two.
    const again = index.readState();
    if (again?.salts === state.salts && again.frames === state.frames) {
      this.#doubt('content', this.#log.isCut(state) ? 0 : DOUBT_MS);
    }
    return null;
  }

  #doubt(lost: 'names' | 'content', limitMs: number): void {
    this.#doubtSince ??= performance.now();
    if (performance.now() - this.#doubtSince >= limitMs) this.#lose(lost);
  }

  #lose(lost: 'names' | 'content'): never {
    this.#lost = lost;
    throw this.#options.damage.note(filesLost());
  }
}

/** Whether a checkpoint copies pages now, or was cut off. */
function isUnderWay({ begun, copied }: WalState): boolean {
  return begun > copied;
}

/** Whether a part of the log was surely copied into the database file between the two checks. */
function isCheckpointBetween(before: WalState | null, now: WalState): boolean {
  if (before === null) return true;
  if (now.salts === before.salts) return now.copied > before.copied;
  // The log begins anew after all of it was copied.
  return before.copied < before.frames || now.copied > 0;
}

function readFacts(filename: string): { database: FileFacts | null; log: FileFacts | null } {
  return { database: factsOf(filename), log: factsOf(`${filename}-wal`) };
}

/** Copies what it can without waiting for anybody; `busy` if another checkpoint is under way. */
async function makeCheckpoint(connection: SqliteConnection): Promise<'made' | 'busy'> {
  const [row] = await connection.all('pragma wal_checkpoint(passive)', []);
  return toInteger(row?.['busy']) === 0 ? 'made' : 'busy';
}

async function readDataVersion(connection: SqliteConnection): Promise<number> {
  const [row] = await connection.all('pragma data_version', []);
  return toInteger(row?.['data_version']);
}

function filesLost(): MemoryError {
  return new MemoryError(
    'STORAGE_DAMAGED',
    'The database file or its log was removed, replaced or overwritten while it was open.',
    { details: { reason: 'files' } },
  );
}
