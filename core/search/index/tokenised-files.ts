import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { IndexText } from '../../contracts/storage.ts';
import { createPause, inSlices, type Pause } from '../../time/pause.ts';
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

/** A file as a write left it; `content` is `null` when it was deleted. */
export type WrittenFile = FileText & { content: string | null };

/**
 * Files that wait to be tokenised behind their writes. Of a burst of writes only the last ones do: the
 * others are tokenised when they are indexed, so that they delay no writes.
 */
const PREPARED_FILES = 4;
/** After a burst, this many times as long as the work took passes before more is done. */
const BURST_REST = 24;

/**
 * Tokenised files whose index is stale. Searches and the indexer share them, so that each text is
 * tokenised once. The key is the hash of the text: an older text of the file is never returned.
 */
export class TokenisedFiles {
  readonly #kept = new LRUCache<string, TokenisedFile>({ maxSize: FILE_BYTES });
  /** Files that are being tokenised, by the same key. */
  readonly #underWay = new Map<string, Promise<TokenisedFile>>();
  readonly #listsPassages: boolean;
  #written: (FileText & { content: string })[] = [];
  #isPreparing = false;

  /** `listsPassages`: whether vectors of passages are wanted. */
  constructor({ listsPassages }: { listsPassages: boolean }) {
    this.#listsPassages = listsPassages;
  }

  /** A file that is cached, else `null`. */
  recall(file: FileText): TokenisedFile | null {
    return this.#kept.get(toKey(file)) ?? null;
  }

  /** Tokenises files in the background, the last ones first, until `signal` fires. */
  prepare(written: readonly WrittenFile[], signal: AbortSignal): void {
    for (const { hash, path, content } of written) {
      if (content !== null) this.#written.push({ hash, path, content });
    }
    if (this.#isPreparing || this.#written.length === 0) return;
    this.#isPreparing = true;
    setImmediate(() => {
      void this.#prepareAll(signal).finally(() => (this.#isPreparing = false));
    });
  }

  async #prepareAll(signal: AbortSignal): Promise<void> {
    while (this.#written.length > 0 && !signal.aborted) {
      const isBurst = this.#written.length > PREPARED_FILES;
      if (isBurst) this.#written = this.#written.slice(-PREPARED_FILES);
      const file = this.#written.pop() as FileText & { content: string };
      const begin = performance.now();
      // A text that can't be tokenised fails the search or the update that needs it.
      await this.take(file, { isKept: true, pause: createPause() }).catch(() => undefined);
      const restMs = isBurst ? BURST_REST * (performance.now() - begin) : 0;
      if (restMs > 0) await sleep(restMs, undefined, { ref: false });
      else await nextTurn();
    }
    this.#written = [];
  }

  /** The tokenised file, from the cache or from its content. `isKept` caches it. */
  async take(
    file: FileText & { content: string },
    { isKept, pause }: { isKept: boolean; pause: Pause },
  ): Promise<TokenisedFile> {
    const key = toKey(file);
    const known = this.recall(file) ?? this.#underWay.get(key);
    if (known !== undefined) return await known;
    if (!isKept) return await this.#tokenise(file, pause);
    const working = this.#tokeniseAndKeep(file, pause).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, working);
    return await working;
  }

  async #tokeniseAndKeep(
    file: FileText & { content: string },
    pause: Pause,
  ): Promise<TokenisedFile> {
    const { payloads, hashes } = await this.#tokenise(file, pause);
    const packed = new PackedPayloads(payloads);
    const kept = { payloads: packed, hashes };
    this.#kept.set(toKey(file), kept, { size: packed.size + (hashes?.length ?? 0) });
    return kept;
  }

  async #tokenise(
    { content, path }: FileText & { content: string },
    pause: Pause,
  ): Promise<TokenisedFile> {
    const indexed = await inSlices(indexFile(content, path), pause);
    await pause();
    const payloads = await inSlices(encodeFile(indexed), pause);
    await pause();
    // An empty file has one empty passage.
    const listed = indexed.passages.filter(({ start, end }) => end > start);
    const hashes = this.#listsPassages ? await packHashes(content, listed, pause) : null;
    return { payloads, hashes };
  }
}

function toKey({ hash, path }: FileText): string {
  return `${hash} ${path}`;
}
