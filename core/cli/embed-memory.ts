import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadedConfig } from '../config/index.ts';
import type { MemoryServiceConfig } from '../config/service.ts';
import type { AdminStatus, EmbeddingProgress } from '../contracts/admin.ts';
import { createEmbedding } from '../search/embedding/embedding.ts';
import { createEmbeddingWorker } from '../search/embedding/embedding-worker.ts';
import { createIndexer } from '../search/index/indexer.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import { awaitEmbedder } from './await-embedder.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import { withStorage } from './open-memory.ts';
import { createProgress, type RunningServer } from './running-server.ts';

const NO_EMBEDDER =
  'No embedder is configured: set SERVICE_EMBEDDING_PROVIDER and its settings, or run memory-service embedder setup.';
const POLL_MS = 500;

/**
 * Embeds the passages that have no vector yet, in this process and with progress; with `isAnew` all
 * of them. Returns the number of texts.
 */
export function embedHere(
  loaded: LoadedConfig,
  config: MemoryServiceConfig,
  { isAnew }: { isAnew: boolean },
): Promise<number> {
  const { embedder = null } = config;
  if (embedder === null) throw new StartError(NO_EMBEDDER);
  return withStorage(loaded, config, async (storage) => {
    const { vectors } = storage;
    if (vectors === undefined) throw new StartError(`${storage.name} keeps no vectors.`);
    const log = createLog(loaded.values.logLevel);
    const caches = createSearchCaches({ listsPassages: true });
    const indexer = createIndexer({ store: storage.index, log, caches });
    const questionMs = loaded.values['search.embedTimeoutMs'];
    const embedding = createEmbedding(embedder, { questionMs });
    const { index, config: entries } = storage;
    const deps = { embedding, vectors, index, config: entries, indexer, log };
    const worker = createEmbeddingWorker(deps);
    const show = createProgress('texts');
    try {
      // An embedder that fails must not cost the vectors that there are.
      await awaitEmbedder(embedding);
      if (isAnew) await worker.reembed();
      await worker.drain((done) => show(done, null));
      return (await worker.progress()).textsEmbedded;
    } finally {
      await worker.stop();
      await indexer.stop();
    }
  });
}

/** The vectors that a running server has made; `null` where it has no embedder. */
export async function readProgress({ ask }: RunningServer): Promise<EmbeddingProgress | null> {
  return (await ask<Pick<AdminStatus, 'embedder'>>('GET', 'status')).embedder.progress;
}

/** Waits until a running server has embedded all memory, with progress. Returns the number of texts. */
export async function awaitVectors(
  server: RunningServer,
  { address, before }: { address: string; before: EmbeddingProgress },
): Promise<number> {
  const show = createProgress('texts');
  for (;;) {
    const progress = await readProgress(server);
    const { state, textsEmbedded, textsWaiting, lastFailureReason } = progress ?? before;
    const done = Math.max(0, textsEmbedded - before.textsEmbedded);
    if (state === 'idle') return done;
    if (state === 'paused') {
      throw new StartError(
        `The embedder of the server at ${address} fails (${lastFailureReason ?? 'no reason'}): the server goes on by itself once it answers.`,
      );
    }
    show(done, done + textsWaiting);
    await sleep(POLL_MS);
  }
}
