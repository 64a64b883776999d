import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { WalState } from './wal-index.ts';

/** The sizes of the log's own header and of the header of each frame, in bytes. */
const HEADER_BYTES = 32;
const FRAME_BYTES = 24;
/** The places of the salts in the two headers. */
const SALTS_OF_LOG = 16;
const SALTS_OF_FRAME = 8;

/**
 * The log of a database, `<file>-wal`. SQLite does not check that the frames it wrote are still there.
 * Where they are gone, a checkpoint copies zeros into the database. This checks the start and the end
 * of the log, because cutting or replacing it changes them.
 */
export class WalFile {
  readonly #path: string;
  // SQLite holds no locks on the log, so closing this handle releases none.
  /** `null` until it is opened again after an error, as of a disk on the network that was away. */
  #file: number | null;
  #last: WalState | null = null;

  /** Opens the log of a database that has a connection. */
  constructor(filename: string) {
    this.#path = `${filename}-wal`;
    this.#file = openSync(this.#path, 'r');
  }

  /**
   * Whether the log has its header, its last frame, and the frame that was the last one at the call
   * before. Throws the error of the system if it can't be read.
   */
  has(state: WalState): boolean {
    // The header is written with the first frame.
    const ends = this.#last?.salts === state.salts ? [this.#last, state] : [state];
    const hasAll =
      state.frames === 0 ||
      (this.#readSalts(SALTS_OF_LOG) === state.salts && ends.every((end) => this.#hasFrame(end)));
    if (hasAll) this.#last = state;
    return hasAll;
  }

  /** Whether the log was cut, by its size: a read may fail, or give zeros, for a moment. */
  isCut({ frames, pageSize }: WalState): boolean {
    if (this.#file === null) return false;
    return fstatSync(this.#file).size < HEADER_BYTES + frames * (FRAME_BYTES + pageSize);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #hasFrame({ frames, pageSize, salts }: WalState): boolean {
    if (frames === 0) return true;
    const start = HEADER_BYTES + (frames - 1) * (FRAME_BYTES + pageSize);
    return this.#readSalts(start + SALTS_OF_FRAME) === salts;
  }

  /** As hex; zeros behind the end of the file. */
  #readSalts(start: number): string {
    const found = Buffer.alloc(8);
    try {
      readSync((this.#file ??= openSync(this.#path, 'r')), found, 0, found.length, start);
    } catch (error) {
      this.close();
      throw error;
    }
    return found.toString('hex');
  }
}
