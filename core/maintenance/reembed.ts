import type { EmbeddingProgress } from '../contracts/admin.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../telemetry/audit.ts';
import { MemoryError } from '../errors.ts';
import type { EmbeddingWorker } from '../search/embedding/embedding-worker.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { IdSource } from '../ids/ids.ts';

/**
 * Drops the vectors of all passages, audited, and recreates them in the background; meanwhile finds
 * use words only. Throws `INVALID_REQUEST` if no embedder is configured: then `worker` is `null`.
 */
export async function reembed(
  deps: { storage: Pick<Storage, 'mutate'>; worker: EmbeddingWorker | null; ids: IdSource },
  caller: AuditCaller,
): Promise<EmbeddingProgress> {
  const { worker } = deps;
  if (worker === null) {
    throw new MemoryError('INVALID_REQUEST', 'No embedder is configured.', {
      action: 'An operator has to set SERVICE_EMBEDDING_PROVIDER and its settings.',
    });
  }
  const action = 'embeddings.reembed';
  await writeAudit(deps, { action, target: 'all', details: {}, ...caller });
  await worker.reembed();
  return await worker.progress();
}
