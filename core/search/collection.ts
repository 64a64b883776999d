import type { IndexedFile } from './index-file.ts';
import {
  damaged,
  encodeLengths,
  encodePostings,
  type Frame,
  isIndexDamage,
  LENGTHS_TERM,
  LengthsTable,
  PostingsList,
  readFrames,
} from './postings.ts';

/** What was read of one scope's index. */
export interface ScopeIndex {
  /** The rows of the terms that the query asks for, and all rows of `LENGTHS_TERM`; any order. */
  rows: Iterable<PostingRow>;
  /**
   * Files whose index is behind, read anew: they take the place of what the rows say of them.
   * `null` for a file that is gone.
   */
  replaced: ReadonlyMap<number, IndexedFile | null>;
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
  files: readonly CollectionFile[];
  lengths: LengthsTable;
  /**
   * The postings of a term.
   *
   * @throws MemoryError as `openCollection` does.
   */
  read(term: string): PostingsList;
}

/**
 * Opens what was read of the searched scopes as one collection.
 *
 * @throws MemoryError `INTERNAL` with `details.reason: 'index_damaged'` when the rows don't fit
 * together; the scope's index is to be made anew: `details.scope` is its number in `scopes`.
 */
export function openCollection(scopes: readonly ScopeIndex[]): Collection {
  const readers = scopes.map((scope, number) => inScope(number, () => new ScopeReader(scope)));
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  const lengths = new LengthsTable(
    sum(readers.map(({ fileCount }) => fileCount)),
    sum(readers.map(({ lengthBytes }) => lengthBytes)),
  );
  const files: CollectionFile[] = [];
  readers.forEach((reader, scope) => {
    const added = inScope(scope, () => reader.addLengths(lengths));
    for (const file of added) files.push({ scope, file });
  });
  const read = (term: string): PostingsList => {
    let bytes = 0;
    for (const reader of readers) bytes += reader.countBytes(term);
    const list = new PostingsList(bytes);
    readers.forEach((reader, scope) => {
      inScope(scope, () => reader.addPostings(term, list, lengths));
    });
    return list;
  };
  return { files, lengths, read };
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
  indexed: IndexedFile;
  lengths: Uint8Array;
}

class ScopeReader {
  readonly #replaced: ReadonlyMap<number, IndexedFile | null>;
  readonly #lengthRows: { blob: Uint8Array; frames: readonly Frame[] }[] = [];
  readonly #rows = new Map<string, PostingRow[]>();
  readonly #fresh: FreshFile[] = [];
  /** By the scope's file number: the collection's. */
  readonly #numbers: number[] = [];
  /** At least what `addLengths` adds. */
  fileCount = 0;
  lengthBytes = 0;

  constructor({ rows, replaced }: ScopeIndex) {
    this.#replaced = replaced;
    for (const row of rows) {
      if (row.term === LENGTHS_TERM) {
        const { blob, bucket } = row;
        const frames = readFrames(blob, bucket);
        this.#lengthRows.push({ blob, frames });
        this.fileCount += frames.length;
        this.lengthBytes += blob.length;
        continue;
      }
      const known = this.#rows.get(row.term);
      if (known === undefined) this.#rows.set(row.term, [row]);
      else known.push(row);
    }
    for (const [file, indexed] of replaced) {
      if (indexed === null) continue;
      const lengths = encodeLengths(indexed);
      this.#fresh.push({ file, indexed, lengths });
      this.fileCount++;
      this.lengthBytes += lengths.length;
    }
  }

  /** Adds the lengths of all files; the scope's numbers of those, in the order of the table. */
  addLengths(table: LengthsTable): number[] {
    const added: number[] = [];
    const add = (file: number, blob: Uint8Array, start: number, end: number): void => {
      if (this.#numbers[file] !== undefined) throw damaged();
      this.#numbers[file] = table.add(blob, start, end);
      added.push(file);
    };
    for (const { blob, frames } of this.#lengthRows) {
      for (const { file, start, end } of frames) {
        if (!this.#replaced.has(file)) add(file, blob, start, end);
      }
    }
    for (const { file, lengths } of this.#fresh) add(file, lengths, 0, lengths.length);
    return added;
  }

  /** At least what `addPostings` adds. */
  countBytes(term: string): number {
    let bytes = 0;
    for (const { blob } of this.#rows.get(term) ?? []) bytes += blob.length;
    for (const { indexed } of this.#fresh) bytes += measurePostings(indexed, term);
    return bytes;
  }

  addPostings(term: string, list: PostingsList, { firstSlots }: LengthsTable): void {
    const add = (number: number, blob: Uint8Array, start: number, end: number): void => {
      const file = this.#numbers[number];
      if (file === undefined) throw damaged();
      const [first = 0, after = 0] = [firstSlots[file], firstSlots[file + 1]];
      list.add(blob, start, end, { file, first, after });
    };
    for (const { blob, bucket } of this.#rows.get(term) ?? []) {
      for (const { file, start, end } of readFrames(blob, bucket)) {
        if (!this.#replaced.has(file)) add(file, blob, start, end);
      }
    }
    for (const { file, indexed } of this.#fresh) {
      const postings = indexed.terms.get(term);
      if (postings === undefined) continue;
      const blob = encodePostings(postings);
      add(file, blob, 0, blob.length);
    }
  }
}

/** At least two bytes for each row that a list needs. */
function measurePostings(indexed: IndexedFile, term: string): number {
  const postings = indexed.terms.get(term);
  return postings === undefined ? 0 : 2 * (postings.entries.length + postings.contexts.length);
}
