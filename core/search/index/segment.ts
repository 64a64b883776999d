import { ByteWriter } from '../../encoding/byte-writer.ts';
import { VarintReader } from '../../encoding/varints.ts';
import { Block, BlockWriter, pack, unpack } from './block.ts';
import { LengthsTable } from './lengths-table.ts';
import { type FilePayloads, LENGTHS_TERM } from './postings.ts';

/**
 * How a segment is packed: the postings of a batch of files of one scope. A segment never changes.
 *
 * The head lists the files by ascending number, each with its version and the payload of its lengths,
 * or with none for a file that was deleted. It also has the first term of each block. A segment of one
 * block has it in its head, so that it is one row. All numbers are varints. Head and blocks are stored
 * with a checksum, and deflated where that makes them smaller.
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

export const ENTRIES_PER_STEP = 64;

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

/** Writes the head of a segment. */
export class HeadWriter {
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

  finish({ blocks, firsts }: ReturnType<BlockWriter['finish']>): PackedSegment {
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

interface Head {
  files: Int32Array;
  versions: Int32Array;
  lengths: LengthsTable;
  deleted: ReadonlySet<number>;
  firsts: Buffer;
  firstEnds: Uint32Array;
  inline: Block | null;
}

/** A segment's head, decoded. */
export class Segment {
  readonly id: number;
  /** By place: the files' numbers, ascending, and their versions. */
  readonly files: Int32Array;
  readonly versions: Int32Array;
  /** By place: a deleted file has no passages. */
  readonly lengths: LengthsTable;
  /** The only block of a small segment, else `null`. */
  readonly inline: Block | null;
  readonly #deleted: ReadonlySet<number>;
  /** The first terms of the blocks, one after the other, and where each ends. */
  readonly #firsts: Buffer;
  readonly #firstEnds: Uint32Array;

  private constructor(id: number, head: Head) {
    this.id = id;
    this.files = head.files;
    this.versions = head.versions;
    this.lengths = head.lengths;
    this.inline = head.inline;
    this.#deleted = head.deleted;
    this.#firsts = head.firsts;
    this.#firstEnds = head.firstEnds;
  }

  /** Decodes a stored head; `null` if it is damaged. */
  static read(id: number, packed: Uint8Array): Segment | null {
    const bytes = unpack(packed);
    const head = bytes === null ? null : readHead(bytes);
    return head && new Segment(id, head);
  }

  get blockCount(): number {
    return this.#firstEnds.length;
  }

  /** The approximate size in memory, in bytes. */
  get bytes(): number {
    const files = this.lengths.bytes + 8 * this.files.length + 8 * this.#deleted.size;
    const firsts = this.#firsts.length + 4 * this.#firstEnds.length;
    return files + firsts + (this.inline?.size ?? 0) + OVERHEAD;
  }

  isDeleted(place: number): boolean {
    return this.#deleted.has(place);
  }

  /** The payload of a file's lengths; `null` for a deleted file. */
  lengthsAt(place: number): Uint8Array | null {
    return this.isDeleted(place) ? null : this.lengths.encode(place);
  }

  /** The blocks that may have terms from `from` up to `to`, both included. */
  blocksWith(from: Uint8Array, to: Uint8Array = from): { first: number; after: number } {
    let low = 0;
    let high = this.blockCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareFirst(middle, from) < 0) low = middle + 1;
      else high = middle;
    }
    // A term that is the first of a block may have begun in the block before.
    const first = Math.max(0, low - 1);
    let after = first;
    while (after < this.blockCount && this.#compareFirst(after, to) <= 0) after++;
    return { first, after };
  }

  #compareFirst(block: number, term: Uint8Array): number {
    const [start = 0, end = 0] = [this.#firstEnds[block - 1], this.#firstEnds[block]];
    return this.#firsts.compare(term, 0, term.length, start, end);
  }
}

/** The memory of a segment beside its bytes. */
const OVERHEAD = 800;

function readHead(bytes: Uint8Array): Head | null {
  const reader = new VarintReader(bytes);
  const count = reader.read();
  if (count > bytes.length) return null;
  const files = new Int32Array(count);
  const versions = new Int32Array(count);
  const lengths = new LengthsTable(count, bytes.length);
  const deleted = new Set<number>();
  let next = 0;
  for (let place = 0; place < count; place++) {
    files[place] = next + reader.read();
    next = (files[place] ?? 0) + 1;
    versions[place] = reader.read();
    const size = reader.read();
    const end = reader.at + Math.max(0, size - 1);
    if (end > bytes.length) return null;
    if (size === 0) {
      deleted.add(place);
      lengths.addEmpty();
    } else if (!lengths.add(bytes, reader.at, end)) return null;
    reader.at = end;
  }
  const blocks = reader.read();
  if (reader.isDamaged || blocks > bytes.length) return null;
  const firsts: Uint8Array[] = [];
  const firstEnds = new Uint32Array(blocks);
  for (let block = 0; block < blocks; block++) {
    const length = reader.read();
    firsts.push(bytes.subarray(reader.at, reader.at + length));
    firstEnds[block] = (firstEnds[block - 1] ?? 0) + length;
    reader.at += length;
  }
  if (reader.isDamaged || reader.at > bytes.length) return null;
  const inline = blocks === 1 ? Block.read(bytes.slice(reader.at)) : null;
  if (blocks === 1 && inline === null) return null;
  return {
    files,
    versions,
    lengths: lengths.trim(),
    deleted,
    firsts: Buffer.concat(firsts),
    firstEnds,
    inline,
  };
}
