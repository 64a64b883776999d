import { LRUCache } from 'lru-cache';
import type { ScopeKey } from '../contracts/records.ts';
import type {
  GenerationStep,
  IndexBlob,
  IndexChanges,
  IndexFileKey,
  IndexState,
  IndexText,
  KnownBlobs,
  StaleFile,
} from '../contracts/storage.ts';
import { inSlices, type Pause } from '../time/pause.ts';
import type { PassageVectors } from './embedding/passage-vectors.ts';
import { type LengthsRow, ScopeLengths } from './index/collection.ts';
import { LENGTHS_TERM } from './index/postings.ts';
import { TokenisedFiles } from './index/tokenised-files.ts';
import { type Passage, splitInSteps } from './text/passages.ts';

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
  files: TokenisedFiles;
  index: IndexCache;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** Makes empty caches with their limits. `listsPassages`: whether vectors of passages are wanted. */
export function createSearchCaches({ listsPassages = false } = {}): SearchCaches {
  return {
    files: new TokenisedFiles({ listsPassages }),
    index: new IndexCache(),
    vectors: new LRUCache({ maxSize: VECTOR_BYTES }),
  };
}

/** The parts of a scope's index that earlier searches have read. */
export interface KnownIndex extends KnownBlobs {
  lengths: ScopeLengths;
  /** By term, without `LENGTHS_TERM`. */
  rows: ReadonlyMap<string, readonly IndexBlob[]>;
}

/** One update of a scope's index that this process made. */
export interface IndexUpdate {
  generation: GenerationStep;
  /** The files that it indexed or removed. */
  files: Iterable<number>;
  blobs: IndexChanges['blobs'];
}

/**
 * The generations of the index for which cached data of a scope is valid. All data of a scope shares
 * one object: when an update raises `last`, the data that it did not change stays valid.
 */
interface CachedGeneration {
  readonly first: number;
  last: number;
}

interface CachedLengths {
  of: CachedGeneration;
  rows: readonly LengthsRow[];
  /** Of earlier rows, until a search needs them. */
  lengths: ScopeLengths;
}

/**
 * Rows, lengths and texts of scopes. An index update of this process replaces what it changed; after
 * one of another process everything of the scope is read again.
 */
class IndexCache {
  readonly #lengths = new LRUCache<ScopeKey, CachedLengths>({ maxSize: LENGTHS_BYTES });
  /** By scope and term. */
  readonly #rows = new LRUCache<string, { of: CachedGeneration; rows: readonly IndexBlob[] }>({
    maxSize: ROWS_BYTES,
  });
  /** By scope and file number. */
  readonly #texts = new LRUCache<string, { of: CachedGeneration; text: ReadText }>({
    maxSize: TEXT_BYTES,
  });

  /** The cached rows of some terms, all of one generation; `null` if nothing is cached. */
  recall(scope: ScopeKey, terms: readonly string[]): KnownIndex | null {
    const kept = this.#lengths.get(scope);
    if (kept === undefined) return null;
    const { of } = kept;
    const isCurrent = kept.rows === kept.lengths.rows;
    const lengths = isCurrent ? kept.lengths : ScopeLengths.from(kept.rows, kept.lengths);
    if (lengths === null) return null;
    if (!isCurrent) this.#keepLengths(scope, { of, lengths, rows: lengths.rows });
    const rows = new Map<string, readonly IndexBlob[]>();
    for (const term of terms) {
      const own = this.#rows.get(`${scope} ${term}`);
      if (own?.of === of) rows.set(term, own.rows);
    }
    const keys = [LENGTHS_TERM, ...rows.keys()];
    return { generation: of.last, lengths, rows, keys };
  }

  /** Caches the lengths of one generation, and all of its rows of some terms. */
  keep(
    scope: ScopeKey,
    generation: number,
    { lengths, rows }: Pick<KnownIndex, 'lengths' | 'rows'>,
  ): void {
    const known = this.#lengths.peek(scope)?.of;
    // An update came after this snapshot.
    if (known !== undefined && known.first <= generation && generation < known.last) return;
    const isKnown = known?.last === generation;
    const of = isKnown ? known : { first: generation, last: generation };
    if (!isKnown) this.#keepLengths(scope, { of, lengths, rows: lengths.rows });
    for (const [term, read] of rows) this.#keepRows(`${scope} ${term}`, of, copyRows(read));
  }

  /**
   * The cached text of a file if it is current in this state of its scope; else `null`. `stale` is
   * the file's entry in the list of stale files, or `null` if the file is not stale.
   */
  recallText(
    { scope, fileNo }: IndexFileKey,
    { generation }: IndexState,
    stale: StaleFile | null,
  ): ReadText | null {
    const kept = this.#texts.get(`${scope} ${fileNo}`);
    if (kept?.of.last !== generation || kept.of !== this.#lengths.peek(scope)?.of) return null;
    // Every write marks its file as stale until an update, which makes another generation. After a
    // scope was erased and created again, its versions repeat but its generations do not.
    const { version, indexedVersion } = kept.text.file;
    return version === (stale === null ? indexedVersion : stale.version) ? kept.text : null;
  }

  /** Caches a text that was read in this state of its scope. */
  keepText(text: ReadText, { generation }: IndexState): void {
    const { scope, fileNo } = text.file;
    const of = this.#lengths.peek(scope)?.of;
    if (of?.last !== generation) return;
    this.#texts.set(`${scope} ${fileNo}`, { of, text }, { size: ENTRY_WEIGHT + text.size });
  }

  /** Replaces what an update changed. All other cached data of the scope stays valid. */
  follow(scope: ScopeKey, { generation, files, blobs }: IndexUpdate): void {
    const kept = this.#lengths.peek(scope);
    if (kept?.of.last !== generation.before) return;
    const { of } = kept;
    let lengthsRows = kept.rows;
    for (const { key, part, bytes } of blobs) {
      const change = <R extends LengthsRow>(rows: readonly R[]): (R | IndexBlob)[] => [
        ...rows.filter((row) => row.part !== part),
        ...(bytes === null ? [] : [{ key, part, bytes }]),
      ];
      if (key === LENGTHS_TERM) {
        lengthsRows = change(lengthsRows);
        continue;
      }
      const name = `${scope} ${key}`;
      const own = this.#rows.peek(name);
      if (own?.of === of) this.#keepRows(name, of, change(own.rows));
    }
    for (const fileNo of files) this.#texts.delete(`${scope} ${fileNo}`);
    of.last = generation.after;
    if (lengthsRows !== kept.rows) this.#keepLengths(scope, { ...kept, rows: lengthsRows });
  }

  #keepLengths(scope: ScopeKey, kept: CachedLengths): void {
    const size = weighRows(kept.rows) + kept.lengths.bytes;
    this.#lengths.set(scope, kept, { size });
  }

  #keepRows(name: string, of: CachedGeneration, rows: readonly IndexBlob[]): void {
    this.#rows.set(name, { of, rows }, { size: weighRows(rows) });
  }
}

/** Copies rows: a driver's bytes may be a view of a much larger buffer. */
export function copyRows(rows: readonly IndexBlob[]): IndexBlob[] {
  return rows.map((row) => ({ ...row, bytes: row.bytes.slice() }));
}

function weighRows(rows: readonly LengthsRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes.length + ROW_WEIGHT, ROW_WEIGHT);
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

  async readPassages(pause: Pause): Promise<readonly Passage[]> {
    return (this.#passages ??= await inSlices(splitInSteps(this.file.content), pause));
  }

  /** The approximate size in memory, with its passages. */
  get size(): number {
    return 4 * this.file.content.length;
  }
}

/** The memory that an entry needs beside its text. */
const ENTRY_WEIGHT = 500;
