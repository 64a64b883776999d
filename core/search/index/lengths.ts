import { damaged } from './index-damage.ts';
import { readFrames } from './postings.ts';
import { VarintReader } from './varints.ts';

/** The lengths of the passages of many files, one file after the other. */
export class LengthsTable {
  /** How many passages and files there are, and how long the passages are together. */
  slotCount = 0;
  fileCount = 0;
  totalLength = 0;
  /** By slot. */
  readonly lengths: Int32Array;
  /** By file: its first slot (and one more at the end), its own text's length, its context's. */
  readonly firstSlots: Int32Array;
  readonly fileLengths: Int32Array;
  readonly contextLengths: Int32Array;

  /** For at most so many files and passages. */
  constructor(files: number, slots: number) {
    this.lengths = new Int32Array(slots);
    this.firstSlots = new Int32Array(files + 1);
    this.fileLengths = new Int32Array(files);
    this.contextLengths = new Int32Array(files);
  }

  /**
   * Adds a payload; the file's number here.
   *
   * @throws MemoryError as `readFrames` does.
   */
  add(blob: Uint8Array, start: number, end: number): number {
    const reader = new VarintReader(blob, start, end);
    const file = this.fileCount++;
    this.contextLengths[file] = reader.read();
    let sum = 0;
    while (reader.at < end) {
      const length = reader.readSmall();
      this.lengths[this.slotCount++] = length;
      sum += length;
    }
    this.fileLengths[file] = sum;
    this.firstSlots[file + 1] = this.slotCount;
    this.totalLength += sum;
    return file;
  }

  /** Adds a file of another table; its number here. */
  addFile(table: LengthsTable, file: number): number {
    const first = table.firstSlots[file] ?? 0;
    const after = table.firstSlots[file + 1] ?? 0;
    const number = this.fileCount++;
    this.lengths.set(table.lengths.subarray(first, after), this.slotCount);
    this.slotCount += after - first;
    this.firstSlots[number + 1] = this.slotCount;
    this.fileLengths[number] = table.fileLengths[file] ?? 0;
    this.contextLengths[number] = table.contextLengths[file] ?? 0;
    this.totalLength += table.fileLengths[file] ?? 0;
    return number;
  }

  /** The file that a slot is of. */
  fileOf(slot: number): number {
    let low = 0;
    let high = this.fileCount - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.firstSlots[middle] ?? 0) <= slot) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/**
 * What the rows of `LENGTHS_TERM` say of one scope. It can be kept for as long as the scope's index
 * stays the same: reading it again is a good part of what a question costs.
 */
export class ScopeLengths {
  readonly table: LengthsTable;
  /** By number in the table: the file's own. */
  readonly files: readonly number[];
  /** By the file's own number: that in the table, counted from 1; 0 for none. */
  readonly #numbers: Int32Array;

  /** @throws MemoryError as `readFrames` does, also when a file stands in two rows. */
  constructor(rows: Iterable<{ bucket: number; blob: Uint8Array }>) {
    const frames = [...rows].flatMap(({ blob, bucket }) =>
      readFrames(blob, bucket).map((frame) => ({ ...frame, blob })),
    );
    let bytes = 0;
    let last = -1;
    for (const { file, start, end } of frames) {
      bytes += end - start;
      last = Math.max(last, file);
    }
    this.table = new LengthsTable(frames.length, bytes);
    this.#numbers = new Int32Array(last + 1);
    for (const { file, blob, start, end } of frames) {
      if (this.numberOf(file) >= 0) throw damaged();
      this.#numbers[file] = this.table.add(blob, start, end) + 1;
    }
    this.files = frames.map(({ file }) => file);
  }

  /** The number of a file in the table; -1 for none. */
  numberOf(file: number): number {
    return (this.#numbers[file] ?? 0) - 1;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    return 4 * this.table.lengths.length + 24 * this.files.length + 4 * this.#numbers.length + 200;
  }
}
