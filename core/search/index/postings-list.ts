import { Arena } from '../rank/arena.ts';
import { inParts, type Pause } from '../../time/pause.ts';
import { VarintReader } from '../../encoding/varints.ts';
import { MAX_FREQUENCY } from './index-file.ts';

/**
 * Decoded postings of a term in one or more files: arrays with one element per posting instead of
 * objects.
 */
export class PostingsList {
  /**
   * The passages with the term in their own text: how many, and the slot, file and frequency of
   * each.
   */
  count = 0;
  readonly slots: Int32Array;
  readonly files: Int32Array;
  readonly frequencies: Uint16Array;
  /** Where each entry's positions are: their count, a byte each, in the blob of that number. */
  readonly positionCounts: Uint8Array;
  readonly positionsAt: Int32Array;
  readonly blobOf: Int32Array;
  readonly blobs: Uint8Array[] = [];
  /** Runs of passages with the term in their path or headings: first slots, files and lengths. */
  runCount = 0;
  readonly runSlots: Int32Array;
  readonly runFiles: Int32Array;
  readonly runLengths: Int32Array;

  /** `bytes`: the total size of all payloads that will be added; every entry takes at least two. */
  constructor(bytes: number, arena: Arena = new Arena()) {
    const capacity = Math.ceil(bytes / 2);
    this.slots = arena.take(Int32Array, capacity);
    this.files = arena.take(Int32Array, capacity);
    this.frequencies = arena.take(Uint16Array, capacity);
    this.positionCounts = arena.take(Uint8Array, capacity);
    this.positionsAt = arena.take(Int32Array, capacity);
    this.blobOf = arena.take(Int32Array, capacity);
    this.runSlots = arena.take(Int32Array, capacity);
    this.runFiles = arena.take(Int32Array, capacity);
    this.runLengths = arena.take(Int32Array, capacity);
  }

  /**
   * Adds the payload of a file whose passages have the slots from `first` up to, but not including,
   * `after`. Returns `false` if the payload is damaged or names other passages.
   */
  add(
    blob: Uint8Array,
    start: number,
    end: number,
    { file, first, after }: { file: number; first: number; after: number },
  ): boolean {
    const reader = new VarintReader(blob, start, end);
    const head = reader.read();
    const runs = head % 2 === 1 ? reader.read() : 0;
    let slot = first;
    for (let index = 0; index < runs; index++) {
      slot += reader.read();
      const length = reader.read();
      if (length === 0 || slot + length > after) return false;
      this.runSlots[this.runCount] = slot;
      this.runFiles[this.runCount] = file;
      this.runLengths[this.runCount++] = length;
      slot += length;
    }
    const number = this.#numberOf(blob);
    slot = first;
    for (let rest = head >>> 1; rest > 0; rest--) {
      const gap = reader.read();
      slot += gap >>> 1;
      const frequency = gap % 2 === 1 ? reader.read() : 1;
      const isValid = frequency > 0 && frequency <= MAX_FREQUENCY && frequency <= end - reader.at;
      if (slot >= after || !isValid) return false;
      this.slots[this.count] = slot++;
      this.files[this.count] = file;
      this.frequencies[this.count] = frequency;
      this.positionCounts[this.count] = frequency;
      this.positionsAt[this.count] = reader.at;
      this.blobOf[this.count++] = number;
      reader.at += frequency;
    }
    return !reader.isDamaged && reader.at === end;
  }

  /** An entry's positions, ascending. */
  positions(entry: number): Uint8Array {
    const at = this.positionsAt[entry] ?? 0;
    return this.blobOfEntry(entry).subarray(at, at + (this.positionCounts[entry] ?? 0));
  }

  /** The blob with an entry's positions. */
  blobOfEntry(entry: number): Uint8Array {
    return this.blobs[this.blobOf[entry] ?? 0] ?? NO_BYTES;
  }

  /** Adds another list's entry; returns its number here. */
  addCopy(list: PostingsList, entry: number): number {
    const blob = list.blobs[list.blobOf[entry] ?? 0] ?? NO_BYTES;
    this.slots[this.count] = list.slots[entry] ?? 0;
    this.files[this.count] = list.files[entry] ?? 0;
    this.frequencies[this.count] = list.frequencies[entry] ?? 0;
    this.positionCounts[this.count] = list.positionCounts[entry] ?? 0;
    this.positionsAt[this.count] = list.positionsAt[entry] ?? 0;
    this.blobOf[this.count] = this.#numberOf(blob);
    return this.count++;
  }

  /** Adds the part of another list's run that is not in `known`, and adds that part to `known`. */
  addRun(list: PostingsList, run: number, known: Set<number>): void {
    const first = list.runSlots[run] ?? 0;
    const after = first + (list.runLengths[run] ?? 0);
    let isOpen = false;
    for (let slot = first; slot < after; slot++) {
      const isNew = !known.has(slot);
      known.add(slot);
      if (isNew && isOpen) {
        this.runLengths[this.runCount - 1] = (this.runLengths[this.runCount - 1] ?? 0) + 1;
      } else if (isNew) {
        this.runSlots[this.runCount] = slot;
        this.runFiles[this.runCount] = list.runFiles[run] ?? 0;
        this.runLengths[this.runCount++] = 1;
      }
      isOpen = isNew;
    }
  }

  #numberOf(blob: Uint8Array): number {
    return this.blobs.at(-1) === blob ? this.blobs.length - 1 : this.blobs.push(blob) - 1;
  }
}

const NO_BYTES = new Uint8Array();

/**
 * Merges the lists of several terms into one. A passage with more than one of the terms has the sum
 * of their frequencies and the positions of the first; a passage in several runs stays in one. Pauses
 * now and then.
 */
export async function joinLists(
  lists: readonly PostingsList[],
  { arena, pause }: { arena: Arena; pause: Pause },
): Promise<PostingsList> {
  let capacity = 0;
  for (const { count, runCount, runLengths } of lists) {
    capacity += count;
    for (let run = 0; run < runCount; run++) capacity += runLengths[run] ?? 0;
  }
  const joined = new PostingsList(capacity * 2, arena);
  const entries = new Map<number, number>();
  const inRuns = new Set<number>();
  for (const list of lists) {
    await inParts(list.count, pause, (from, to) => {
      for (let entry = from; entry < to; entry++) {
        const slot = list.slots[entry] ?? 0;
        const known = entries.get(slot);
        if (known === undefined) entries.set(slot, joined.addCopy(list, entry));
        else
          joined.frequencies[known] =
            (joined.frequencies[known] ?? 0) + (list.frequencies[entry] ?? 0);
      }
    });
    await inParts(list.runCount, pause, (from, to) => {
      for (let run = from; run < to; run++) joined.addRun(list, run, inRuns);
    });
  }
  return joined;
}
