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
import { LengthsTable } from './lengths-table.ts';
import { PostingsList } from './postings-list.ts';
import { numberFiles, type ScopeLengths } from './scope-lengths.ts';

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
  files: Int32Array;
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
    const files = new Int32Array(lengths.files.length - left.length + this.#fresh.length);
    let from = 0;
    for (const to of [...left, lengths.files.length]) {
      files.set(lengths.files.subarray(from, to), table.fileCount - this.start);
      table.addFiles(lengths.table, from, to);
      from = to + 1;
    }
    for (const [file, payloads] of this.#fresh) {
      const own = lengthsOf(payloads);
      files[table.fileCount - this.start] = file;
      table.add(own, 0, own.length);
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
