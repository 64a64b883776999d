import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller, Host, PluginDreams, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { detailsOf, withDetails, type RunFile } from './details.ts';
import { keepLease, leaseOf } from './lease.ts';
import { finishRunTrace, startRunTrace } from './trace.ts';

/** What an undone run came to. Paths are virtual. */
export interface RevertedRun {
  run: DreamRunRecord;
  reverted: readonly { path: string; version: number; revisionId: string }[];
  left: readonly { path: string; why: string }[];
}

const REVERTIBLE: readonly DreamRunRecord['state'][] = ['completed', 'failed', 'canceled'];

/**
 * Puts back what a run's files held before it, each only if nobody has changed it since. A file that
 * took lines of another one keeps them while that one cannot be put back: nothing is lost.
 *
 * @throws MemoryError `RUN_STATE` for a run that wrote nothing, is undone, or has not ended;
 * `DREAM_RUNNING` while one of this user is under way.
 */
export async function revertRun(
  deps: { host: Host; dreams: PluginDreams },
  run: DreamRunRecord,
  caller: AuditCaller,
): Promise<RevertedRun> {
  const { host, dreams } = deps;
  const userId = run.scope.slice(2);
  const kept = await keepLease(host, leaseOf(userId));
  if (kept === null) throw new MemoryError('DREAM_RUNNING');
  const trace = startRunTrace(host, { id: run.id, userId }, 'dream.revert');
  try {
    const lease = { name: kept.name, fence: kept.fence };
    const request = { scope: run.scope, runId: run.id, lease };
    // The audit row comes first: nothing is undone without one.
    await dreams.update(request, ({ run: current }) => {
      assertRevertible(current);
      return {
        result: null,
        audit: { action: 'dream.revert', target: run.id, details: {}, caller },
      };
    });
    const revisions = (await host.history.ofRun(run.id)).filter(isWrite).reverse();
    const { files } = detailsOf(run);
    const reverted: { path: string; version: number; revisionId: string }[] = [];
    const left: { path: string; why: string }[] = [];
    const undone = new Map(
      files.filter(({ status }) => status === 'reverted').map(({ path }) => [path, 0]),
    );
    const wasUndone = new Set(undone.keys());
    for (const { revision, contents } of revisions) {
      const path = `user/${revision.path}`;
      if (wasUndone.has(path)) continue;
      const why = findHold(path, files, undone) ?? (contents === null ? PRUNED : null);
      if (why !== null || contents === null) {
        left.push({ path, why: why ?? PRUNED });
        continue;
      }
      const current = await host.memory.read(run.scope, revision.path);
      // A later run that was undone has left what this one wrote, at another version.
      const isAsLeft = (current?.content ?? null) === contents.after;
      try {
        const written = await host.write(
          {
            userId,
            path,
            content: contents.before,
            reason: `Reverts dream run ${run.id}.`,
            ifVersion: isAsLeft ? (current?.version ?? 0) : revision.version,
            isRevert: true,
          },
          { actor: 'admin', runId: run.id, trace, guards: [kept.lease.guard] },
        );
        undone.set(path, written.version);
        reverted.push({ path, version: written.version, revisionId: written.revisionId });
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        if (error.code !== 'VERSION_CONFLICT' && error.code !== 'QUOTA_EXCEEDED') throw error;
        left.push({ path, why: error.message });
      }
    }
    const ended = await dreams.update(request, ({ user, run: current }) => {
      const present = assertRevertible(current);
      const details = detailsOf(present);
      const next = details.files.map((file): RunFile =>
        undone.has(file.path) ? { ...file, status: 'reverted' } : file,
      );
      const isWhole = left.length === 0;
      const result: DreamRunRecord = {
        ...withDetails(present, { ...details, files: next }),
        outcome: isWhole ? 'reverted' : reverted.length > 0 ? 'partial' : present.outcome,
      };
      const ownWriteAt = reverted.length > 0 ? host.now() : user.ownWriteAt;
      return { result, run: result, user: { ...user, ownWriteAt } };
    });
    await finishRunTrace(deps, { id: run.id, trace }, null);
    return { run: ended, reverted, left };
  } catch (error) {
    trace.finish(error);
    throw error;
  } finally {
    await kept.release();
  }
}

const PRUNED = 'its earlier content is not kept any more';

function isWrite({ revision }: RunRevision): boolean {
  return revision.action !== 'revert' && revision.actor === 'dream-agent';
}

/** A file whose lines went into this one, and that stays as the run left it. */
function findHold(
  path: string,
  files: readonly RunFile[],
  undone: ReadonlyMap<string, number>,
): string | null {
  const giver = files.find(
    (file) =>
      file.written !== null &&
      !undone.has(file.path) &&
      file.needs.some((need) => need.path === path),
  );
  return giver === undefined ? null : `it holds lines of ${giver.path}, which was changed since`;
}

function assertRevertible(run: DreamRunRecord | null): DreamRunRecord {
  if (run === null) throw new MemoryError('RUN_NOT_FOUND');
  if (REVERTIBLE.includes(run.state) && run.outcome !== 'reverted' && run.writes > 0) return run;
  const message =
    run.writes === 0 ? 'The run has written nothing.' : 'The run cannot be undone in this state.';
  throw new MemoryError('RUN_STATE', message, {
    details: { state: run.state, outcome: run.outcome },
  });
}
