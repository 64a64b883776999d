import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { dreamLeaseOf } from '../../core/files/dream-names.ts';
import { toActiveRun, type ActiveRun, type RunParts } from './active-run.ts';
import { detailsOf } from './details.ts';
import { keepLease, type KeptLease } from './lease.ts';
import { finishRevert } from './revert.ts';
import { settleRun } from './settle.ts';
import { finishRunTrace } from './trace.ts';

const INTERRUPTED = 'The run was interrupted: the service that did it is gone.';

/** Ends what is done with runs whose process is gone. What cannot be ended is logged. */
export async function recoverRuns(parts: RunParts): Promise<void> {
  const { host, dreams, active, stopping } = parts;
  const warn = (runId: string | null) => (error: unknown) => {
    const { code } = toMemoryError(error);
    host.log.warn({ runId, code }, 'an interrupted dream run could not be ended');
  };
  let after: readonly (string | number)[] | null = null;
  try {
    do {
      // Proposals that wait are open, too: there may be many before a run that was cut off.
      const page: Awaited<ReturnType<typeof dreams.listRuns>> = await dreams.listRuns(
        { isOpen: true },
        { limit: 500, order: 'asc', after },
      );
      for (const { id, scope, state } of page.items) {
        if (state === 'awaiting_review' || active.has(id) || stopping.aborted) continue;
        // Who only looks at the runs sees them as they are where nothing can be written.
        await recoverLost(parts, scope).catch(warn(id));
      }
      after = page.next;
    } while (after !== null && !stopping.aborted);
  } catch (error) {
    warn(null)(error);
  }
}

/** Ends what nobody does any more with the runs of a user. The caller holds the user's lease. */
export async function recoverUser(
  parts: RunParts,
  scope: ScopeKey,
  kept: KeptLease,
): Promise<void> {
  const { dreams, active } = parts;
  const { items } = await dreams.listRuns(
    { scope, isOpen: true },
    { limit: 100, order: 'asc', after: null },
  );
  for (const { id, state } of items) {
    if (state === 'awaiting_review' || active.has(id)) continue;
    const row = await dreams.run(id);
    if (row === null) continue;
    const isUndone = detailsOf(row).undoing !== undefined;
    const name = isUndone ? 'dream.revert' : 'dream.recover';
    const run = toActiveRun(parts, { id, scope }, kept, name);
    try {
      await (isUndone ? finishRevert(parts, run) : recoverRun(parts, run));
    } catch (error) {
      run.trace.finish(error);
      throw error;
    }
  }
}

/** Ends what nobody does any more with the runs of a user, unless someone else has the lease. */
export async function recoverLost(parts: RunParts, scope: ScopeKey): Promise<void> {
  const kept = await keepLease(parts.host, dreamLeaseOf(scope.slice(2)));
  if (kept === null) return;
  try {
    await recoverUser(parts, scope, kept);
  } finally {
    await kept.release();
  }
}

async function recoverRun(parts: RunParts, run: ActiveRun): Promise<void> {
  const failure = new MemoryError('RUN_STATE', INTERRUPTED);
  const { state } = await settleRun(parts, run, { failure, isFault: true });
  // It left no event of its own: this one says what became of it.
  await finishRunTrace(parts, run, state === 'failed' ? failure : null);
  parts.host.log.info({ runId: run.id, state }, 'a dream run that was cut off is settled');
}
