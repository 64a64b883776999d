import { LRUCache } from 'lru-cache';
import type { ScopeKey } from '../contracts/records.ts';
import type { IndexFileKey, IndexText } from '../contracts/storage.ts';
import { inSlices, type Pause } from '../time/pause.ts';
import type { PassageVectors } from './embedding/passage-vectors.ts';
import type { Block } from './index/block.ts';
import type { ScopeSegments } from './index/scope-segments.ts';
import type { Segment } from './index/segment.ts';
import { TokenisedFiles } from './index/tokenised-files.ts';
import { type Passage, splitInSteps } from './text/passages.ts';

/** The limit for heads of segments, in bytes. */
const SEGMENT_BYTES = 16 * 1024 * 1024;
/** The limit for decoded lengths of passages, in bytes. A search needs those of a whole scope. */
const LENGTHS_BYTES = 16 * 1024 * 1024;
/** The limit for blocks of postings, in bytes. */
const BLOCK_BYTES = 16 * 1024 * 1024;
/** The limit for texts of found files with their passages, in bytes. */
const TEXT_BYTES = 32 * 1024 * 1024;
/** The limit for vectors of passages, in bytes. */
const VECTOR_BYTES = 96 * 1024 * 1024;

/**
 * Data that searches keep for later ones. A segment and its blocks never change, nor does the text of
 * a version of a file: an entry is valid wherever its key is.
 */
export interface SearchCaches {
  files: TokenisedFiles;
  /** By scope and number. */
  segments: LRUCache<string, Segment>;
  /** By scope: its segments at one generation. */
  scopes: LRUCache<ScopeKey, ScopeSegments>;
  /** By scope, segment and number. */
  blocks: LRUCache<string, Block>;
  texts: TextCache;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** Makes empty caches with their limits. `listsPassages`: whether vectors of passages are wanted. */
export function createSearchCaches({ listsPassages = false } = {}): SearchCaches {
  return {
    files: new TokenisedFiles({ listsPassages }),
    segments: new LRUCache({ maxSize: SEGMENT_BYTES, sizeCalculation: ({ bytes }) => bytes }),
    scopes: new LRUCache({ maxSize: LENGTHS_BYTES, sizeCalculation: ({ bytes }) => bytes }),
    blocks: new LRUCache({ maxSize: BLOCK_BYTES, sizeCalculation: ({ size }) => size }),
    texts: new TextCache(),
    vectors: new LRUCache({ maxSize: VECTOR_BYTES }),
  };
}

/** Texts of found files, by scope, number and version. */
class TextCache {
  readonly #texts = new LRUCache<string, ReadText>({
    maxSize: TEXT_BYTES,
    sizeCalculation: ({ size }) => ENTRY_WEIGHT + size,
  });

  /** The cached text of a file at a version. */
  recall({ scope, fileNo }: IndexFileKey, version: number): ReadText | null {
    const text = this.#texts.get(`${scope} ${fileNo}`);
    return text?.file.version === version ? text : null;
  }

  keep(text: ReadText): void {
    const { scope, fileNo } = text.file;
    this.#texts.set(`${scope} ${fileNo}`, text);
  }
}

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
