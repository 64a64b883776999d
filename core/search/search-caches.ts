import { LRUCache } from 'lru-cache';
import type { ScopeKey } from '../contracts/records.ts';
import type {
  IndexBlob,
  IndexFileKey,
  IndexState,
  IndexText,
  KnownBlobs,
} from '../contracts/storage.ts';
import type { PassageVectors } from './embedding/passage-vectors.ts';
import type { ScopeLengths } from './index/collection.ts';
import { type FilePayloads, LENGTHS_TERM } from './index/postings.ts';
import { type Passage, splitPassages } from './text/passages.ts';

/** The limit for stale files that were tokenised for a search, in bytes. */
const FILE_BYTES = 16 * 1024 * 1024;
/** The limit for decoded lengths of passages, in bytes. A search needs those of a whole scope. */
const LENGTHS_BYTES = 16 * 1024 * 1024;
/** The limit for stored rows of terms, in bytes. */
const ROWS_BYTES = 16 * 1024 * 1024;
/** The limit for texts of found files with their passages, in bytes. */
const TEXT_BYTES = 32 * 1024 * 1024;
/** The limit for vectors of passages, in bytes. */
const VECTOR_BYTES = 96 * 1024 * 1024;

/**
 * Data that searches keep for later ones. Every entry is checked against the snapshot before use.
 */
export interface SearchCaches {
  /** Stale files, by hash and path. */
  files: LRUCache<string, TokenisedFile>;
  index: IndexCache;
  texts: TextCache;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** Makes empty caches with their limits. */
export function createSearchCaches(): SearchCaches {
  return {
    files: new LRUCache({ maxSize: FILE_BYTES }),
    index: new IndexCache(),
    texts: new TextCache(),
    vectors: new LRUCache({ maxSize: VECTOR_BYTES }),
  };
}

/** A stale file that was tokenised for a search. */
export interface TokenisedFile {
  /** Whether it has all terms, or only those that one search needed. */
  payloads: FilePayloads;
  /** The hashes of its passages' texts; `null` where no vectors are wanted. */
  texts: readonly string[] | null;
}

/** The parts of a scope's index that earlier searches have read. */
export interface KnownIndex extends KnownBlobs {
  lengths: ScopeLengths;
  /** By term, without `LENGTHS_TERM`. */
  rows: ReadonlyMap<string, readonly IndexBlob[]>;
}

/** Rows and lengths by scope, valid for one generation of the scope's index. */
class IndexCache {
  readonly #lengths = new LRUCache<ScopeKey, { generation: number; lengths: ScopeLengths }>({
    maxSize: LENGTHS_BYTES,
  });
  /** By scope and term. */
  readonly #rows = new LRUCache<string, { generation: number; rows: readonly IndexBlob[] }>({
    maxSize: ROWS_BYTES,
  });

  /** The cached rows of some terms, all of one generation; `null` if nothing is cached. */
  recall(scope: ScopeKey, terms: readonly string[]): KnownIndex | null {
    const kept = this.#lengths.get(scope);
    if (kept === undefined) return null;
    const rows = new Map<string, readonly IndexBlob[]>();
    for (const term of terms) {
      const own = this.#rows.get(`${scope} ${term}`);
      if (own?.generation === kept.generation) rows.set(term, own.rows);
    }
    return { ...kept, rows, keys: [LENGTHS_TERM, ...rows.keys()] };
  }

  /** Caches the lengths of one generation and all of its rows of some terms. */
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
        size += row.bytes.length + ROW_WEIGHT;
        // A driver's bytes may be a view of a much larger buffer.
        return { ...row, bytes: row.bytes.slice() };
      });
      this.#rows.set(`${scope} ${term}`, { generation, rows: own }, { size });
    }
  }
}

/** The memory that a row needs beside its bytes, and that a term's entry needs. */
const ROW_WEIGHT = 250;

/** The text of a found file. */
export type FoundFile = IndexText & { content: string };

/** A file's text and its passages, which are computed at their first use. */
export class ReadText {
  readonly file: FoundFile;
  #passages: readonly Passage[] | null = null;

  constructor(file: FoundFile) {
    this.file = file;
  }

  get passages(): readonly Passage[] {
    return (this.#passages ??= splitPassages(this.file.content));
  }

  /** The approximate size in memory, with its passages. */
  get size(): number {
    return 4 * this.file.content.length;
  }
}

/** Texts of files, valid until the next write to their scope. */
class TextCache {
  /** By scope and file number. */
  readonly #kept = new LRUCache<string, { text: ReadText; state: IndexState }>({
    maxSize: TEXT_BYTES,
  });

  /** The text of a file if its scope still has this state; else `null`. */
  recall({ scope, fileNo }: IndexFileKey, state: IndexState): ReadText | null {
    const kept = this.#kept.get(`${scope} ${fileNo}`);
    // After a scope was erased and created again, its versions repeat but its generations do not.
    const isSame =
      kept?.state.version === state.version && kept.state.generation === state.generation;
    return isSame ? kept.text : null;
  }

  keep(text: ReadText, state: IndexState): void {
    const { scope, fileNo } = text.file;
    this.#kept.set(`${scope} ${fileNo}`, { text, state }, { size: ENTRY_WEIGHT + text.size });
  }
}

/** The memory that an entry needs beside its text. */
const ENTRY_WEIGHT = 500;
