import { closeSync, openSync, readSync } from 'node:fs';
import { type WalEnd, type WalIndex, isSameEnd } from './wal-index.ts';

/** The sizes of the log's own header and of the header of each frame, in bytes. */
const HEADER_BYTES = 32;
const FRAME_BYTES = 24;
/** The places of the salts in the two headers. */
const SALTS_OF_LOG = 16;
const SALTS_OF_FRAME = 8;
/** The log's sequence number, and the salts behind it. */
const GENERATION = { start: 12, bytes: 12 };
/** The generation of a log that has no header, because a checkpoint cut it to nothing. */
export const EMPTIED = '00'.repeat(GENERATION.bytes);

/**
 * The log of a database, `<file>-wal`. SQLite never looks whether the frames that it wrote are still
 * there, and copies zeros into the database where they are not.
 */
export class WalFile {
  // SQLite holds no locks on the log, so closing this handle releases none.
  readonly #file: number;
  readonly #index: WalIndex | null;
  #last: WalEnd | null = null;

  /** Opens the log of a database that has a connection. Without an index, every log is whole. */
  constructor(filename: string, index: WalIndex | null) {
    this.#file = openSync(`${filename}-wal`, 'r');
    this.#index = index;
  }

  /** Changes whenever the log begins anew. */
  generation(): string {
    return this.#read(GENERATION.start, GENERATION.bytes);
  }

  /**
   * Whether the log has its header, its last frame, and the frame that was the last one at the call
   * before. Each restart of the log changes the salts in all of them. `changing` if somebody wrote to
   * it meanwhile: ask again.
   */
  check(): 'whole' | 'broken' | 'changing' {
    if (this.#index === null) return 'whole';
    const end = this.#index.readEnd();
    if (end === null) return 'changing';
    if (this.#hasAll(end)) {
      this.#last = end;
      return 'whole';
    }
    const again = this.#index.readEnd();
    return again !== null && isSameEnd(end, again) ? 'broken' : 'changing';
  }

  close(): void {
    closeSync(this.#file);
  }

  #hasAll(end: WalEnd): boolean {
    // The header is written with the first frame.
    if (end.frames === 0) return true;
    const ends = this.#last?.salts === end.salts ? [this.#last, end] : [end];
    return this.#read(SALTS_OF_LOG, 8) === end.salts && ends.every((one) => this.#hasLast(one));
  }

  #hasLast({ frames, pageSize, salts }: WalEnd): boolean {
    if (frames === 0) return true;
    const start = HEADER_BYTES + (frames - 1) * (FRAME_BYTES + pageSize);
    return this.#read(start + SALTS_OF_FRAME, 8) === salts;
  }

  /** As hex; zeros behind the end of the file. */
  #read(start: number, bytes: number): string {
    const found = Buffer.alloc(bytes);
    readSync(this.#file, found, 0, bytes, start);
    return found.toString('hex');
  }
}
