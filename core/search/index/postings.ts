import { isStopTerm, stopNumberOf } from '../text/english.ts';
import { damaged } from './index-damage.ts';
import type { FilePostings, IndexedFile } from './index-file.ts';
import { ByteWriter, VarintReader } from './varints.ts';

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

/** What a blob is to hold of a file. */
export interface FrameChange {
  file: number;
  /** `null` takes the file out. */
  payload: Uint8Array | null;
  /** Whether the file must have a payload already; without it either is right. */
  isKnown?: boolean;
}

/**
 * The blob with the payloads of some files of its bucket set or taken out, in one pass; `null` when
 * nothing remains, so that the row is deleted. The blob that was given stays as it is. The changes
 * are by ascending file, one for each.
 *
 * @throws MemoryError as `readFrames` does, also when a file is not there as it must be.
 */
export function replaceFiles(
  blob: Uint8Array | null,
  changes: readonly FrameChange[],
): Uint8Array | null {
  const old = blob ?? EMPTY;
  const frames = readFrames(old, bucketOf(changes[0]?.file ?? 0));
  const added = changes.reduce((sum, { payload }) => sum + (payload?.length ?? 0) + 5, 0);
  const parts = new ByteWriter(old.length + added);
  let copied = 0;
  let place = 0;
  for (const change of changes) {
    while ((frames[place]?.file ?? Infinity) < change.file) place += 1;
    // What the frames before it end with: everything up to there stays.
    const begin = frames[place - 1]?.end ?? 0;
    const frame = frames[place];
    const isThere = frame?.file === change.file;
    if (change.isKnown !== undefined && change.isKnown !== isThere) throw damaged();
    parts.bytes(old.subarray(copied, begin));
    copied = isThere ? frame.end : begin;
    if (change.payload !== null) writeFrame(parts, change.file, change.payload);
  }
  parts.bytes(old.subarray(copied));
  return parts.length === 0 ? null : parts.finish();
}

const EMPTY = new Uint8Array();

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

function writeFrame(writer: ByteWriter, file: number, payload: Uint8Array): void {
  writer.varint(file % FILES_PER_BUCKET);
  writer.varint(payload.length);
  writer.bytes(payload);
}
