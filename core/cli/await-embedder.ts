import { setTimeout as sleep } from 'node:timers/promises';
import { toMemoryError } from '../errors.ts';
import { explainProviderError, readFailure } from '../providers/provider-failure.ts';
import type { Embedding } from '../search/embedding/embedding.ts';

/** For an embedder that may have to load its model first. */
const LIMIT_MS = 120_000;
const DOWNLOAD_POLL_MS = 2_500;

/**
 * Embeds two sentences, and returns the time in milliseconds. While the model is downloaded, it waits
 * and prints the progress. Throws if the embedder can't be used.
 */
export async function awaitEmbedder(embedding: Pick<Embedding, 'check'>): Promise<number> {
  for (;;) {
    const startedAt = performance.now();
    try {
      await embedding.check(null, { limitMs: LIMIT_MS });
      return performance.now() - startedAt;
    } catch (error) {
      if (!isDownloading(error)) throw error;
      process.stderr.write(`${explainProviderError(error) ?? ''}\n`);
    }
    await sleep(DOWNLOAD_POLL_MS);
  }
}

function isDownloading(error: unknown): boolean {
  const failure = readFailure(toMemoryError(error).details);
  return (failure?.lastFailure ?? failure)?.problem === 'downloading';
}
