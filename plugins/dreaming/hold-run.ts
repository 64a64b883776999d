import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import { MemoryError } from '../../core/errors.ts';
import { dreamLeaseOf } from '../../core/files/dream-names.ts';
import { toActiveRun, type ActiveRun, type RunParts } from './active-run.ts';
import { keepLease } from './lease.ts';
import type { RunTraceName } from './trace.ts';

/**
 * Does something with a run that nobody does: nothing else is done with its user meanwhile.
 *
 * @throws MemoryError `DREAM_RUNNING` while something is, also by another instance.
 */
export async function holdRun<T>(
  parts: RunParts,
  row: DreamRunRecord,
  name: RunTraceName,
  work: (run: ActiveRun) => Promise<T>,
): Promise<T> {
  assertOpen(parts);
  const kept = await keepLease(parts.host, dreamLeaseOf(row.scope.slice(2)));
  if (kept === null) throw new MemoryError('DREAM_RUNNING');
  const run = toActiveRun(parts, row, kept, name);
  parts.active.set(row.id, run);
  try {
    return await work(run);
  } finally {
    parts.active.delete(row.id);
    await kept.release();
  }
}

/** Throws `SHUTTING_DOWN` once the service ends: nothing is begun then. */
export function assertOpen({ stopping }: Pick<RunParts, 'stopping'>): void {
  if (!stopping.aborted) return;
  throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 });
}
