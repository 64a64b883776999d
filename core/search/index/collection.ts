import { VarintReader } from '../../encoding/varints.ts';
import type { Arena } from '../rank/arena.ts';
import { isStopTerm } from '../text/english.ts';
import {
  countPlaces,
  type FilePayloads,
  findStop,
  type Frame,
  LENGTHS_TERM,
  rowTermOf,
} from './postings.ts';
import { PostingsList } from './postings-list.ts';

/** Postings of one term in several files, as they are stored. */
export interface TermRow {
  bytes: Uint8Array;
  /** The payloads of the files that count; `null` if the row is damaged. */
  frames(): readonly Frame[] | null;
}

/** The rows of one scope's index that a search has read. */
export interface ScopeIndex {
  /** The rows of the query's terms, by term. */
  rows: ReadonlyMap<string, readonly TermRow[]>;
  lengths: ScopeLengths;
  /**
   * Stale files, read and tokenised for this search; they replace the rows' data. Each has at least
   * `LENGTHS_TERM` and the terms of the query; `null` for a deleted file.
   */
  replaced: ReadonlyMap<number, { payloads: FilePayloads } | null>;
}

/** A file of the collection. */
export interface CollectionFile {
  /** The scope's place in the list of opened scopes. */
  scope: number;
  /** The file's number in its scope. */
  file: number;
}

/**
 * The texts of several scopes as one collection. It has its own numbers for files and slots (the
 * passages of all files in sequence), and no result depends on their order.
 */
export interface Collection {
  lengths: LengthsTable;
  /** The number of files of each scope. */
  counts: readonly number[];
  /**
   * Scopes with damaged rows. It grows while postings are read; a result from a damaged scope is
   * wrong.
   */
  damaged: ReadonlySet<number>;
  /** The file with this number in the collection. */
  fileAt(number: number): CollectionFile;
  /**
   * The number of passages and context runs with a term. Cheaper than `read`: it looks once at each
   * file that has the term.
   */
  count(term: string): number;
  /** The postings of a term. Those allocated in an arena are valid for its current search. */
  read(term: string, arena?: Arena): PostingsList;
}

/** Makes one collection of scopes that are searched together. */
export function openCollection(scopes: readonly ScopeIndex[]): Collection {
  const damaged = new Set<number>();
  const readers = scopes.map((scope) => new ScopeReader(scope));
  const lengths = joinLengths(readers);
  return {
    lengths,
    counts: readers.map(({ files }) => files.length),
    damaged,
    fileAt(number) {
      for (const [scope, { start, files }] of readers.entries()) {
        const file = files[number - start];
        if (file !== undefined) return { scope, file };
      }
      throw new RangeError(`There is no file ${number} in the collection.`);
    },
    count(term) {
      let sum = 0;
      readers.forEach((reader, scope) => {
        const count = reader.countPlaces(term);
        if (count === null) damaged.add(scope);
        else sum += count;
      });
      return sum;
    },
    read(term, arena) {
      let bytes = 0;
      for (const reader of readers) bytes += reader.countBytes(term);
      const list = new PostingsList(bytes, arena);
      readers.forEach((reader, scope) => {
        if (!reader.addPostings(term, list, lengths)) damaged.add(scope);
      });
      return list;
    },
  };
}

function joinLengths(readers: readonly ScopeReader[]): LengthsTable {
  const filled = readers.filter((reader) => reader.fileCount > 0);
  const [only] = filled;
  // The most common case: one user without shared memory, and an up-to-date index.
  if (only?.isPlain === true && filled.length === 1) return only.lengths.table;
  const table = new LengthsTable(
    filled.reduce((sum, reader) => sum + reader.fileCount, 0),
    filled.reduce((sum, reader) => sum + reader.slotCount, 0),
  );
  for (const reader of readers) reader.addLengths(table);
  return table;
}

class ScopeReader {
  readonly lengths: ScopeLengths;
  /** The number of its first file in the collection, and the numbers of its files in the scope. */
  start = 0;
  files: readonly number[];
  /** Upper limits. */
  readonly fileCount: number;
  readonly slotCount: number;
  readonly #replaced: ScopeIndex['replaced'];
  readonly #rows: ScopeIndex['rows'];
  /** Stale files as they are now, encoded like stored ones, so that both rank alike. */
  readonly #fresh: (readonly [file: number, payloads: FilePayloads])[] = [];
  /**
   * The number of each file of the scope in the collection, from 1, at the file's own number; 0 where
   * there is none. `null` if the lengths contain all files.
   */
  #numbers: Int32Array | null = null;

  constructor({ rows, lengths, replaced }: ScopeIndex) {
    this.#replaced = replaced;
    this.#rows = rows;
    this.lengths = lengths;
    this.files = lengths.files;
    let { slotCount } = lengths.table;
    for (const [file, fresh] of replaced) {
      if (fresh === null) continue;
      this.#fresh.push([file, fresh.payloads]);
      slotCount += lengthsOf(fresh.payloads).length;
    }
    this.fileCount = this.files.length + this.#fresh.length;
    this.slotCount = slotCount;
  }

  /** Whether no file was replaced. */
  get isPlain(): boolean {
    return this.#replaced.size === 0;
  }

  addLengths(table: LengthsTable): void {
    this.start = table.fileCount;
    const { lengths } = this;
    const left = [...this.#replaced.keys()]
      .map((file) => lengths.numberOf(file))
      .filter((number) => number >= 0)
      .sort((a, b) => a - b);
    const files: number[] = [];
    let from = 0;
    for (const to of [...left, lengths.files.length]) {
      table.addFiles(lengths.table, from, to);
      for (let number = from; number < to; number++) files.push(lengths.files[number] ?? 0);
      from = to + 1;
    }
    for (const [file, payloads] of this.#fresh) {
      const own = lengthsOf(payloads);
      table.add(own, 0, own.length);
      files.push(file);
    }
    this.files = files;
    this.#numbers = numberFiles(files, this.start);
  }

  /** An upper limit of the bytes that `addPostings` decodes. */
  countBytes(term: string): number {
    let bytes = 0;
    if (isStopTerm(term)) {
      // The row of a stop word also holds all other stop words.
      this.#visit(term, (_, __, start, end) => {
        bytes += end - start;
        return true;
      });
      return bytes;
    }
    for (const row of this.#rows.get(term) ?? []) bytes += row.bytes.length;
    for (const [, payloads] of this.#fresh) bytes += payloads.get(term)?.length ?? 0;
    return bytes;
  }

  /** Implements `Collection.count`; `null` if a row is damaged. */
  countPlaces(term: string): number | null {
    let sum = 0;
    const isIntact = this.#visit(term, (_, blob, start, end) => {
      const count = countPlaces(blob, start, end);
      sum += count ?? 0;
      return count !== null;
    });
    return isIntact ? sum : null;
  }

  /** Returns `false` if a row is damaged. */
  addPostings(term: string, list: PostingsList, { firstSlots }: LengthsTable): boolean {
    return this.#visit(term, (own, blob, start, end) => {
      const file =
        this.#numbers === null ? this.lengths.numberOf(own) : (this.#numbers[own] ?? 0) - 1;
      if (file < 0) return false;
      const [first = 0, after = 0] = [firstSlots[file], firstSlots[file + 1]];
      return list.add(blob, start, end, { file, first, after });
    });
  }

  /** Visits a term's payload in each file, until `take` reports a damaged one. */
  #visit(
    term: string,
    take: (own: number, blob: Uint8Array, start: number, end: number) => boolean,
  ): boolean {
    const rowTerm = rowTermOf(term);
    const takeFound = (own: number, blob: Uint8Array, start: number, end: number): boolean => {
      const found = findStop(blob, start, end, term);
      if (found === 'damaged') return false;
      return found === null || take(own, blob, found.start, found.end);
    };
    const visit = rowTerm === term ? take : takeFound;
    for (const row of this.#rows.get(rowTerm) ?? []) {
      const frames = row.frames();
      if (frames === null) return false;
      const { bytes } = row;
      for (const { file, start, end } of frames) {
        if (!this.#replaced.has(file) && !visit(file, bytes, start, end)) return false;
      }
    }
    for (const [file, payloads] of this.#fresh) {
      const payload = payloads.get(rowTerm);
      if (payload !== undefined && !visit(file, payload, 0, payload.length)) return false;
    }
    return true;
  }
}

const EMPTY = new Uint8Array();

function lengthsOf(payloads: FilePayloads): Uint8Array {
  return payloads.get(LENGTHS_TERM) ?? EMPTY;
}

/** At each file's number: `start` and its place in `files`, from 1; 0 where there is no file. */
function numberFiles(files: readonly number[], start: number): Int32Array {
  const numbers = new Int32Array(files.reduce((last, file) => Math.max(last, file), -1) + 1);
  files.forEach((file, place) => (numbers[file] = start + place + 1));
  return numbers;
}

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

  /** Adds a payload and returns the file's number here; `null` if the payload is damaged. */
  add(blob: Uint8Array, start: number, end: number): number | null {
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
    return reader.isDamaged ? null : file;
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

/** Files with their lengths, from one place of the index. */
export interface LengthsPart {
  /** By place: the files' numbers. */
  files: ArrayLike<number>;
  /** By place: the version that was indexed; `null` if the index does not say. */
  versions: ArrayLike<number> | null;
  /** The payload of a file's lengths; `null` for a deleted file. */
  lengthsAt(place: number): Uint8Array | null;
}

/** Files of one step, so that those of a large memory hold up no others. */
const FILES_PER_STEP = 512;

/**
 * The lengths of all passages of one scope. Searches cache them, because decoding takes a good part of
 * a search's time.
 */
export class ScopeLengths {
  readonly table: LengthsTable;
  /** By number in the table: the file's own number. */
  readonly files: readonly number[];
  /** By the file's own number: its number in the table, counted from 1; 0 for none. */
  readonly #numbers: Int32Array;
  /** By number in the table: the indexed version; -1 where the index does not say. */
  readonly #versions: Int32Array;
  /** By part and place: whether this copy of the file counts. */
  readonly #counting: readonly Uint8Array[];

  private constructor(
    table: LengthsTable,
    files: readonly number[],
    versions: Int32Array,
    counting: readonly Uint8Array[],
  ) {
    this.table = table;
    this.files = files;
    this.#versions = versions;
    this.#counting = counting;
    this.#numbers = numberFiles(files, 0);
  }

  /**
   * Joins parts. Of a file that several have, the copy with the newest version counts, and the last of
   * those; if that is a deletion, none does. Returns `null` if lengths are damaged.
   */
  static *join(parts: readonly LengthsPart[]): Generator<null, ScopeLengths | null> {
    const last = parts.reduce(
      (most, { files }) => Math.max(most, files[files.length - 1] ?? -1),
      -1,
    );
    /** By the file's own number: the part that counts, and its version. */
    const owners = new Int32Array(last + 1).fill(-1);
    const newest = new Int32Array(last + 1).fill(-2);
    for (const [part, { files, versions }] of parts.entries()) {
      for (let place = 0; place < files.length; place++) {
        const file = files[place] ?? 0;
        const version = versions === null ? -1 : (versions[place] ?? 0);
        if (version < (newest[file] ?? 0)) continue;
        newest[file] = version;
        owners[file] = part;
      }
      yield null;
    }
    const counting = parts.map(({ files }) => new Uint8Array(files.length));
    let count = 0;
    let slots = 0;
    for (const [part, source] of parts.entries()) {
      const { files } = source;
      const own = counting[part] as Uint8Array;
      for (let place = 0; place < files.length; place++) {
        if (owners[files[place] ?? 0] !== part) continue;
        const lengths = source.lengthsAt(place);
        if (lengths === null) continue;
        own[place] = 1;
        count += 1;
        slots += lengths.length;
      }
      yield null;
    }
    const table = new LengthsTable(count, slots);
    const kept: number[] = [];
    const versions = new Int32Array(count);
    for (const [part, source] of parts.entries()) {
      const { files } = source;
      const own = counting[part] as Uint8Array;
      for (let place = 0; place < files.length; place++) {
        if (own[place] === 0) continue;
        const lengths = source.lengthsAt(place) ?? EMPTY;
        if (table.add(lengths, 0, lengths.length) === null) return null;
        const file = files[place] ?? 0;
        versions[kept.length] = newest[file] ?? -1;
        kept.push(file);
        if (kept.length % FILES_PER_STEP === 0) yield null;
      }
    }
    return new ScopeLengths(table, kept, versions, counting);
  }

  /** The number of a file in the table; -1 for none. */
  numberOf(file: number): number {
    return (this.#numbers[file] ?? 0) - 1;
  }

  /** The indexed version of a file; `null` for none, and where the index does not say. */
  versionOf(file: number): number | null {
    const version = this.#versions[this.numberOf(file)] ?? -1;
    return version < 0 ? null : version;
  }

  /** Whether the copy at a place of a part counts. */
  counts(part: number, place: number): boolean {
    return this.#counting[part]?.[place] === 1;
  }

  /** The approximate size in memory, in bytes. */
  get bytes(): number {
    const places = this.#counting.reduce((sum, { length }) => sum + length, 0);
    return (
      4 * this.table.lengths.length +
      28 * this.files.length +
      places +
      4 * this.#numbers.length +
      200
    );
  }
}
