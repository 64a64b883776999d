import { createEmbedding } from '../search/embedding/embedding.ts';
import {
  createEmbeddingWorker,
  type EmbeddingWorker,
} from '../search/embedding/embedding-worker.ts';
import { createIndexer } from '../search/index/indexer.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import type { Basis } from './basis.ts';
import type { Providers } from './providers.ts';

/** What keeps the words and the vectors of memory up to date behind the writes. */
export type SearchIndex = ReturnType<typeof createSearchIndex>;

/** Connects the indexer with the embedder, if there is one and the storage keeps vectors. */
export function createSearchIndex({ storage, settings, log }: Basis, providers: Providers) {
  const { vectors } = storage;
  const { embedder, health } = providers;
  const embedding =
    embedder === null || vectors === undefined
      ? null
      : createEmbedding(embedder, {
          questionMs: settings.search.embedTimeoutMs,
          health: health.embedder,
        });
  const caches = createSearchCaches({ listsPassages: embedding !== null });
  const indexer = createIndexer({
    store: storage.index,
    vectors,
    log,
    caches,
    onUpdate: (scopes) => embeddings?.wake(scopes),
  });
  const embeddings: EmbeddingWorker | null =
    embedding === null || vectors === undefined
      ? null
      : createEmbeddingWorker({
          embedding,
          vectors,
          indexer,
          log,
          index: storage.index,
          config: storage.config,
        });
  return { caches, indexer, embedding, embeddings };
}
