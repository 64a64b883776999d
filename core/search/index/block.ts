import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { ByteWriter } from '../../encoding/byte-writer.ts';
import { VarintReader } from '../../encoding/varints.ts';
import type { Frame } from './postings.ts';

/**
 * A block of a segment: the postings of a range of terms, by ascending bytes.
 *
 * An entry is a term and its frames: for each file, the file's place in the segment, the length of the
 * payload, the payload. All numbers are varints. A term with very many postings has several entries, in
 * one block or in several.
 */

/** Where an entry has its term and its frames. */
export interface Entry {
  termAt: number;
  termEnd: number;
  framesAt: number;
  end: number;
}

/**
 * A block is closed once it has this many bytes before it is deflated. A search inflates a block for each
 * term that no earlier search has read; smaller blocks take more space.
 */
const BLOCK_BYTES = 4 * 1024;

/** A block, decoded. */
export class Block {
  readonly bytes: Buffer;
  /** By entry: where it begins. */
  readonly #starts: Uint32Array;

  private constructor(bytes: Buffer, starts: Uint32Array) {
    this.bytes = bytes;
    this.#starts = starts;
  }

  /** Decodes an unpacked block; `null` if it is damaged. */
  static read(bytes: Uint8Array): Block | null {
    const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const starts: number[] = [];
    const reader = new VarintReader(own);
    while (reader.at < own.length) {
      starts.push(reader.at);
      // The length of the term, and of its frames.
      for (let part = 0; part < 2; part++) {
        const length = reader.read();
        reader.at += length;
      }
    }
    const isDamaged = reader.isDamaged || reader.at > own.length;
    return isDamaged ? null : new Block(own, Uint32Array.from(starts));
  }

  /** How many entries it has. */
  get count(): number {
    return this.#starts.length;
  }

  /** The approximate size in memory, in bytes. */
  get size(): number {
    return this.bytes.length + 4 * this.#starts.length + OVERHEAD;
  }

  entry(number: number): Entry {
    const reader = new VarintReader(this.bytes, this.#starts[number]);
    const termLength = reader.read();
    const termAt = reader.at;
    reader.at += termLength;
    const termEnd = reader.at;
    const length = reader.read();
    return { termAt, termEnd, framesAt: reader.at, end: reader.at + length };
  }

  /** The first entry whose term is not before `term`. */
  find(term: Uint8Array): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { termAt, termEnd } = this.entry(middle);
      if (this.bytes.compare(term, 0, term.length, termAt, termEnd) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether the term of an entry starts with `prefix`. */
  startsWith({ termAt, termEnd }: Entry, prefix: Uint8Array): boolean {
    const end = termAt + prefix.length;
    return end <= termEnd && this.bytes.compare(prefix, 0, prefix.length, termAt, end) === 0;
  }

  /** Visits the entries whose term starts with `prefix`. The frames are a view of the block. */
  visit(prefix: Uint8Array, visit: (term: string, frames: Uint8Array) => void): void {
    for (let number = this.find(prefix); number < this.count; number++) {
      const entry = this.entry(number);
      if (!this.startsWith(entry, prefix)) return;
      const term = this.bytes.toString('utf8', entry.termAt, entry.termEnd);
      visit(term, this.bytes.subarray(entry.framesAt, entry.end));
    }
  }

  /** The frames of a term: a copy for each of its entries. */
  framesOf(term: Uint8Array): Uint8Array[] {
    const found: Uint8Array[] = [];
    for (let number = this.find(term); number < this.count; number++) {
      const entry = this.entry(number);
      const isTerm = entry.termEnd - entry.termAt === term.length && this.startsWith(entry, term);
      if (!isTerm) break;
      found.push(new Uint8Array(this.bytes.subarray(entry.framesAt, entry.end)));
    }
    return found;
  }
}

/** The memory of a block beside its bytes. */
const OVERHEAD = 300;

/** Visits the frames of an entry; `false` if they are damaged. */
export function visitFrames(
  bytes: Uint8Array,
  from: number,
  to: number,
  visit: (place: number, start: number, end: number) => void,
): boolean {
  const reader = new VarintReader(bytes, from, to);
  let place = -1;
  while (reader.at < to) {
    place += reader.read() + 1;
    const length = reader.read();
    const start = reader.at;
    if (reader.isDamaged || length > to - start) return false;
    visit(place, start, start + length);
    reader.at = start + length;
  }
  return true;
}

/** The frames of the files that `take` gives for their places, without those below 0; `null` if damaged. */
export function readPlaces(
  bytes: Uint8Array,
  take: (place: number) => number,
): readonly Frame[] | null {
  const frames: Frame[] = [];
  const isIntact = visitFrames(bytes, 0, bytes.length, (place, start, end) => {
    const file = take(place);
    if (file >= 0) frames.push({ file, start, end });
  });
  return isIntact ? frames : null;
}

/** Writes entries into blocks, by ascending term. */
export class BlockWriter {
  readonly #blocks: Uint8Array[] = [];
  readonly #firsts: Uint8Array[] = [];
  #block = new ByteWriter(BLOCK_BYTES * 2);
  #frames = new ByteWriter(1_024);
  #term: Uint8Array = new Uint8Array();
  #next = 0;

  begin(term: Uint8Array): void {
    this.#term = term;
  }

  /** Files of a term come by ascending place. */
  add(place: number, bytes: Uint8Array, start: number, end: number): void {
    this.#frames.varint(place - this.#next);
    this.#next = place + 1;
    this.#frames.varint(end - start);
    this.#frames.bytes(bytes.subarray(start, end));
    if (this.#frames.length >= BLOCK_BYTES) this.end();
  }

  end(): void {
    if (this.#frames.length === 0) return;
    if (this.#block.length === 0) this.#firsts.push(this.#term);
    this.#block.varint(this.#term.length);
    this.#block.bytes(this.#term);
    this.#block.varint(this.#frames.length);
    this.#block.bytes(this.#frames.view());
    this.#frames.length = 0;
    this.#next = 0;
    if (this.#block.length >= BLOCK_BYTES) this.#close();
  }

  /** The blocks, and the first term of each. */
  finish(): { blocks: readonly Uint8Array[]; firsts: readonly Uint8Array[] } {
    if (this.#block.length > 0) this.#close();
    return { blocks: this.#blocks, firsts: this.#firsts };
  }

  #close(): void {
    this.#blocks.push(this.#block.finish());
    this.#block.length = 0;
  }
}

const PLAIN = 0;
const DEFLATED = 1;
const PACK_BYTES = 5;
/** The most bytes that are inflated from one row. */
const MAX_INFLATED = 16 * 1024 * 1024;

/** A byte that says whether the rest is deflated, a checksum, the bytes. */
export function pack(bytes: Uint8Array): Uint8Array {
  const deflated = deflateRawSync(bytes, { level: DEFLATE_LEVEL });
  const isSmaller = deflated.length < bytes.length;
  const data = isSmaller ? deflated : bytes;
  const packed = Buffer.allocUnsafe(PACK_BYTES + data.length);
  packed[0] = isSmaller ? DEFLATED : PLAIN;
  packed.writeUInt32BE(crc32(bytes), 1);
  packed.set(data, PACK_BYTES);
  return packed;
}

/** Higher levels take twice the time for a few percent. */
const DEFLATE_LEVEL = 3;

/** The bytes of a stored head or block; `null` if they are damaged. */
export function unpack(packed: Uint8Array): Uint8Array | null {
  const stored = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  if (stored.length < PACK_BYTES) return null;
  const data = stored.subarray(PACK_BYTES);
  let bytes: Uint8Array;
  if (stored[0] === PLAIN) bytes = Buffer.from(data);
  else if (stored[0] === DEFLATED) {
    try {
      bytes = inflateRawSync(data, { maxOutputLength: MAX_INFLATED });
    } catch {
      return null;
    }
  } else return null;
  return crc32(bytes) === stored.readUInt32BE(1) ? bytes : null;
}
