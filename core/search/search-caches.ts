import { LRUCache } from 'lru-cache';
import type { ScopeKey } from '../contracts/records.ts';
import type { IndexFileKey, IndexState, KnownRows, PostingRow } from '../contracts/storage.ts';
import type { ScopeLengths } from './index/lengths.ts';
import { type Passage, splitPassages } from './text/passages.ts';
import { type FilePayloads, LENGTHS_TERM } from './index/postings.ts';
import type { PassageVectors } from './embedding/vectors.ts';
import type { FoundFile } from './search.ts';

/** Files that are behind are tokenised for a find; what that gave is kept up to so many bytes. */
const FILE_BYTES = 16 * 1024 * 1024;
/** Lengths of passages, so many bytes: every search of a scope needs all that it has. */
const LENGTHS_BYTES = 16 * 1024 * 1024;
/** Rows of terms, as they are stored: so many bytes. */
const ROWS_BYTES = 16 * 1024 * 1024;
/** Texts that were found, and their passages: so many bytes. */
const TEXT_BYTES = 32 * 1024 * 1024;
/** Paths that tell results of one score apart: so many bytes. */
const PATH_BYTES = 4 * 1024 * 1024;
/** Vectors of passages are kept by scope, checked against its generations: so many bytes. */
const VECTOR_BYTES = 96 * 1024 * 1024;

/** What is kept between searches; each is checked against what the snapshot says. */
export interface SearchCaches {
  files: LRUCache<string, TokenisedFile>;
  index: IndexCache;
  texts: FileCache<ReadText>;
  /** Of files whose texts were not asked for. */
  paths: FileCache<FilePath>;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** Empty caches, each with its bound. */
export function createSearchCaches(): SearchCaches {
  return {
    files: new LRUCache({ maxSize: FILE_BYTES }),
    index: new IndexCache(),
    texts: new FileCache(TEXT_BYTES),
    paths: new FileCache(PATH_BYTES),
    vectors: new LRUCache({ maxSize: VECTOR_BYTES }),
  };
}

/** A file that was read anew. */
export interface TokenisedFile {
  /** Of all its terms, or of those that a search asks for. */
  payloads: FilePayloads;
  /** The hashes of its passages' texts; `null` where no vectors are wanted. */
  texts: readonly string[] | null;
}

/** What an earlier search has read of a scope's index. */
export interface KnownIndex extends KnownRows {
  lengths: ScopeLengths;
  /** By term, without the one of the lengths. */
  rows: ReadonlyMap<string, readonly PostingRow[]>;
}

/** What searches have read of the index, for as long as that of the scope stays the same. */
class IndexCache {
  readonly #lengths = new LRUCache<ScopeKey, { generation: number; lengths: ScopeLengths }>({
    maxSize: LENGTHS_BYTES,
  });
  /** By scope and term. */
  readonly #rows = new LRUCache<string, { generation: number; rows: readonly PostingRow[] }>({
    maxSize: ROWS_BYTES,
  });

  /** What there is of some terms, all of one generation; `null` for nothing. */
  recall(scope: ScopeKey, terms: readonly string[]): KnownIndex | null {
    const kept = this.#lengths.get(scope);
    if (kept === undefined) return null;
    const rows = new Map<string, readonly PostingRow[]>();
    for (const term of terms) {
      const own = this.#rows.get(`${scope} ${term}`);
      if (own?.generation === kept.generation) rows.set(term, own.rows);
    }
    return { ...kept, rows, terms: [LENGTHS_TERM, ...rows.keys()] };
  }

  /** Keeps the lengths of the passages of one generation, and all that it has of some terms. */
  keep(
    scope: ScopeKey,
    generation: number,
    { lengths, rows }: Pick<KnownIndex, 'lengths' | 'rows'>,
  ): void {
    if (this.#lengths.peek(scope)?.generation !== generation) {
      this.#lengths.set(scope, { generation, lengths }, { size: lengths.bytes });
    }
    for (const [term, read] of rows) {
      let size = ROW_WEIGHT;
      const own = read.map((row) => {
        size += row.blob.length + ROW_WEIGHT;
        // A driver's bytes may be a part of all that it has received at a time.
        return { ...row, blob: row.blob.slice() };
      });
      this.#rows.set(`${scope} ${term}`, { generation, rows: own }, { size });
    }
  }
}

/** Of a row beside its bytes, and of a term's entry. */
const ROW_WEIGHT = 250;

/** Where a file is. */
export type FilePath = IndexFileKey & { path: string };

/** A file's text with its passages, which are looked for when they are first asked for. */
export class ReadText {
  readonly file: FoundFile;
  #passages: readonly Passage[] | null = null;

  constructor(file: FoundFile) {
    this.file = file;
  }

  get passages(): readonly Passage[] {
    return (this.#passages ??= splitPassages(this.file.content));
  }

  /** About how many bytes it has, with all its passages. */
  get size(): number {
    return 4 * this.file.content.length;
  }
}

/** What was read of files, for as long as nobody writes to their scope. */
export class FileCache<T extends object> {
  /** By scope and file number. */
  readonly #kept: LRUCache<string, { value: T; state: IndexState }>;

  constructor(bytes: number) {
    this.#kept = new LRUCache({ maxSize: bytes });
  }

  /** What was kept of a file of a scope of this state; `null` for nothing. */
  recall({ scope, fileNo }: IndexFileKey, state: IndexState): T | null {
    const kept = this.#kept.get(`${scope} ${fileNo}`);
    // Of a scope that was erased and begun anew, versions come a second time: generations do not.
    const isSame =
      kept?.state.version === state.version && kept.state.generation === state.generation;
    return isSame ? kept.value : null;
  }

  /** `size`: about how many bytes the value has. */
  keep({ scope, fileNo }: IndexFileKey, state: IndexState, value: T, size: number): void {
    this.#kept.set(`${scope} ${fileNo}`, { value, state }, { size: ENTRY_WEIGHT + size });
  }
}

/** Bytes of an entry beside its value. */
const ENTRY_WEIGHT = 500;
