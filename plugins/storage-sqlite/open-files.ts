import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/errors.ts';
import type { Damage } from '../storage-knex/write/damage.ts';
import { toInteger } from '../storage-knex/schema/rows.ts';
import type { SqliteConnection } from './connection.ts';
import { EMPTIED, WalFile } from './wal-file.ts';
import type { WalIndex } from './wal-index.ts';

/** How long to wait for a checkpoint of another process to record its end. */
const CHECKPOINT_MS = 10_000;
const LOOK_MS = 50;

interface FileFacts {
  /** The device and inode. */
  id: string;
  modified: bigint;
}

/** How much of the log was copied into the database file. */
interface Checkpoint {
  /** Of the log. */
  generation: string;
  /** Pages in the log, and how many of them were copied. */
  logged: number;
  copied: number;
}

/** What the files are opened with. */
export interface OpenFilesOptions {
  /** The name that was configured; it may be a symbolic link. */
  given: string;
  /** The file that it led to when it was opened. */
  filename: string;
  index: WalIndex | null;
  damage: Damage;
  /** The version of SQLite. */
  version: string;
}

/**
 * The database file and its log, as they were opened. If someone replaces them, this process goes on
 * writing to the old files, and everything it writes is lost. So each commit looks the names up again
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
  /** `null` for SQLite before 3.51, which can't tell without making a checkpoint. */
  #checkpoint: Checkpoint | null = null;
  #modified: bigint;
  /** By connection, at its last look: changes whenever another connection writes. */
  readonly #dataVersions = new WeakMap<SqliteConnection, number>();
  #lost: 'names' | 'content' | null = null;
  #isInDoubt = false;

  /** Records the current files. `connection` has just opened and read them. */
  static async take(options: OpenFilesOptions, connection: SqliteConnection): Promise<OpenFiles> {
    const files = new OpenFiles(options);
    if (canCountCheckpoints(options.version)) {
      files.#checkpoint = await files.#readCheckpoint(connection);
    }
    files.#dataVersions.set(connection, await readDataVersion(connection));
    return files;
  }

  private constructor(options: OpenFilesOptions) {
    const { database, log } = readFacts(options.filename);
    if (database === null || log === null) throw filesLost();
    this.#options = options;
    this.#ids = { database: database.id, log: log.id };
    this.#modified = database.modified;
    this.#log = new WalFile(options.filename, options.index);
  }

  /** Whether a write waits for a checkpoint that could explain a change. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Whether a checkpoint would copy damage into the database file, or overwrite what was put there. */
  get isOverwritten(): boolean {
    return this.#lost === 'content';
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
   * Checks the files before a write and after its commit, or after a write that met damage: throws `STORAGE_DAMAGED` if
   * they were replaced or overwritten, and at every later call too.
   */
  async check(connection: SqliteConnection): Promise<void> {
    const end = performance.now() + CHECKPOINT_MS;
    while (!(await this.#areExplained(connection, false))) {
      // A checkpoint of another process writes the pages first, and then records how many.
      if (performance.now() > end) this.#lose('content');
      this.#isInDoubt = true;
      await sleep(LOOK_MS);
    }
    this.#isInDoubt = false;
  }

  /** Makes the same check between two writes. A failure here is not final. */
  async checkAtRest(connection: SqliteConnection): Promise<void> {
    if (!(await this.#areExplained(connection, true))) throw filesLost();
  }

  /** Whether checkpoints alone wrote to the database file since the last call. Records what it sees. */
  async #areExplained(connection: SqliteConnection, isAtRest: boolean): Promise<boolean> {
    const { modified } = this.#readDatabase();
    const log = this.#log.check();
    if (log === 'broken') this.#lose('content');
    if (log === 'changing') return false;
    const before = this.#checkpoint;
    if (before === null) return true;
    const isWritten = modified !== this.#modified;
    // A log that was copied completely restarts, so its header must be read again.
    if (!isWritten && before.copied < before.logged) return true;
    const now = await this.#readCheckpoint(connection);
    const dataVersion = await readDataVersion(connection);
    const isWrittenElsewhere = dataVersion !== this.#dataVersions.get(connection);
    // If a checkpoint ran in between, the time and the counts don't belong together: look again.
    if (this.#readDatabase().modified !== modified) return false;
    if (isWritten && !isCheckpointBetween(before, now)) {
      // All of the log was copied before, but another process may have written and copied more since.
      if (!isRestarted(before, now) || !isWrittenElsewhere) return false;
      // Only the writer looks after each of our writes, so only it can tell those of others apart.
      if (isAtRest) return true;
    }
    this.#dataVersions.set(connection, dataVersion);
    this.#checkpoint = now;
    this.#modified = modified;
    return true;
  }

  #readDatabase(): FileFacts {
    this.assertKept();
    const { given, filename, index } = this.#options;
    const { database, log } = readFacts(filename);
    const isSame =
      database?.id === this.#ids.database &&
      log?.id === this.#ids.log &&
      (given === filename || factsOf(given)?.id === this.#ids.database) &&
      index?.isInPlace() !== false;
    if (!isSame) this.#lose('names');
    return database as FileFacts;
  }

  async #readCheckpoint(connection: SqliteConnection): Promise<Checkpoint> {
    const generation = this.#log.generation();
    const [counts] = await connection.all('pragma wal_checkpoint(noop)', []);
    return {
      generation,
      logged: toInteger(counts?.['log']),
      copied: toInteger(counts?.['checkpointed']),
    };
  }

  #lose(lost: 'names' | 'content'): never {
    this.#lost = lost;
    throw this.#options.damage.note(filesLost());
  }
}

/** Whether a part of the log was surely copied into the database file between the two checks. */
function isCheckpointBetween(before: Checkpoint, now: Checkpoint): boolean {
  if (!isRestarted(before, now)) return now.copied > before.copied;
  // The log restarts after all of it was copied.
  return before.copied < before.logged || now.copied > 0;
}

/** Whether the log began anew. One that is empty both times may have been emptied in between. */
function isRestarted(before: Checkpoint, now: Checkpoint): boolean {
  return now.generation !== before.generation || now.generation === EMPTIED;
}

function readFacts(filename: string): { database: FileFacts | null; log: FileFacts | null } {
  return { database: factsOf(filename), log: factsOf(`${filename}-wal`) };
}

// Synchronous on purpose: it takes 10 µs for each commit and a thread took 115 µs, because the
// kernel has both names cached.
function factsOf(path: string): FileFacts | null {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined
      ? null
      : { id: `${found.dev} ${found.ino}`, modified: found.mtimeNs };
  } catch (error) {
    const message = 'The database file cannot be looked up.';
    throw new MemoryError('STORAGE_UNAVAILABLE', message, { cause: error });
  }
}

async function readDataVersion(connection: SqliteConnection): Promise<number> {
  const [row] = await connection.all('pragma data_version', []);
  return toInteger(row?.['data_version']);
}

/** SQLite knows `noop` since 3.51; older versions would make a checkpoint. */
function canCountCheckpoints(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 3 || (major === 3 && minor >= 51);
}

function filesLost(): MemoryError {
  return new MemoryError(
    'STORAGE_DAMAGED',
    'The database file or its log was removed, replaced or overwritten while it was open.',
    { details: { reason: 'files' } },
  );
}
