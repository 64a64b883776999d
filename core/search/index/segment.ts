import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { ByteWriter } from '../../encoding/byte-writer.ts';
import { VarintReader } from '../../encoding/varints.ts';
import { type FilePayloads, type Frame, LENGTHS_TERM } from './postings.ts';

/**
 * How a segment is packed: the postings of a batch of files of one scope. A segment never changes.
 *
 * The head lists the files by ascending number, each with its version and the payload of its lengths,
 * or with none for a file that was deleted. It also has the first term of each block. A block holds
 * the postings of a range of terms, by ascending bytes; a term with very many postings continues in
 * the next block. A segment of one block has it in its head, so that it is one row.
 *
 * An entry of a block is a term and its frames: for each file, the file's place in the head, the
 * length of the payload, the payload. All numbers are varints. Head and blocks are stored with a
 * checksum, and deflated where that makes them smaller.
 */

/** A file of a segment that is made. */
export interface SegmentFile {
  fileNo: number;
  version: number;
  /** `null` for a deleted file: its copies in other segments no longer count. */
  payloads: FilePayloads | null;
}

/** A segment as it is stored. */
export interface PackedSegment {
  /** How many files it lists, deleted ones too. */
  files: number;
  head: Uint8Array;
  blocks: readonly Uint8Array[];
}

/** The size of a stored segment, in bytes. */
export function weighSegment({ head, blocks }: PackedSegment): number {
  return blocks.reduce((sum, block) => sum + block.length, head.length);
}

/** A block is closed once it has this many bytes before it is deflated. */
const BLOCK_BYTES = 16 * 1024;
/** The most bytes that are inflated from one row. */
const MAX_INFLATED = 16 * 1024 * 1024;
const ENTRIES_PER_STEP = 64;

/** Packs the postings of files: each at most once, in any order. */
export function* packSegment(files: readonly SegmentFile[]): Generator<null, PackedSegment> {
  const sorted = [...files].sort((left, right) => left.fileNo - right.fileNo);
  const terms = new Map<string, { place: number; payload: Uint8Array }[]>();
  const head = new HeadWriter(sorted.length);
  for (const [place, { fileNo, version, payloads }] of sorted.entries()) {
    head.addFile(fileNo, version, payloads?.get(LENGTHS_TERM) ?? null);
    for (const [term, payload] of payloads ?? []) {
      if (term === LENGTHS_TERM) continue;
      const known = terms.get(term);
      if (known === undefined) terms.set(term, [{ place, payload }]);
      else known.push({ place, payload });
    }
    yield null;
  }
  const entries = [...terms].map(([term, frames]) => ({ key: Buffer.from(term), frames }));
  yield null;
  entries.sort((left, right) => Buffer.compare(left.key, right.key));
  yield null;
  const blocks = new BlockWriter();
  let done = 0;
  for (const { key, frames } of entries) {
    blocks.begin(key);
    for (const { place, payload } of frames) blocks.add(place, payload, 0, payload.length);
    blocks.end();
    if (++done % ENTRIES_PER_STEP === 0) yield null;
  }
  return head.finish(blocks.finish());
}

/** A segment to merge: its head, and all of its blocks as they are stored. */
export interface MergedSegment {
  segment: Segment;
  blocks: readonly Uint8Array[];
  /** Whether the file at a place is taken. All are, unless another segment has it anew. */
  takes?: (place: number) => boolean;
}

/**
 * Merges segments. Of a file that several have, its newest version is taken. `isWhole`: no other
 * segment of the scope has copies of deleted files, so that these need not be listed any more.
 * Returns `null` if no file is left, `damaged` if a block can't be read.
 */
export function* mergeSegments(
  inputs: readonly MergedSegment[],
  { isWhole }: { isWhole: boolean },
): Generator<null, PackedSegment | null | 'damaged'> {
  const taken = takeNewest(inputs, isWhole);
  yield null;
  if (taken.length === 0) return null;
  const head = new HeadWriter(taken.length);
  const places = inputs.map(({ segment }) => new Int32Array(segment.files.length).fill(-1));
  for (const [number, { input, place }] of taken.entries()) {
    const { segment } = inputs[input] as MergedSegment;
    head.addFile(segment.files[place] ?? 0, segment.versions[place] ?? 0, segment.lengthsAt(place));
    const own = places[input];
    if (own !== undefined) own[place] = number;
  }
  yield null;
  const cursors = inputs.map(
    (input, number) => new Cursor(input, places[number] ?? new Int32Array()),
  );
  const blocks = new BlockWriter();
  for (let done = 1; ; done += 1) {
    let least: Cursor | null = null;
    for (const cursor of cursors) {
      if (cursor.isDamaged) return 'damaged';
      if (!cursor.isAtEnd && (least === null || cursor.compare(least) < 0)) least = cursor;
    }
    if (least === null) break;
    const key = least.copyTerm();
    const frames: TakenFrame[] = [];
    for (const cursor of cursors) cursor.takeFrames(key, frames);
    if (frames.length > 0) {
      frames.sort((left, right) => left.place - right.place);
      blocks.begin(key);
      for (const { place, bytes, start, end } of frames) blocks.add(place, bytes, start, end);
      blocks.end();
    }
    if (done % ENTRIES_PER_STEP === 0) yield null;
  }
  return head.finish(blocks.finish());
}

interface TakenFrame {
  place: number;
  bytes: Uint8Array;
  start: number;
  end: number;
}

/** The files of the result, by ascending number: where each is among the inputs. */
function takeNewest(
  inputs: readonly MergedSegment[],
  isWhole: boolean,
): { input: number; place: number }[] {
  const newest = new Map<number, { input: number; place: number }>();
  for (const [input, { segment, takes }] of inputs.entries()) {
    for (const [place, fileNo] of segment.files.entries()) {
      if (takes?.(place) === false) continue;
      const other = newest.get(fileNo);
      const version = segment.versions[place] ?? 0;
      const known =
        other === undefined ? -1 : (inputs[other.input]?.segment.versions[other.place] ?? -1);
      if (version >= known) newest.set(fileNo, { input, place });
    }
  }
  return [...newest]
    .sort(([left], [right]) => left - right)
    .map(([, where]) => where)
    .filter(({ input, place }) => !isWhole || inputs[input]?.segment.isDeleted(place) === false);
}

/** Reads a segment's entries one after the other. */
class Cursor {
  isDamaged = false;
  isAtEnd = false;
  readonly #stored: readonly Uint8Array[];
  readonly #places: Int32Array;
  #next = 0;
  #block: Uint8Array = NO_BYTES;
  #entries = new EntryReader(NO_BYTES);

  constructor({ segment, blocks }: MergedSegment, places: Int32Array) {
    this.#stored = segment.inline === null ? blocks : [segment.inline];
    this.isDamaged = this.#stored.length !== segment.blockCount;
    this.#places = places;
    this.#unpack = segment.inline === null ? unpack : (bytes) => bytes;
    this.#advance();
  }

  readonly #unpack: (bytes: Uint8Array) => Uint8Array | null;

  compare(other: Cursor): number {
    return this.#entries.compareTerm(other.#entries);
  }

  copyTerm(): Buffer {
    return this.#entries.copyTerm();
  }

  /** Adds the frames of a term, with the places of their files in the result, and goes on. */
  takeFrames(term: Buffer, frames: TakenFrame[]): void {
    while (!this.isAtEnd && !this.isDamaged && this.#entries.isTerm(term)) {
      const { framesAt, end } = this.#entries;
      const bytes = this.#block;
      const isIntact = visitFrames(bytes, framesAt, end, (place, from, to) => {
        const number = this.#places[place] ?? -1;
        if (number >= 0) frames.push({ place: number, bytes, start: from, end: to });
      });
      if (!isIntact) this.isDamaged = true;
      this.#advance();
    }
  }

  #advance(): void {
    while (!this.isDamaged && !this.#entries.next()) {
      if (this.#entries.isDamaged) this.isDamaged = true;
      const stored = this.#stored[this.#next++];
      if (stored === undefined) {
        this.isAtEnd = true;
        return;
      }
      const block = this.#unpack(stored);
      if (block === null) this.isDamaged = true;
      else {
        this.#block = block;
        this.#entries = new EntryReader(block);
      }
    }
  }
}

/** Reads the entries of a block. */
class EntryReader {
  isDamaged = false;
  framesAt = 0;
  end = 0;
  #termAt = 0;
  #termEnd = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes to the next entry; `false` at the end. */
  next(): boolean {
    const bytes = this.#bytes;
    if (this.end >= bytes.length) return false;
    const reader = new VarintReader(bytes, this.end);
    const termLength = reader.read();
    this.#termAt = reader.at;
    reader.at += termLength;
    this.#termEnd = reader.at;
    const length = reader.read();
    this.framesAt = reader.at;
    this.end = reader.at + length;
    this.isDamaged = reader.isDamaged || this.end > bytes.length;
    return !this.isDamaged;
  }

  compareTerm(other: EntryReader): number {
    return this.#bytes.compare(
      other.#bytes,
      other.#termAt,
      other.#termEnd,
      this.#termAt,
      this.#termEnd,
    );
  }

  isTerm(term: Buffer): boolean {
    return this.#termEnd - this.#termAt === term.length && this.compareWith(term) === 0;
  }

  compareWith(term: Buffer): number {
    return this.#bytes.compare(term, 0, term.length, this.#termAt, this.#termEnd);
  }

  startsWith(prefix: Buffer): boolean {
    const end = this.#termAt + prefix.length;
    return (
      end <= this.#termEnd && this.#bytes.compare(prefix, 0, prefix.length, this.#termAt, end) === 0
    );
  }

  readTerm(): string {
    return this.#bytes.toString('utf8', this.#termAt, this.#termEnd);
  }

  copyTerm(): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#termAt, this.#termEnd));
  }
}

/** Visits the frames of an entry; `false` if they are damaged. */
function visitFrames(
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

/** The frames of a term in a part of a segment; `null` if they are damaged. */
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

class HeadWriter {
  readonly #writer: ByteWriter;
  readonly #count: number;
  #next = 0;

  constructor(count: number) {
    this.#count = count;
    this.#writer = new ByteWriter(32 * count + 64);
    this.#writer.varint(count);
  }

  /** Files come by ascending number. */
  addFile(fileNo: number, version: number, lengths: Uint8Array | null): void {
    this.#writer.varint(fileNo - this.#next);
    this.#next = fileNo + 1;
    this.#writer.varint(version);
    this.#writer.varint(lengths === null ? 0 : lengths.length + 1);
    if (lengths !== null) this.#writer.bytes(lengths);
  }

  finish({ blocks, firsts }: { blocks: readonly Uint8Array[]; firsts: Buffer[] }): PackedSegment {
    const writer = this.#writer;
    writer.varint(blocks.length);
    for (const first of firsts) {
      writer.varint(first.length);
      writer.bytes(first);
    }
    const [only] = blocks;
    const isInline = blocks.length === 1;
    if (isInline && only !== undefined) writer.bytes(only);
    return {
      files: this.#count,
      head: pack(writer.view()),
      blocks: isInline ? [] : blocks.map(pack),
    };
  }
}

/** Writes entries into blocks. */
class BlockWriter {
  readonly #blocks: Uint8Array[] = [];
  readonly #firsts: Buffer[] = [];
  #block = new ByteWriter(BLOCK_BYTES * 2);
  #frames = new ByteWriter(1_024);
  #term: Buffer = Buffer.alloc(0);
  #next = 0;

  begin(term: Buffer): void {
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

  finish(): { blocks: readonly Uint8Array[]; firsts: Buffer[] } {
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

/** A byte that says whether the rest is deflated, a checksum, the bytes. */
function pack(bytes: Uint8Array): Uint8Array {
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

const NO_BYTES = new Uint8Array();

/** A segment's head, decoded. */
export class Segment {
  readonly id: number;
  /** By place: the files' numbers, ascending, and their versions. */
  readonly files: Int32Array;
  readonly versions: Int32Array;
  /** The only block of a small segment, else `null`. */
  readonly inline: Uint8Array | null;
  readonly #head: Buffer;
  /** By place: where the file's lengths are in the head; where they are equal, it was deleted. */
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  /** By block: where its first term is in the head. */
  readonly #firsts: Int32Array;
  readonly #firstEnds: Int32Array;

  private constructor(
    id: number,
    head: Buffer,
    read: {
      files: Int32Array;
      versions: Int32Array;
      starts: Int32Array;
      ends: Int32Array;
      firsts: Int32Array;
      firstEnds: Int32Array;
      end: number;
    },
  ) {
    this.id = id;
    this.#head = head;
    this.files = read.files;
    this.versions = read.versions;
    this.#starts = read.starts;
    this.#ends = read.ends;
    this.#firsts = read.firsts;
    this.#firstEnds = read.firstEnds;
    this.inline = read.firsts.length === 1 ? head.subarray(read.end) : null;
  }

  /** Decodes a stored head; `null` if it is damaged. */
  static read(id: number, packed: Uint8Array): Segment | null {
    const bytes = unpack(packed);
    if (bytes === null) return null;
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const reader = new VarintReader(head);
    const count = reader.read();
    if (count > head.length) return null;
    const files = new Int32Array(count);
    const versions = new Int32Array(count);
    const starts = new Int32Array(count);
    const ends = new Int32Array(count);
    let next = 0;
    for (let place = 0; place < count; place++) {
      files[place] = next + reader.read();
      next = (files[place] ?? 0) + 1;
      versions[place] = reader.read();
      const length = reader.read();
      starts[place] = reader.at;
      if (length > 0) reader.at += length - 1;
      ends[place] = reader.at;
    }
    const blocks = reader.read();
    if (reader.isDamaged || blocks > head.length) return null;
    const firsts = new Int32Array(blocks);
    const firstEnds = new Int32Array(blocks);
    for (let block = 0; block < blocks; block++) {
      const length = reader.read();
      firsts[block] = reader.at;
      reader.at += length;
      firstEnds[block] = reader.at;
    }
    if (reader.isDamaged || reader.at > head.length) return null;
    const end = reader.at;
    return new Segment(id, head, { files, versions, starts, ends, firsts, firstEnds, end });
  }

  get blockCount(): number {
    return this.#firsts.length;
  }

  /** The approximate size in memory, in bytes. */
  get bytes(): number {
    return this.#head.length + 16 * this.files.length + 8 * this.#firsts.length + 600;
  }

  isDeleted(place: number): boolean {
    return this.#starts[place] === this.#ends[place];
  }

  /** The payload of a file's lengths; `null` for a deleted file. */
  lengthsAt(place: number): Uint8Array | null {
    return this.isDeleted(place)
      ? null
      : this.#head.subarray(this.#starts[place], this.#ends[place]);
  }

  /** The blocks that may have terms from `from` up to `to`, both included. */
  blocksWith(from: Buffer, to: Buffer = from): { first: number; after: number } {
    let first = 0;
    while (first + 1 < this.blockCount && this.#compareFirst(first + 1, from) < 0) first++;
    let after = first;
    while (after < this.blockCount && this.#compareFirst(after, to) <= 0) after++;
    return { first, after };
  }

  #compareFirst(block: number, term: Buffer): number {
    return this.#head.compare(
      term,
      0,
      term.length,
      this.#firsts[block] ?? 0,
      this.#firstEnds[block] ?? 0,
    );
  }
}

/**
 * Copies the frames of terms from a block, which `take` gets by the term's place in `terms`. Terms are
 * sorted by bytes. Returns `false` if the block is damaged.
 */
export function findTerms(
  block: Uint8Array,
  terms: readonly Buffer[],
  take: (term: number, frames: Uint8Array) => void,
): boolean {
  const entries = new EntryReader(block);
  let wanted = 0;
  while (wanted < terms.length && entries.next()) {
    let order = entries.compareWith(terms[wanted] as Buffer);
    while (order > 0 && ++wanted < terms.length) {
      order = entries.compareWith(terms[wanted] as Buffer);
    }
    if (order === 0) take(wanted, block.slice(entries.framesAt, entries.end));
  }
  return !entries.isDamaged;
}

/** Visits all entries of a block whose term starts with `prefix`; `false` if it is damaged. */
export function visitEntries(
  block: Uint8Array,
  prefix: Buffer,
  visit: (term: string, frames: Uint8Array) => void,
): boolean {
  const entries = new EntryReader(block);
  while (entries.next()) {
    if (!entries.startsWith(prefix)) continue;
    visit(entries.readTerm(), block.subarray(entries.framesAt, entries.end));
  }
  return !entries.isDamaged;
}
