import type { DreamOutcome } from '../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { advanceRun, toActiveRun, type ActiveRun, type RunParts } from './active-run.ts';
import { detailsOf, type RunFile } from './details.ts';
import { keepLease, leaseOf, type KeptLease } from './lease.ts';
import { finishRunTrace } from './trace.ts';
import { hasWritten, toEnded, toFailed, toLeftOver, withFiles } from './transitions.ts';
import { logRun } from './write-run.ts';

const INTERRUPTED = 'The run was interrupted: the service that did it is gone.';

/** Ends runs whose process is gone; what cannot be ended is logged. */
export async function recoverRuns(parts: RunParts): Promise<void> {
  const { host, dreams, active, stopping } = parts;
  let after: readonly (string | number)[] | null = null;
  do {
    // Proposals that wait are open, too: there may be many before a run that was cut off.
    const page: Awaited<ReturnType<typeof dreams.listRuns>> = await dreams.listRuns(
      { isOpen: true },
      { limit: 500, order: 'asc', after },
    );
    for (const { id, scope, state } of page.items) {
      if (state === 'awaiting_review' || active.has(id) || stopping.aborted) continue;
      // Who only looks at the runs sees them as they are where nothing can be written.
      await recoverLost(parts, scope).catch((error: unknown) => {
        const { code } = toMemoryError(error);
        host.log.warn({ runId: id, code }, 'an interrupted dream run could not be ended');
      });
    }
    after = page.next;
  } while (after !== null);
}

/** Ends the runs of a user that nobody does any more. The caller holds the user's lease. */
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
    const run = toActiveRun(parts, { id, scope }, kept, 'dream.recover');
    await recoverRun(parts, run).catch((error: unknown) => {
      run.trace.finish(error);
      throw error;
    });
  }
}

/** The same, unless someone else has the lease. */
async function recoverLost(parts: RunParts, scope: ScopeKey): Promise<void> {
  const kept = await keepLease(parts.host, leaseOf(scope.slice(2)));
  if (kept === null) return;
  try {
    await recoverUser(parts, scope, kept);
  } finally {
    await kept.release();
  }
}

async function recoverRun(parts: RunParts, run: ActiveRun): Promise<void> {
  const { host, dreams } = parts;
  const row = await dreams.run(run.id);
  if (row === null) return;
  const details = detailsOf(row);
  const written = new Map<string, number>();
  for (const { revision } of await host.history.ofRun(run.id)) {
    if (revision.action !== 'revert') written.set(`user/${revision.path}`, revision.version);
  }
  const files = details.files.map((file): RunFile => {
    const version = written.get(file.path);
    if (file.status !== 'proposed' || version === undefined) return file;
    return { ...file, status: 'applied', after: null, diff: null, written: version };
  });
  const wasLogged = written.has('user/dream-log.md');
  const isLogged =
    wasLogged || (await logRun(parts, run, files, details.maxWrites).catch(() => false));
  const wasApplying = row.mode === 'review' && files.some(({ status }) => status === 'proposed');
  await advanceRun(parts, run, ['queued', 'running'], ({ user, run: current }) => {
    const now = host.now();
    const ownWriteAt = hasWritten(files) ? now : user.ownWriteAt;
    const settled = withFiles(current, wasApplying ? files : files.map(toLeftOver), isLogged);
    if (wasApplying && !current.dryRun) {
      return {
        result: null,
        run: { ...settled, state: 'awaiting_review' },
        user: { ...user, ownWriteAt, status: 'awaiting_review' },
      };
    }
    const outcome: DreamOutcome | null = hasWritten(files) ? 'partial' : null;
    const ended = {
      ...toEnded(settled, { state: 'failed', outcome, now }),
      errorCode: 'RUN_STATE',
      errorMessage: INTERRUPTED,
    };
    const next = {
      ...toFailed(user, now),
      ownWriteAt,
      status: 'failed' as const,
      lastRunAt: now,
      filesTouched: ended.filesTouched,
      error: INTERRUPTED,
    };
    return { result: null, run: ended, ...(current.dryRun ? {} : { user: next }) };
  });
  // It left no event of its own: this one says what became of it.
  await finishRunTrace(parts, run, new MemoryError('RUN_STATE', INTERRUPTED));
  host.log.warn({ runId: run.id }, 'a dream run that was interrupted was brought to its end');
}
