import { VarintReader } from '../../encoding/varints.ts';
import type { OldPosting } from '../../contracts/storage.ts';
import type { TermRow } from './collection.ts';
import { LengthsTable } from './lengths-table.ts';
import type { Frame } from './postings.ts';
import type { LengthsPart } from './scope-lengths.ts';

/**
 * Postings as earlier versions stored them: a row for a scope, a term and a bucket of 64 files. They are
 * read until the scope's segments hold all of its files.
 *
 * A row holds one frame per file, by ascending file: the file's place in the bucket, the length of the
 * payload, the payload. All numbers are varints.
 */

const FILES_PER_BUCKET = 64;

/** The bucket of a file number. */
export function bucketOf(file: number): number {
  return Math.floor(file / FILES_PER_BUCKET);
}

/** The frames of a row, by ascending file; `null` if the row is damaged. */
export function readOldFrames({ bytes, bucket }: OldPosting): Frame[] | null {
  const frames: Frame[] = [];
  const reader = new VarintReader(bytes);
  let last = -1;
  while (reader.at < bytes.length) {
    const place = reader.read();
    const length = reader.read();
    const start = reader.at;
    const isValid = place > last && place < FILES_PER_BUCKET && length <= bytes.length - start;
    if (reader.isDamaged || !isValid) return null;
    frames.push({ file: bucket * FILES_PER_BUCKET + place, start, end: start + length });
    reader.at = start + length;
    last = place;
  }
  return frames;
}

/** A row of a term, for a search. */
export function toTermRow(row: OldPosting): TermRow {
  return { bytes: row.bytes, frames: () => readOldFrames(row) };
}

/** The rows of the lengths, for a search; `null` if one is damaged or a file is in two of them. */
export function toLengthsParts(rows: readonly OldPosting[]): LengthsPart[] | null {
  const parts: LengthsPart[] = [];
  for (const row of rows) {
    const frames = readOldFrames(row);
    if (frames === null) return null;
    const lengths = new LengthsTable(frames.length, row.bytes.length);
    for (const { start, end } of frames) if (!lengths.add(row.bytes, start, end)) return null;
    const files = frames.map(({ file }) => file);
    parts.push({ files, versions: null, lengths, isDeleted: () => false });
  }
  const files = parts.flatMap((part) => Array.from(part.files));
  return new Set(files).size === files.length ? parts : null;
}

const COUNT_BYTES = 4;
const HASH_BYTES = 8;
const SEPARATOR = '\n';

/**
 * Reads the list of a file's terms, as schema 17 and older stored it: the number of terms (uint32), a
 * hash of 64 bits for each, and then the terms in UTF-8, joined by line ends. Returns `null` if it is
 * damaged.
 */
export function unpackTerms(packed: Uint8Array): readonly string[] | null {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  if (bytes.length < COUNT_BYTES) return null;
  const count = bytes.readUInt32BE(0);
  const textAt = COUNT_BYTES + count * HASH_BYTES;
  if (textAt > bytes.length) return null;
  const terms = count === 0 ? [] : bytes.toString('utf8', textAt).split(SEPARATOR);
  return terms.length === count ? terms : null;
}
