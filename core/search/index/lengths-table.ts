import { ByteWriter } from '../../encoding/byte-writer.ts';
import { VarintReader } from '../../encoding/varints.ts';

/** The lengths of the passages of many files, file after file. */
export class LengthsTable {
  /** The number of passages and files, and the total length of the passages. */
  slotCount = 0;
  fileCount = 0;
  totalLength = 0;
  /** By slot. */
  readonly lengths: Int32Array;
  /**
   * By file: its first slot (with one more entry at the end), the length of its own text and of its
   * context.
   */
  readonly firstSlots: Int32Array;
  readonly fileLengths: Int32Array;
  readonly contextLengths: Int32Array;

  /** Reserves space for this many files and passages. */
  constructor(files: number, slots: number) {
    this.lengths = new Int32Array(slots);
    this.firstSlots = new Int32Array(files + 1);
    this.fileLengths = new Int32Array(files);
    this.contextLengths = new Int32Array(files);
  }

  /** Adds the payload of a file's lengths. Returns `false` if it is damaged. */
  add(blob: Uint8Array, start: number, end: number): boolean {
    const reader = new VarintReader(blob, start, end);
    const file = this.fileCount++;
    this.contextLengths[file] = reader.read();
    let sum = 0;
    while (reader.at < end) {
      const length = reader.read();
      this.lengths[this.slotCount++] = length;
      sum += length;
    }
    this.fileLengths[file] = sum;
    this.firstSlots[file + 1] = this.slotCount;
    this.totalLength += sum;
    return !reader.isDamaged;
  }

  /** Adds a file without passages. */
  addEmpty(): void {
    this.firstSlots[++this.fileCount] = this.slotCount;
  }

  /** Adds the files of another table from `from` up to, but not including, `to`. */
  addFiles(table: LengthsTable, from: number, to: number): void {
    const first = table.firstSlots[from] ?? 0;
    const after = table.firstSlots[to] ?? 0;
    const moved = this.slotCount - first;
    this.lengths.set(table.lengths.subarray(first, after), this.slotCount);
    this.fileLengths.set(table.fileLengths.subarray(from, to), this.fileCount);
    this.contextLengths.set(table.contextLengths.subarray(from, to), this.fileCount);
    for (let file = from; file < to; file++) {
      this.firstSlots[++this.fileCount] = (table.firstSlots[file + 1] ?? 0) + moved;
      this.totalLength += table.fileLengths[file] ?? 0;
    }
    this.slotCount += after - first;
  }

  /** The payload of a file's lengths, as it was added. */
  encode(file: number): Uint8Array {
    const writer = new ByteWriter(16);
    writer.varint(this.contextLengths[file] ?? 0);
    const after = this.firstSlots[file + 1] ?? 0;
    for (let slot = this.firstSlots[file] ?? 0; slot < after; slot++) {
      writer.varint(this.lengths[slot] ?? 0);
    }
    return writer.finish();
  }

  /** The same table without the space that was reserved for more. */
  trim(): LengthsTable {
    const trimmed = new LengthsTable(this.fileCount, this.slotCount);
    trimmed.addFiles(this, 0, this.fileCount);
    return trimmed;
  }

  /** The memory of its arrays, in bytes. */
  get bytes(): number {
    return 4 * this.lengths.length + 12 * this.fileLengths.length;
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
