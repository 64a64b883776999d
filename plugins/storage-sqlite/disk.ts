import { constants } from 'node:fs';
import { type FileHandle, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** How much is read at once. */
const CHUNK_BYTES = 1024 * 1024;
/** The longest look. What it has not read by then counts as readable. */
const LOOK_LIMIT_MS = 2_000;
/** Below this the disk is full: SQLite grows its files by more. */
const LEAST_ROOM_BYTES = 128 * 1024;

/** Errors of a descriptor that leads nowhere any more. */
const STALE: ReadonlySet<string> = new Set(['ESTALE', 'ENOTCONN', 'EBADF', 'ENODEV', 'ENXIO']);

/**
 * The disk below a database, looked at without SQLite. When the system fails to read a page, SQLite
 * says that the database is corrupt. Reading the files byte by byte tells the two apart.
 */
export class Disk {
  readonly #filename: string;
  /**
   * Open until the end: closing any descriptor of the database file releases all locks that SQLite has
   * on it in this process.
   */
  readonly #databases: FileHandle[] = [];
  #looking: Promise<string | null> | null = null;
  #isClosed = false;

  constructor(filename: string) {
    this.#filename = filename;
  }

  /** Reads the database and its log. Returns why the system can't, such as `EIO`; `null` if it can. */
  look(): Promise<string | null> {
    this.#looking ??= this.#readAll().finally(() => (this.#looking = null));
    return this.#looking;
  }

  /** Whether there is no room. SQLite tells it as an error of the disk when its index has to grow. */
  async isFull(): Promise<boolean> {
    try {
      const { bavail, bsize } = await statfs(dirname(this.#filename));
      return bavail * bsize < LEAST_ROOM_BYTES;
    } catch {
      return false;
    }
  }

  /** Call this after the connections are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
    for (const file of this.#databases.splice(0)) await file.close().catch(() => undefined);
  }

  async #readAll(): Promise<string | null> {
    const end = performance.now() + LOOK_LIMIT_MS;
    return (await this.#readDatabase(end)) ?? (await this.#readLog(end));
  }

  async #readDatabase(end: number): Promise<string | null> {
    if (this.#isClosed) return null;
    let file = this.#databases.at(-1);
    if (file === undefined) {
      try {
        file = await open(this.#filename, constants.O_RDONLY);
        this.#databases.push(file);
      } catch (error) {
        return toReason(error);
      }
    }
    const reason = await readToEnd(file, this.#filename, end);
    if (reason === null || !STALE.has(reason)) return reason;
    // The next look takes another one. This one stays open like the others.
    this.#databases.push(...(await open(this.#filename).then(toList, () => [])));
    return reason;
  }

  /** SQLite has no locks on the log. */
  async #readLog(end: number): Promise<string | null> {
    const path = `${this.#filename}-wal`;
    try {
      const file = await open(path, constants.O_RDONLY);
      try {
        return await readToEnd(file, path, end);
      } finally {
        await file.close().catch(() => undefined);
      }
    } catch (error) {
      return toReason(error);
    }
  }
}

function toList(file: FileHandle): FileHandle[] {
  return [file];
}

async function readToEnd(file: FileHandle, path: string, end: number): Promise<string | null> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  try {
    for (let at = 0; performance.now() < end;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, at);
      at += bytesRead;
      // A checkpoint may have cut the log meanwhile.
      if (bytesRead === 0) return at < (await stat(path)).size ? 'short read' : null;
    }
    return null;
  } catch (error) {
    return toReason(error);
  }
}

/** `null` for a file that is absent, which the check of the open files tells. */
function toReason(error: unknown): string | null {
  const { code = 'EIO' } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? null : code;
}
