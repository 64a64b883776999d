import { closeSync, openSync, readSync } from 'node:fs';
import { factsOf } from './file-facts.ts';

/** Two equal copies of the header, each of 48 bytes. */
const HEADER_NUMBERS = 24;
/** The place of the counter that each commit raises by one. */
const COMMITS = 2;
/**
 * Other places: the number of frames, the page size in steps of two bytes, the salts in bytes, and
 * behind the header how many frames checkpoints have copied, and how many the last one set out to.
 */
const FRAMES = 4;
const PAGE_SIZE = 7;
const SALTS = { start: 32, end: 40 };
const COPIED = 24;
const BEGUN = 32;

/** The header of a database's log; it differs after every commit. */
export type WalHeader = Uint32Array;

/** What the index says about the log and its checkpoints. */
export interface WalState {
  /** The frames of the log; each is a page. 0 if the log is to begin anew. */
  frames: number;
  /** In bytes. */
  pageSize: number;
  /** As hex. They are in the header of the log and of each frame, and change as the log begins anew. */
  salts: string;
  /** The frames whose pages are in the database file. */
  copied: number;
  /** Above `copied` while a checkpoint copies pages, and after one that was cut off. */
  begun: number;
}

/** The open indexes by device and inode: all users of one in this process share its file. */
const opened = new Map<string, { file: number; users: number }>();

/**
 * The index of a database's log, `<file>-shm`. Every commit of every process changes its header, and
 * SQLite itself reads the header to learn whether the database has changed. Reading it takes 2 µs. A
 * statement that is sent to a thread takes 30 µs.
 */
export class WalIndex {
  readonly #path: string;
  readonly #id: string;
  readonly #shared: { file: number; users: number };

  /**
   * Opens the index of a database that has a connection. Returns `null` on systems where a read of a
   * file may miss what was written to its mapped memory: all but Linux and macOS.
   */
  static open(filename: string): WalIndex | null {
    if (process.platform !== 'linux' && process.platform !== 'darwin') return null;
    const path = `${filename}-shm`;
    const id = factsOf(path)?.id ?? null;
    return id === null ? null : new WalIndex(path, id);
  }

  private constructor(path: string, id: string) {
    this.#path = path;
    this.#id = id;
    this.#shared = opened.get(id) ?? { file: openSync(path, 'r'), users: 0 };
    this.#shared.users += 1;
    opened.set(id, this.#shared);
  }

  /** Returns `false` if the header can't be read. */
  readInto(header: WalHeader): boolean {
    try {
      return readSync(this.#shared.file, header, 0, header.byteLength, 0) === header.byteLength;
    } catch {
      return false;
    }
  }

  /** Returns `null` if the header is being written. Throws the error of the system if it can't be read. */
  readState(): WalState | null {
    const found = new Uint32Array(BEGUN + 1);
    const half = HEADER_NUMBERS / 2;
    const isWritten =
      readSync(this.#shared.file, found, 0, found.byteLength, 0) === found.byteLength &&
      isSameHeader(found.subarray(0, half), found.subarray(half, HEADER_NUMBERS));
    if (!isWritten) return null;
    const size = new Uint16Array(found.buffer)[PAGE_SIZE] as number;
    return {
      frames: found[FRAMES] as number,
      // The largest size, 65,536, is kept as 1.
      pageSize: (size & 0xfffe) + ((size & 1) << 16),
      salts: Buffer.from(found.buffer).toString('hex', SALTS.start, SALTS.end),
      copied: found[COPIED] as number,
      begun: found[BEGUN] as number,
    };
  }

  /** Whether the file is still the one that was opened. */
  isInPlace(): boolean {
    return factsOf(this.#path)?.id === this.#id;
  }

  /** Call this after the connections of the database are closed. */
  close(): void {
    this.#shared.users -= 1;
    // Closing the file would release all locks of this process on it. The last connection removes
    // it; as long as it exists, there may be others in this process.
    if (this.#shared.users > 0 || this.isInPlace()) return;
    opened.delete(this.#id);
    closeSync(this.#shared.file);
  }
}

export function createHeader(): WalHeader {
  return new Uint32Array(HEADER_NUMBERS);
}

/** How many commits were made between two headers. */
export function countCommits(before: WalHeader, after: WalHeader): number {
  return ((after[COMMITS] as number) - (before[COMMITS] as number)) >>> 0;
}

export function isSameHeader(left: WalHeader, right: WalHeader): boolean {
  return left.every((value, index) => value === right[index]);
}
