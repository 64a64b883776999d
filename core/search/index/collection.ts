import type { Arena } from '../rank/arena.ts';
import { isStopTerm } from '../text/english.ts';
import { LengthsTable, ScopeLengths } from './lengths.ts';
import { damaged, isIndexDamage } from './index-damage.ts';
import {
  countPlaces,
  type FilePayloads,
  findStop,
  LENGTHS_TERM,
  readFrames,
  rowTermOf,
} from './postings.ts';
import { PostingsList } from './postings-list.ts';

/** What was read of one scope's index. */
export interface ScopeIndex {
  /**
   * The rows of the terms that the query asks for and, unless `lengths` are given, all rows of
   * `LENGTHS_TERM`; in any order.
   */
  rows: Iterable<PostingRow>;
  /** What the rows of `LENGTHS_TERM` say, from an earlier question. */
  lengths?: ScopeLengths;
  /**
   * Files whose index is behind, read anew: they take the place of what the rows say of them. Of
   * each at least `LENGTHS_TERM` and the terms of the query; `null` for a file that is gone.
   */
  replaced: ReadonlyMap<number, FilePayloads | null>;
}

export interface PostingRow {
  term: string;
  bucket: number;
  blob: Uint8Array;
}

/** A file of the collection: the number of its scope in the list that was opened, and its own. */
export interface CollectionFile {
  scope: number;
  file: number;
}

/**
 * The texts of several scopes as one collection. Its numbers of files and of slots (passages, all
 * files' one after the other) are its own, and no result depends on their order.
 */
export interface Collection {
  lengths: LengthsTable;
  /** How many files each scope has. */
  counts: readonly number[];
  /** What a file of the collection is called outside of it. */
  fileAt(number: number): CollectionFile;
  /**
   * How often a term stands in it: in how many passages' text, and in how many headings and paths.
   * A look at each file that has it, which takes less than reading its postings.
   *
   * @throws MemoryError as `openCollection` does.
   */
  count(term: string): number;
  /**
   * The postings of a term; those that are made in an arena last as long as its round.
   *
   * @throws MemoryError as `openCollection` does.
   */
  read(term: string, arena?: Arena): PostingsList;
}

/**
 * Opens what was read of the searched scopes as one collection.
 *
 * @throws MemoryError `INTERNAL` with `details.reason: 'index_damaged'` when the rows don't fit
 * together; the scope's index is to be made anew: `details.scope` is its number in `scopes`.
 */
export function openCollection(scopes: readonly ScopeIndex[]): Collection {
  const readers = scopes.map((scope, number) => inScope(number, () => new ScopeReader(scope)));
  const lengths = joinLengths(readers);
  const count = (term: string): number => {
    let sum = 0;
    readers.forEach((reader, scope) => {
      inScope(scope, () => (sum += reader.countPlaces(term)));
    });
    return sum;
  };
  const read = (term: string, arena?: Arena): PostingsList => {
    let bytes = 0;
    for (const reader of readers) bytes += reader.countBytes(term);
    const list = new PostingsList(bytes, arena);
    readers.forEach((reader, scope) => {
      inScope(scope, () => reader.addPostings(term, list, lengths));
    });
    return list;
  };
  return {
    lengths,
    counts: readers.map(({ files }) => files.length),
    fileAt(number) {
      for (const [scope, { start, files }] of readers.entries()) {
        const file = files[number - start];
        if (file !== undefined) return { scope, file };
      }
      throw new RangeError(`There is no file ${number} in the collection.`);
    },
    count,
    read,
  };
}

function joinLengths(readers: readonly ScopeReader[]): LengthsTable {
  const filled = readers.filter((reader) => reader.fileCount > 0);
  const [only] = filled;
  // Nearly always: a user without shared memory, whose index is up to date.
  if (only?.isPlain === true && filled.length === 1) return only.lengths.table;
  const table = new LengthsTable(
    filled.reduce((sum, reader) => sum + reader.fileCount, 0),
    filled.reduce((sum, reader) => sum + reader.slotCount, 0),
  );
  for (const reader of readers) reader.addLengths(table);
  return table;
}

/** What is damaged is a scope's: the others need not be made anew. */
function inScope<T>(scope: number, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isIndexDamage(error) ? damaged(scope) : error;
  }
}

/** A file that was read anew goes the way of the stored ones, so that both rank alike. */
interface FreshFile {
  file: number;
  payloads: FilePayloads;
  lengths: Uint8Array;
}

class ScopeReader {
  readonly lengths: ScopeLengths;
  /** Where its files begin in the collection, and which they are. */
  start = 0;
  files: readonly number[];
  /** At least as many as it has. */
  readonly fileCount: number;
  readonly slotCount: number;
  readonly #replaced: ReadonlyMap<number, FilePayloads | null>;
  readonly #rows = new Map<string, PostingRow[]>();
  readonly #fresh: FreshFile[] = [];
  /** By the scope's file number: the collection's; unless all are as the rows have them. */
  #numbers: Map<number, number> | null = null;

  constructor({ rows, lengths, replaced }: ScopeIndex) {
    this.#replaced = replaced;
    const lengthRows: PostingRow[] = [];
    for (const row of rows) {
      if (row.term === LENGTHS_TERM) {
        lengthRows.push(row);
        continue;
      }
      const known = this.#rows.get(row.term);
      if (known === undefined) this.#rows.set(row.term, [row]);
      else known.push(row);
    }
    this.lengths = lengths ?? new ScopeLengths(lengthRows);
    this.files = this.lengths.files;
    let slotCount = this.lengths.table.slotCount;
    for (const [file, payloads] of replaced) {
      if (payloads === null) continue;
      const own = payloads.get(LENGTHS_TERM);
      if (own === undefined) throw damaged();
      this.#fresh.push({ file, payloads, lengths: own });
      slotCount += own.length;
    }
    this.fileCount = this.files.length + this.#fresh.length;
    this.slotCount = slotCount;
  }

  /** Whether no file was read anew. */
  get isPlain(): boolean {
    return this.#replaced.size === 0;
  }

  addLengths(table: LengthsTable): void {
    this.start = table.fileCount;
    const files: number[] = [];
    const numbers = new Map<number, number>();
    const take = (file: number, number: number): void => {
      files.push(file);
      numbers.set(file, number);
    };
    this.lengths.files.forEach((file, number) => {
      if (!this.#replaced.has(file)) take(file, table.addFile(this.lengths.table, number));
    });
    for (const { file, lengths } of this.#fresh) take(file, table.add(lengths, 0, lengths.length));
    this.files = files;
    this.#numbers = numbers;
  }

  /** At least what `addPostings` adds. */
  countBytes(term: string): number {
    let bytes = 0;
    if (isStopTerm(term)) {
      // Their rows hold those of all others too.
      this.#visit(term, (_, __, start, end) => (bytes += end - start));
      return bytes;
    }
    for (const { blob } of this.#rows.get(term) ?? []) bytes += blob.length;
    for (const { payloads } of this.#fresh) bytes += payloads.get(term)?.length ?? 0;
    return bytes;
  }

  /** What `Collection.count` adds up. */
  countPlaces(term: string): number {
    let sum = 0;
    this.#visit(term, (_, blob, start, end) => (sum += countPlaces(blob, start, end)));
    return sum;
  }

  addPostings(term: string, list: PostingsList, { firstSlots }: LengthsTable): void {
    this.#visit(term, (own, blob, start, end) => {
      const file = this.#numbers === null ? this.lengths.numberOf(own) : this.#numbers.get(own);
      if (file === undefined || file < 0) throw damaged();
      const [first = 0, after = 0] = [firstSlots[file], firstSlots[file + 1]];
      list.add(blob, start, end, { file, first, after });
    });
  }

  /** Each file's own number with where its postings of a term are. */
  #visit(
    term: string,
    take: (own: number, blob: Uint8Array, start: number, end: number) => void,
  ): void {
    const rowTerm = rowTermOf(term);
    const takeFound = (own: number, blob: Uint8Array, start: number, end: number): void => {
      const found = findStop(blob, start, end, term);
      if (found !== null) take(own, blob, found.start, found.end);
    };
    const visit = rowTerm === term ? take : takeFound;
    for (const { blob, bucket } of this.#rows.get(rowTerm) ?? []) {
      for (const { file, start, end } of readFrames(blob, bucket)) {
        if (!this.#replaced.has(file)) visit(file, blob, start, end);
      }
    }
    for (const { file, payloads } of this.#fresh) {
      const payload = payloads.get(rowTerm);
      if (payload !== undefined) visit(file, payload, 0, payload.length);
    }
  }
}
