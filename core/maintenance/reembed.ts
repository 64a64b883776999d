import type { EmbeddingProgress } from '../contracts/admin.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../audit.ts';
import { MemoryError } from '../errors.ts';
import type { EmbeddingWorker } from '../search/embedding/embedding-worker.ts';
import type { AdminCaller } from '../files/admin-files.ts';
import type { IdSource } from '../ids.ts';

/** Recreates the embeddings of all passages. */
export interface Reembed {
  /**
   * Drops all vectors, audited, and recreates them in the background; meanwhile finds use words only.
   * Throws `INVALID_REQUEST` if no embedder is configured.
   */
  start(caller: AdminCaller): Promise<EmbeddingProgress>;
}

/** Creates the reembed of a service; `worker` is `null` if no embedder is configured. */
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
