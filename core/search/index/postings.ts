import { isStopTerm, stopNumberOf } from '../text/english.ts';
import { ByteWriter } from '../../encoding/byte-writer.ts';
import { VarintReader } from '../../encoding/varints.ts';
import type { FilePostings, IndexedFile } from './index-file.ts';

/** The term for the lengths of a file's passages. It can't occur in a text. */
export const LENGTHS_TERM = '';

/**
 * The term for the postings of all stop words of a file. Few questions need them, and a row for
 * each would be a third of all rows that an index update touches.
 */
const STOPS_TERM = '=';

/** The term of the rows with the postings of `term`. */
export function rowTermOf(term: string): string {
  return isStopTerm(term) ? STOPS_TERM : term;
}

/** One file's part of a row: its payload is `bytes.subarray(start, end)`. */
export interface Frame {
  file: number;
  start: number;
  end: number;
}

/** A file's payloads, by the term of the row. */
export interface FilePayloads extends Iterable<[term: string, payload: Uint8Array]> {
  get(term: string): Uint8Array | undefined;
}

/**
 * Encodes a file's payloads in one buffer: the lengths of its passages first, its stop words last.
 * Yields between its terms, of which a large file may have 70,000.
 */
export function* encodeFile(file: IndexedFile): Generator<null, Map<string, Uint8Array>> {
  const writer = new ByteWriter(16 * file.terms.size + file.passages.length);
  const ends: [term: string, end: number][] = [];
  writeLengths(writer, file);
  ends.push([LENGTHS_TERM, writer.length]);
  yield null;
  const stops: [term: string, postings: FilePostings][] = [];
  for (const [term, postings] of file.terms) {
    if (isStopTerm(term)) {
      stops.push([term, postings]);
      continue;
    }
    writePostings(writer, postings);
    ends.push([term, writer.length]);
    if (ends.length % TERMS_PER_STEP === 0) yield null;
  }
  for (const [term, postings] of stops) writeStop(writer, term, postings);
  if (stops.length > 0) ends.push([STOPS_TERM, writer.length]);
  const bytes = writer.finish();
  const payloads = new Map<string, Uint8Array>();
  let start = 0;
  for (const [term, end] of ends) {
    payloads.set(term, bytes.subarray(start, end));
    start = end;
    if (payloads.size % TERMS_PER_STEP === 0) yield null;
  }
  return payloads;
}

const TERMS_PER_STEP = 1_024;

/** One term's postings in one file, encoded by {@link encodeFile}. */
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
 * Finds a stop word's postings in a payload of `STOPS_TERM`; `null` if the file does not have the
 * word.
 */
export function findStop(
  blob: Uint8Array,
  start: number,
  end: number,
  term: string,
): { start: number; end: number } | null | 'damaged' {
  const wanted = stopNumberOf(term);
  const reader = new VarintReader(blob, start, end);
  while (reader.at < end) {
    const number = reader.read();
    const length = reader.read();
    if (reader.isDamaged || length > end - reader.at) return 'damaged';
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
 * The number of entries and runs in a payload of {@link encodePostings}; `null` if it is damaged.
 */
export function countPlaces(blob: Uint8Array, start: number, end: number): number | null {
  const reader = new VarintReader(blob, start, end);
  const head = reader.read();
  const count = (head >>> 1) + (head % 2 === 1 ? reader.read() : 0);
  return reader.isDamaged ? null : count;
}
