import { LRUCache } from 'lru-cache';
import type { IndexText } from '../../contracts/storage.ts';
import { inSlices, type Pause } from '../../time/pause.ts';
import { packHashes } from '../embedding/embedded-text.ts';
import { indexFile } from './index-file.ts';
import { PackedPayloads } from './packed-payloads.ts';
import { encodeFile, type FilePayloads } from './postings.ts';

/** The limit for tokenised files, in bytes. */
const FILE_BYTES = 16 * 1024 * 1024;

/** A file as the index stores it. */
export interface TokenisedFile {
  payloads: FilePayloads;
  /** The hashes of its passages' texts, 16 bytes each; `null` where no vectors are wanted. */
  hashes: Uint8Array | null;
}

/** A file's postings depend only on its text and path. */
type FileText = Pick<IndexText, 'hash' | 'path'>;

/**
 * Stale files that searches have tokenised, for later searches and for the indexer. A file is found
 * only by the hash of its current text.
 */
export class TokenisedFiles {
  readonly #kept = new LRUCache<string, TokenisedFile>({ maxSize: FILE_BYTES });
  readonly #listsPassages: boolean;

  /** `listsPassages`: whether vectors of passages are wanted. */
  constructor({ listsPassages }: { listsPassages: boolean }) {
    this.#listsPassages = listsPassages;
  }

  /** A file that is cached, else `null`. */
  recall(file: FileText): TokenisedFile | null {
    return this.#kept.get(toKey(file)) ?? null;
  }

  /** The tokenised file, from the cache or from its content. `isKept` caches it. */
  async take(
    file: FileText & { content: string },
    { isKept, pause }: { isKept: boolean; pause: Pause },
  ): Promise<TokenisedFile> {
    const known = this.recall(file);
    if (known !== null) return known;
    const { content, path } = file;
    const indexed = await inSlices(indexFile(content, path), pause);
    await pause();
    const payloads = await inSlices(encodeFile(indexed), pause);
    await pause();
    // An empty file has one empty passage.
    const listed = indexed.passages.filter(({ start, end }) => end > start);
    const hashes = this.#listsPassages ? await packHashes(content, listed, pause) : null;
    if (!isKept) return { payloads, hashes };
    const packed = new PackedPayloads(payloads);
    const kept = { payloads: packed, hashes };
    this.#kept.set(toKey(file), kept, { size: packed.size + (hashes?.length ?? 0) });
    return kept;
  }
}

function toKey({ hash, path }: FileText): string {
  return `${hash} ${path}`;
}
