import type { IndexBlob } from '../../contracts/storage.ts';
import { VarintReader } from '../../encoding/varints.ts';
import type { Arena } from '../rank/arena.ts';
import { isStopTerm } from '../text/english.ts';
import {
  countPlaces,
  type FilePayloads,
  findStop,
  type Frame,
  LENGTHS_TERM,
  readFrames,
  rowTermOf,
} from './postings.ts';
import { PostingsList } from './postings-list.ts';

/** The rows of one scope's index that a search has read. */
export interface ScopeIndex {
  /** The rows of the query's terms, by term. A row's part is a bucket. */
  rows: ReadonlyMap<string, readonly IndexBlob[]>;
  /** Decoded from the rows of `LENGTHS_TERM`. */
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
    for (const { bytes, part } of this.#rows.get(rowTerm) ?? []) {
      const frames = readFrames(bytes, part);
      if (frames === null) return false;
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

/** A row of `LENGTHS_TERM`. */
export type LengthsRow = Pick<IndexBlob, 'part' | 'bytes'>;

/** The files of a row in a table: from this number up to, but not including, the other. */
interface RowPlace {
  from: number;
  to: number;
}

/**
 * The lengths of all passages of one scope, decoded from the rows of `LENGTHS_TERM`. Searches cache
 * them, because decoding takes a good part of a search's time.
 */
export class ScopeLengths {
  /** What they were decoded from. */
  readonly rows: readonly LengthsRow[];
  readonly table: LengthsTable;
  /** By number in the table: the file's own number. */
  readonly files: readonly number[];
  /** By the file's own number: its number in the table, counted from 1; 0 for none. */
  readonly #numbers: Int32Array;
  readonly #places: ReadonlyMap<LengthsRow, RowPlace>;

  private constructor(
    rows: ReadonlyMap<LengthsRow, RowPlace>,
    { table, files }: Pick<ScopeLengths, 'table' | 'files'>,
  ) {
    this.rows = [...rows.keys()];
    this.table = table;
    this.files = files;
    this.#places = rows;
    this.#numbers = numberFiles(files, 0);
  }

  /**
   * Decodes rows. Those that `before` was decoded from are copied from it instead. Returns `null` if a
   * row is damaged or a file is in two rows.
   */
  static from(
    rows: readonly LengthsRow[],
    before: ScopeLengths | null = null,
  ): ScopeLengths | null {
    const known = before === null ? null : before.#places;
    const parts = rows.map((row) => known?.get(row) ?? readFrames(row.bytes, row.part));
    let fileCount = 0;
    for (const part of parts) {
      if (part === null) return null;
      fileCount += 'from' in part ? part.to - part.from : part.length;
    }
    const slots = rows.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const table = new LengthsTable(fileCount, slots);
    const files: number[] = [];
    const places = new Map<LengthsRow, RowPlace>();
    for (const [index, row] of rows.entries()) {
      const part = parts[index] ?? [];
      const from = table.fileCount;
      if (before !== null && 'from' in part) {
        table.addFiles(before.table, part.from, part.to);
        for (let at = part.from; at < part.to; at++) files.push(before.files[at] ?? 0);
      } else {
        for (const { file, start, end } of part as readonly Frame[]) {
          if (table.add(row.bytes, start, end) === null) return null;
          files.push(file);
        }
      }
      places.set(row, { from, to: table.fileCount });
    }
    const isUnique = new Set(files).size === files.length;
    return isUnique ? new ScopeLengths(places, { table, files }) : null;
  }

  /** The number of a file in the table; -1 for none. */
  numberOf(file: number): number {
    return (this.#numbers[file] ?? 0) - 1;
  }

  /** The approximate size in memory, in bytes. */
  get bytes(): number {
    return 4 * this.table.lengths.length + 24 * this.files.length + 4 * this.#numbers.length + 200;
  }
}
