import { MemoryError } from '../errors.ts';
import { Arena } from './arena.ts';
import { isStopTerm, stopNumberOf } from './english.ts';
import {
  MAX_FREQUENCY,
  type ContextRun,
  type FilePostings,
  type IndexedFile,
  type PassageEntry,
} from './index-file.ts';

/**
 * The packed postings of `svc_posting`: one blob for a scope, a term and 64 files.
 *
 * A blob is a row of frames by ascending file: the file's number in the bucket, the payload's
 * length, the payload; all numbers are varints. So one file is replaced without reading the others.
 */

/** Files of one bucket; `bucketOf` and the place in the bucket come from it. */
export const FILES_PER_BUCKET = 64;

/**
 * The term under which the lengths of a bucket's passages are kept. No text has it.
 */
export const LENGTHS_TERM = '';

/**
 * The term under which the postings of all stop words of a file are kept together: few questions
 * ask for them, and a row for each would be a third of all that a write of the index touches.
 */
const STOPS_TERM = '=';

/** The term under whose rows the postings of a term are. */
export function rowTermOf(term: string): string {
  return isStopTerm(term) ? STOPS_TERM : term;
}

/** The bucket of a file number. */
export function bucketOf(file: number): number {
  return Math.floor(file / FILES_PER_BUCKET);
}

/** One file's part of a blob: its payload is `blob.subarray(start, end)`. */
export interface Frame {
  file: number;
  start: number;
  end: number;
}

/**
 * The frames of a blob, by ascending file.
 *
 * @throws MemoryError `INTERNAL` (`details.reason: 'index_damaged'`) when it is none of ours.
 */
export function readFrames(blob: Uint8Array, bucket: number): Frame[] {
  const frames: Frame[] = [];
  const reader = new VarintReader(blob, 0, blob.length);
  let last = -1;
  while (reader.at < blob.length) {
    const place = reader.read();
    const length = reader.read();
    const start = reader.at;
    if (place <= last || place >= FILES_PER_BUCKET || length > blob.length - start) throw damaged();
    frames.push({ file: bucket * FILES_PER_BUCKET + place, start, end: start + length });
    reader.at = start + length;
    last = place;
  }
  return frames;
}

/**
 * The blob with one file's payload set, or taken out with `null`; `null` when nothing remains, so
 * that the row is deleted. The blob that was given stays as it is.
 *
 * `isKnown` says whether the file must have a payload already; without it either is right.
 *
 * @throws MemoryError as `readFrames` does, also when the file is not there as it must be.
 */
export function replaceFile(
  blob: Uint8Array | null,
  file: number,
  payload: Uint8Array | null,
  isKnown?: boolean,
): Uint8Array | null {
  const frames = blob === null ? [] : readFrames(blob, bucketOf(file));
  const parts = new ByteWriter((blob?.length ?? 0) + (payload?.length ?? 0) + 8);
  let isPlaced = payload === null;
  if (isKnown !== undefined && frames.some((frame) => frame.file === file) !== isKnown) {
    throw damaged();
  }
  for (const frame of frames) {
    if (!isPlaced && frame.file >= file && payload !== null) {
      writeFrame(parts, file, payload);
      isPlaced = true;
    }
    if (frame.file !== file && blob !== null) {
      writeFrame(parts, frame.file, blob.subarray(frame.start, frame.end));
    }
  }
  if (!isPlaced && payload !== null) writeFrame(parts, file, payload);
  return parts.length === 0 ? null : parts.finish();
}

/** A file's part of the index: by term, what the rows hold of it. */
export type FilePayloads = ReadonlyMap<string, Uint8Array>;

/**
 * What the rows hold of a file, by their term: the lengths of its passages first, its stop words
 * last; all in one buffer.
 */
export function encodeFile(file: IndexedFile): Map<string, Uint8Array> {
  const writer = new ByteWriter(16 * file.terms.size + file.passages.length);
  const ends: [term: string, end: number][] = [];
  writeLengths(writer, file);
  ends.push([LENGTHS_TERM, writer.length]);
  const stops: [term: string, postings: FilePostings][] = [];
  for (const [term, postings] of file.terms) {
    if (isStopTerm(term)) {
      stops.push([term, postings]);
      continue;
    }
    writePostings(writer, postings);
    ends.push([term, writer.length]);
  }
  for (const [term, postings] of stops) writeStop(writer, term, postings);
  if (stops.length > 0) ends.push([STOPS_TERM, writer.length]);
  const bytes = writer.finish();
  let start = 0;
  return new Map(
    ends.map(([term, end]) => {
      const payload = bytes.subarray(start, end);
      start = end;
      return [term, payload];
    }),
  );
}

/** About how much memory the payloads of a file take: mostly what each needs beside its bytes. */
export function weighPayloads(payloads: FilePayloads): number {
  let bytes = 0;
  for (const [term, payload] of payloads) bytes += payload.length + 2 * term.length;
  return bytes + PAYLOAD_OVERHEAD * payloads.size;
}

/** Of a term and of a view of a buffer in V8 (measured: 170 to 190). */
const PAYLOAD_OVERHEAD = 180;

/** One term's postings in one file, as {@link encodeFile} has them. */
export function encodePostings(postings: FilePostings): Uint8Array {
  const writer = new ByteWriter(postings.entries.length * 3 + postings.contexts.length * 2 + 3);
  writePostings(writer, postings);
  return writer.finish();
}

/** One stop word's part of a payload of `STOPS_TERM`: its number, the length, its postings. */
function writeStop(writer: ByteWriter, term: string, postings: FilePostings): void {
  const payload = encodePostings(postings);
  writer.varint(stopNumberOf(term));
  writer.varint(payload.length);
  writer.bytes(payload);
}

/**
 * Where a stop word's postings are in a payload of `STOPS_TERM`; `null` when the file does not have
 * it.
 *
 * @throws MemoryError as `readFrames` does.
 */
export function findStop(
  blob: Uint8Array,
  start: number,
  end: number,
  term: string,
): { start: number; end: number } | null {
  const wanted = stopNumberOf(term);
  const reader = new VarintReader(blob, start, end);
  while (reader.at < end) {
    const number = reader.read();
    const length = reader.read();
    if (length > end - reader.at) throw damaged();
    if (number === wanted) return { start: reader.at, end: reader.at + length };
    reader.at += length;
  }
  return null;
}

/** A file's lengths: that of its path and headings, then its passages' in order. */
function writeLengths(writer: ByteWriter, { contextLength, passages }: IndexedFile): void {
  writer.varint(contextLength);
  for (const { length } of passages) writer.varint(length);
}

/**
 * One term's postings in one file: how many entries (doubled, plus 1 when there are contexts); the
 * contexts' count and their gaps and counts; each entry's gap (doubled, plus 1 for a frequency
 * above 1), its frequency if above 1, and a byte for each position. Most entries take two bytes.
 */
function writePostings(writer: ByteWriter, { contexts, entries }: FilePostings): void {
  writer.varint(entries.length * 2 + (contexts.length > 0 ? 1 : 0));
  if (contexts.length > 0) writer.varint(contexts.length);
  let next = 0;
  for (const { passage, count } of contexts) {
    writer.varint(passage - next);
    writer.varint(count);
    next = passage + count;
  }
  next = 0;
  for (const { passage, positions } of entries) {
    const frequency = positions.length;
    writer.varint((passage - next) * 2 + (frequency > 1 ? 1 : 0));
    if (frequency > 1) writer.varint(frequency);
    for (const position of positions) writer.byte(position);
    next = passage + 1;
  }
}

/**
 * How many entries and runs a payload of {@link encodePostings} has.
 *
 * @throws MemoryError as `readFrames` does.
 */
export function countPlaces(blob: Uint8Array, start: number, end: number): number {
  const reader = new VarintReader(blob, start, end);
  const head = reader.read();
  return (head >>> 1) + (head % 2 === 1 ? reader.read() : 0);
}

/** Passages that have a term, of one file or of many: a row in each array, no objects. */
export class PostingsList {
  /** Passages that have it in their own text: how many; each entry's slot, file and frequency. */
  count = 0;
  readonly slots: Int32Array;
  readonly files: Int32Array;
  readonly frequencies: Uint16Array;
  /** Where each entry's positions are: their number, a byte each, in the blob of that number. */
  readonly positionCounts: Uint8Array;
  readonly positionsAt: Int32Array;
  readonly blobOf: Int32Array;
  readonly blobs: Uint8Array[] = [];
  /** Runs of passages that have it in their path or headings: first slots, files and lengths. */
  runCount = 0;
  readonly runSlots: Int32Array;
  readonly runFiles: Int32Array;
  readonly runLengths: Int32Array;

  /** `bytes`: those of all payloads to be added together; no entry takes less than two. */
  constructor(bytes: number, arena: Arena = new Arena()) {
    const capacity = Math.ceil(bytes / 2);
    this.slots = arena.int32(capacity);
    this.files = arena.int32(capacity);
    this.frequencies = arena.uint16(capacity);
    this.positionCounts = arena.uint8(capacity);
    this.positionsAt = arena.int32(capacity);
    this.blobOf = arena.int32(capacity);
    this.runSlots = arena.int32(capacity);
    this.runFiles = arena.int32(capacity);
    this.runLengths = arena.int32(capacity);
  }

  /**
   * Adds the payload of the file of that number, whose passages have the slots from `first` up to,
   * not including, `after`.
   *
   * @throws MemoryError as `readFrames` does, also when the payload tells of other passages.
   */
  add(
    blob: Uint8Array,
    start: number,
    end: number,
    { file, first, after }: { file: number; first: number; after: number },
  ): void {
    const reader = new VarintReader(blob, start, end);
    const head = reader.read();
    const runs = head % 2 === 1 ? reader.read() : 0;
    let slot = first;
    for (let index = 0; index < runs; index++) {
      slot += reader.read();
      const length = reader.read();
      if (length === 0 || slot + length > after) throw damaged();
      this.runSlots[this.runCount] = slot;
      this.runFiles[this.runCount] = file;
      this.runLengths[this.runCount++] = length;
      slot += length;
    }
    const number = this.#numberOf(blob);
    slot = first;
    for (let rest = head >>> 1; rest > 0; rest--) {
      const gap = reader.readSmall();
      slot += gap >>> 1;
      const frequency = gap % 2 === 1 ? reader.read() : 1;
      const isValid = frequency > 0 && frequency <= MAX_FREQUENCY && frequency <= end - reader.at;
      if (slot >= after || !isValid) throw damaged();
      this.slots[this.count] = slot++;
      this.files[this.count] = file;
      this.frequencies[this.count] = frequency;
      this.positionCounts[this.count] = frequency;
      this.positionsAt[this.count] = reader.at;
      this.blobOf[this.count++] = number;
      reader.at += frequency;
    }
    if (reader.at !== end) throw damaged();
  }

  /** An entry's positions, ascending. */
  positions(entry: number): Uint8Array {
    const at = this.positionsAt[entry] ?? 0;
    return this.blobOfEntry(entry).subarray(at, at + (this.positionCounts[entry] ?? 0));
  }

  /** What holds an entry's positions. */
  blobOfEntry(entry: number): Uint8Array {
    return this.blobs[this.blobOf[entry] ?? 0] ?? NO_BYTES;
  }

  /** Adds another list's entry; its number here. */
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

  /** Adds what another list's run has beside the slots of `known`, and puts it there. */
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
 * Several terms' lists as one: of a passage that has more than one of the terms, the frequencies
 * are added up, the positions are those of the first; a passage in several runs stays in one.
 */
export function joinLists(lists: readonly PostingsList[], arena?: Arena): PostingsList {
  let capacity = 0;
  for (const { count, runCount, runLengths } of lists) {
    capacity += count;
    for (let run = 0; run < runCount; run++) capacity += runLengths[run] ?? 0;
  }
  const joined = new PostingsList(capacity * 2, arena);
  const entries = new Map<number, number>();
  const inRuns = new Set<number>();
  for (const list of lists) {
    for (let entry = 0; entry < list.count; entry++) {
      const slot = list.slots[entry] ?? 0;
      const known = entries.get(slot);
      if (known === undefined) entries.set(slot, joined.addCopy(list, entry));
      else
        joined.frequencies[known] =
          (joined.frequencies[known] ?? 0) + (list.frequencies[entry] ?? 0);
    }
    for (let run = 0; run < list.runCount; run++) joined.addRun(list, run, inRuns);
  }
  return joined;
}

/** @throws MemoryError as `readFrames` does. */
export function decodePostings(blob: Uint8Array, start: number, end: number): FilePostings {
  const list = new PostingsList(end - start);
  list.add(blob, start, end, { file: 0, first: 0, after: MAX_PASSAGES });
  const contexts: ContextRun[] = [];
  for (let run = 0; run < list.runCount; run++) {
    contexts.push({ passage: list.runSlots[run] ?? 0, count: list.runLengths[run] ?? 0 });
  }
  const entries: PassageEntry[] = [];
  for (let entry = 0; entry < list.count; entry++) {
    entries.push({ passage: list.slots[entry] ?? 0, positions: [...list.positions(entry)] });
  }
  return { contexts, entries };
}

/** More than any file has, and a limit for numbers that four bytes hold twice. */
const MAX_PASSAGES = 2 ** 26;

/**
 * What the decoders throw: the caller makes the scope's index anew. `scope` is its number among
 * those that were opened together, where that is known.
 */
export function damaged(scope: number | null = null): MemoryError {
  return new MemoryError('INTERNAL', 'The search index is damaged.', {
    details: { reason: 'index_damaged', ...(scope === null ? {} : { scope }) },
  });
}

function writeFrame(writer: ByteWriter, file: number, payload: Uint8Array): void {
  writer.varint(file % FILES_PER_BUCKET);
  writer.varint(payload.length);
  writer.bytes(payload);
}

/** Reads varints of a part of a blob. */
export class VarintReader {
  at: number;
  readonly #blob: Uint8Array;
  readonly #end: number;

  constructor(blob: Uint8Array, start: number, end: number) {
    this.#blob = blob;
    this.at = start;
    this.#end = end;
  }

  /** The same as `read`, quicker for numbers of one byte, which nearly all are. */
  readSmall(): number {
    const byte = this.at < this.#end ? (this.#blob[this.at] ?? 0) : 0x80;
    if (byte >= 0x80) return this.read();
    this.at++;
    return byte;
  }

  /** At most four bytes: 2^28 is above every number that we keep. */
  read(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.at >= this.#end) throw damaged();
      const byte = this.#blob[this.at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }
}

/** Whether an error is the one that `damaged` makes. */
export function isIndexDamage(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === 'index_damaged';
}

/** The scope that such an error names. */
export function damagedScope(error: unknown): number | null {
  const scope = error instanceof MemoryError ? error.details?.['scope'] : null;
  return typeof scope === 'number' ? scope : null;
}

class ByteWriter {
  length = 0;
  #bytes: Uint8Array;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(Math.max(capacity, 16));
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.length);
    this.length += values.length;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + count));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}
