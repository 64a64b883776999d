import { LRUCache } from 'lru-cache';
import type { IndexText } from '../../contracts/storage.ts';
import type { Pause } from '../../pause.ts';
import { packHashes } from '../embedding/embedded-text.ts';
import { indexFile, inSlices } from './index-file.ts';
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

interface KeptFile extends TokenisedFile {
  payloads: PackedPayloads;
}

/** A file's postings depend only on its text and path. */
type FileText = Pick<IndexText, 'hash' | 'path'>;

/**
 * Stale files that searches have tokenised, for later searches and for the indexer. A file is found
 * only by the hash of its current text.
 */
export class TokenisedFiles {
  readonly #kept = new LRUCache<string, KeptFile>({ maxSize: FILE_BYTES });

  /** A file that is cached; `null` if it is not, or lacks the hashes that `listsPassages` asks for. */
  recall(file: FileText, { listsPassages }: { listsPassages: boolean }): TokenisedFile | null {
    const known = this.#kept.get(toKey(file));
    return known === undefined || (listsPassages && known.hashes === null) ? null : known;
  }

  /** The tokenised file, from the cache or from its content. `isKept` caches it. */
  async take(
    file: FileText & { content: string },
    { listsPassages, isKept, pause }: { listsPassages: boolean; isKept: boolean; pause: Pause },
  ): Promise<TokenisedFile> {
    const known = this.recall(file, { listsPassages });
    if (known !== null) return known;
    const { content, path } = file;
    const indexed = await inSlices(indexFile(content, path), pause);
    await pause();
    const payloads = this.#kept.get(toKey(file))?.payloads ?? encodeFile(indexed);
    await pause();
    // An empty file has one empty passage.
    const listed = indexed.passages.filter(({ start, end }) => end > start);
    const hashes = listsPassages ? await packHashes(content, listed, pause) : null;
    if (!isKept) return { payloads, hashes };
    const packed = payloads instanceof PackedPayloads ? payloads : new PackedPayloads(payloads);
    const kept = { payloads: packed, hashes };
    this.#kept.set(toKey(file), kept, { size: packed.size + (hashes?.length ?? 0) });
    return kept;
  }
}

function toKey({ hash, path }: FileText): string {
  return `${hash} ${path}`;
}
