import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/errors.ts';
import type { Damage } from '../storage-knex/write/damage.ts';
import { toInteger } from '../storage-knex/schema/rows.ts';
import type { SqliteConnection } from './connection.ts';

/** How long a checkpoint of another process may take until it says that it is done. */
const CHECKPOINT_MS = 10_000;
const LOOK_MS = 50;
/** In the header of the log: the sequence number and the salts, which differ each time it restarts. */
const GENERATION = { start: 12, bytes: 12 };

interface FileFacts {
  /** Device and inode. */
  id: string;
  modified: bigint;
}

/** How far the log was copied into the database file. */
interface Checkpoint {
  generation: string;
  /** Pages in the log, and those of them that were copied. */
  logged: number;
  copied: number;
  /** Another one after another connection has written. */
  dataVersion: number;
}

interface Opened {
  database: FileFacts;
  log: FileFacts;
  /** `null` for a SQLite before 3.51, which cannot tell it without making a checkpoint. */
  checkpoint: Checkpoint | null;
}

/**
 * The database file and its log, as they were opened. A process that has files open goes on with them
 * when others take their names, and all that it writes is lost. So their names are looked up again
 * after each commit, before it is acknowledged.
 *
 * `cp backup.db memory.db` keeps the file and overwrites what is in it. That shows in the time of its
 * last change: SQLite writes to the database file in a checkpoint only.
 */
export class OpenFiles {
  readonly #filename: string;
  readonly #damage: Damage;
  readonly #opened: Opened;
  #checkpoint: Checkpoint | null;
  #modified: bigint;
  #isLost = false;

  /** Takes the files as they are now: `connection` has just opened and read them. */
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
    return new OpenFiles(filename, damage, { database, log, checkpoint });
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
   * For the connection that writes, after its commit: throws `STORAGE_DAMAGED` when the files are
   * other ones or were overwritten, and from then on for good.
   */
  async check(connection: SqliteConnection): Promise<void> {
    const end = performance.now() + CHECKPOINT_MS;
    for (;;) {
      const { modified } = this.#readDatabase();
      const before = this.#checkpoint;
      if (before === null) return;
      const isWritten = modified !== this.#modified;
      // Once the whole log is copied it restarts, and that has to be seen.
      if (!isWritten && before.copied < before.logged) return;
      const now = await readCheckpoint(this.#filename, connection);
      if (!isWritten || isCheckpointBetween(before, now)) {
        this.#checkpoint = now;
        this.#modified = modified;
        return;
      }
      // A checkpoint of another process writes the pages first, then how many they are.
      if (performance.now() > end) this.#lose();
      await sleep(LOOK_MS);
    }
  }

  /** The same between two writes, on any connection; that the file was overwritten is not final here. */
  async checkAtRest(connection: SqliteConnection): Promise<void> {
    const { modified } = this.#readDatabase();
    const before = this.#checkpoint;
    if (before === null || modified === this.#modified) return;
    const now = await readCheckpoint(this.#filename, connection);
    if (!isCheckpointBetween(before, now)) throw filesLost();
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

/** Whether the log was copied into the database file from one look to the next. */
function isCheckpointBetween(before: Checkpoint, now: Checkpoint): boolean {
  if (now.generation === before.generation) return now.copied > before.copied;
  // The log restarts once all of it is copied.
  if (before.copied < before.logged || now.copied > 0) return true;
  // All of it was copied before, but another process may have written and copied more.
  return now.dataVersion !== before.dataVersion;
}

function readFacts(filename: string): { database: FileFacts | null; log: FileFacts | null } {
  return { database: factsOf(filename), log: factsOf(`${filename}-wal`) };
}

// Both names are in the kernel's memory: a thread's help took 115 µs of each commit, this takes 10.
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
  // SQLite holds no locks on the log. On the database file, closing a second handle would free them.
  const file = await open(`${filename}-wal`, 'r');
  try {
    await file.read(header, 0, GENERATION.bytes, GENERATION.start);
  } finally {
    await file.close();
  }
  const [counts] = await connection.all('pragma wal_checkpoint(noop)', []);
  const [data] = await connection.all('pragma data_version', []);
  return {
    generation: header.toString('hex'),
    logged: toInteger(counts?.['log']),
    copied: toInteger(counts?.['checkpointed']),
    dataVersion: toInteger(data?.['data_version']),
  };
}

/** `noop` came with SQLite 3.51: an older one would make a checkpoint. */
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
