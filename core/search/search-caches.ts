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

/** Bytes of stale files that were tokenised for a search. */
const FILE_BYTES = 16 * 1024 * 1024;
/** Bytes of decoded lengths of passages: a search needs those of a whole scope. */
const LENGTHS_BYTES = 16 * 1024 * 1024;
/** Bytes of rows of terms, as they are stored. */
const ROWS_BYTES = 16 * 1024 * 1024;
/** Bytes of texts of files that were found, with their passages. */
const TEXT_BYTES = 32 * 1024 * 1024;
/** Bytes of vectors of passages. */
const VECTOR_BYTES = 96 * 1024 * 1024;

/** What searches keep for later ones. Every entry is checked against the snapshot before use. */
export interface SearchCaches {
  /** Stale files, by hash and path. */
  files: LRUCache<string, TokenisedFile>;
  index: IndexCache;
  texts: TextCache;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** Makes empty caches, each with its limit. */
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
  /** Of all its terms, or of those that one search asks for. */
  payloads: FilePayloads;
  /** The hashes of its passages' texts; `null` where no vectors are wanted. */
  texts: readonly string[] | null;
}

/** What earlier searches read of a scope's index. */
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

  /** What is known of some terms, all of one generation; `null` for nothing. */
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

  /** Keeps the lengths of one generation, and all of its rows of some terms. */
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

/** Bytes of memory that a row takes in addition to its bytes, and that the entry of a term takes. */
const ROW_WEIGHT = 250;

/** The text of a file that a search found. */
export type FoundFile = IndexText & { content: string };

/** A file's text with its passages, which are split when they are first used. */
export class ReadText {
  readonly file: FoundFile;
  #passages: readonly Passage[] | null = null;

  constructor(file: FoundFile) {
    this.file = file;
  }

  get passages(): readonly Passage[] {
    return (this.#passages ??= splitPassages(this.file.content));
  }

  /** About how many bytes of memory it takes, with its passages. */
  get size(): number {
    return 4 * this.file.content.length;
  }
}

/** Texts of files, valid until someone writes to their scope. */
class TextCache {
  /** By scope and file number. */
  readonly #kept = new LRUCache<string, { text: ReadText; state: IndexState }>({
    maxSize: TEXT_BYTES,
  });

  /** The text of a file, if its scope still has this state; else `null`. */
  recall({ scope, fileNo }: IndexFileKey, state: IndexState): ReadText | null {
    const kept = this.#kept.get(`${scope} ${fileNo}`);
    // A scope that was erased and made again repeats its versions, but not its generations.
    const isSame =
      kept?.state.version === state.version && kept.state.generation === state.generation;
    return isSame ? kept.text : null;
  }

  keep(text: ReadText, state: IndexState): void {
    const { scope, fileNo } = text.file;
    this.#kept.set(`${scope} ${fileNo}`, { text, state }, { size: ENTRY_WEIGHT + text.size });
  }
}

/** Bytes of memory that an entry takes in addition to its text. */
const ENTRY_WEIGHT = 500;
