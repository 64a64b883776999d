import type { EmbeddingProgress } from '../contracts/admin.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../audit.ts';
import { MemoryError } from '../errors.ts';
import type { EmbeddingWorker } from '../search/embedding/embedding-worker.ts';
import type { AdminCaller } from '../files/admin-files.ts';
import type { IdSource } from '../ids.ts';

/** Makes the vectors of all passages anew. */
export interface Reembed {
  /**
   * Begins, audited: vectors are forgotten at once and made in the background, and finds go by the
   * words meanwhile. Throws `INVALID_REQUEST` where there is no embedder.
   */
  start(caller: AdminCaller): Promise<EmbeddingProgress>;
}

/** Makes it for a service; `worker` is `null` where no embedder is configured. */
export function createReembed(deps: {
  storage: Pick<Storage, 'mutate'>;
  worker: EmbeddingWorker | null;
  ids: IdSource;
}): Reembed {
  const { worker } = deps;
  return {
    async start({ address, traceId }) {
      if (worker === null) {
        throw new MemoryError('INVALID_REQUEST', 'No embedder is configured.');
      }
      const action = 'embeddings.reembed';
      await writeAudit(deps, { action, target: 'all', details: {}, address, traceId });
      await worker.reembed();
      return await worker.progress();
    },
  };
}
