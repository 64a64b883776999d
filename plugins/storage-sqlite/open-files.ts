import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/errors.ts';
import type { Damage } from '../storage-knex/write/damage.ts';
import { toInteger } from '../storage-knex/schema/rows.ts';
import type { SqliteConnection } from './connection.ts';

/** How long to wait for a checkpoint of another process to record its end. */
const CHECKPOINT_MS = 10_000;
const LOOK_MS = 50;
/**
 * The place in the log's header of the sequence number and the salts, which change with each
 * restart of the log.
 */
const GENERATION = { start: 12, bytes: 12 };
/** Of a log that has no header, because a checkpoint cut it to nothing. */
const EMPTIED = '00'.repeat(GENERATION.bytes);

interface FileFacts {
  /** The device and inode. */
  id: string;
  modified: bigint;
}

/** How much of the log was copied into the database file. */
interface Checkpoint {
  generation: string;
  /** Pages in the log, and how many of them were copied. */
  logged: number;
  copied: number;
}

interface Opened {
  database: FileFacts;
  log: FileFacts;
  /** `null` for SQLite before 3.51, which can't tell without making a checkpoint. */
  checkpoint: Checkpoint | null;
}

/**
 * The database file and its log, as they were opened. If someone replaces them, this process goes on
 * writing to the old files, and everything it writes is lost. So each commit looks the names up again
 * before it is acknowledged.
 *
 * `cp backup.db memory.db` keeps the file and overwrites its content. The modification time shows it:
 * SQLite writes to the database file only in a checkpoint.
 */
export class OpenFiles {
  readonly #filename: string;
  readonly #damage: Damage;
  readonly #opened: Opened;
  #checkpoint: Checkpoint | null;
  #modified: bigint;
  /** By connection, at its last look: changes whenever another connection writes. */
  readonly #dataVersions = new WeakMap<SqliteConnection, number>();
  #isLost = false;

  /** Records the current files. `connection` has just opened and read them. */
  static async take(
    filename: string,
    connection: SqliteConnection,
    { damage, version }: { damage: Damage; version: string },
  ): Promise<OpenFiles> {
    const { database, log } = readFacts(filename);
    if (database === null || log === null) throw filesLost();
    const checkpoint = canCountCheckpoints(version)
      ? await readCheckpoint(filename, connection)
      : null;
    const files = new OpenFiles(filename, damage, { database, log, checkpoint });
    files.#dataVersions.set(connection, await readDataVersion(connection));
    return files;
  }

  private constructor(filename: string, damage: Damage, opened: Opened) {
    this.#filename = filename;
    this.#damage = damage;
    this.#opened = opened;
    this.#checkpoint = opened.checkpoint;
    this.#modified = opened.database.modified;
  }

  /** Throws `STORAGE_DAMAGED` once the files were found to be lost. */
  assertKept(): void {
    if (this.#isLost) throw filesLost();
  }

  /**
   * Checks the files after a commit, or after a write that met damage: throws `STORAGE_DAMAGED` if
   * they were replaced or overwritten, and at every later call too.
   */
  async check(connection: SqliteConnection): Promise<void> {
    const end = performance.now() + CHECKPOINT_MS;
    while (!(await this.#areExplained(connection, false))) {
      // A checkpoint of another process writes the pages first, and then records how many.
      if (performance.now() > end) this.#lose();
      await sleep(LOOK_MS);
    }
  }

  /** Makes the same check between two writes. A failure here is not final. */
  async checkAtRest(connection: SqliteConnection): Promise<void> {
    if (!(await this.#areExplained(connection, true))) throw filesLost();
  }

  /** Whether checkpoints alone wrote to the database file since the last call. Records what it sees. */
  async #areExplained(connection: SqliteConnection, isAtRest: boolean): Promise<boolean> {
    const { modified } = this.#readDatabase();
    const before = this.#checkpoint;
    if (before === null) return true;
    const isWritten = modified !== this.#modified;
    // A log that was copied completely restarts, so its header must be read again.
    if (!isWritten && before.copied < before.logged) return true;
    const now = await readCheckpoint(this.#filename, connection);
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
    const { database, log } = readFacts(this.#filename);
    const isSame = database?.id === this.#opened.database.id && log?.id === this.#opened.log.id;
    if (!isSame) this.#lose();
    return database as FileFacts;
  }

  #lose(): never {
    this.#isLost = true;
    throw this.#damage.note(filesLost());
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

async function readCheckpoint(filename: string, connection: SqliteConnection): Promise<Checkpoint> {
  const header = Buffer.alloc(GENERATION.bytes);
  // Only the log: SQLite holds no locks on it. Closing a second handle of the database file would
  // release SQLite's locks.
  const file = await open(`${filename}-wal`, 'r');
  try {
    await file.read(header, 0, GENERATION.bytes, GENERATION.start);
  } finally {
    await file.close();
  }
  const [counts] = await connection.all('pragma wal_checkpoint(noop)', []);
  return {
    generation: header.toString('hex'),
    logged: toInteger(counts?.['log']),
    copied: toInteger(counts?.['checkpointed']),
  };
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
