import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { Host, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { advanceRun, type ActiveRun, type RunParts } from './active-run.ts';
import { ACTOR } from './apply.ts';
import { detailsOf, isUndecided, toApplied, type RunFile } from './details.ts';
import { DREAM_LOG } from './dream-log.ts';
import { isBeingDecided, toSettled, withFiles } from './transitions.ts';
import { logRun } from './write-run.ts';

/**
 * Brings a run that was cut off to where its own revisions say that it got: whoever wrote for it may
 * not have put that down. The caller holds the user's lease.
 *
 * @param cause.failure what it ends with if it has failed.
 * @param cause.isFault whether the user waits after it.
 * @throws Stopped when the lease is lost; MemoryError as the storage does.
 */
export async function settleRun(
  parts: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
  cause: { failure: MemoryError; isFault: boolean },
): Promise<DreamRunRecord> {
  const { host, dreams } = parts;
  const row = await dreams.run(run.id);
  if (row === null) throw new MemoryError('RUN_NOT_FOUND');
  const details = detailsOf(row);
  const { files, wasLogged } = withRevisions(details.files, await host.history.ofRun(run.id));
  const waits = row.state === 'running' && isBeingDecided(row) && isUndecided(files);
  const isLogged =
    wasLogged || (!waits && (await logRun(parts, run, { ...details, files }).catch(warn)));
  return await advanceRun(parts, run, ['queued', 'running', 'canceled'], (current) => {
    const now = host.now();
    const settled = toSettled(
      { ...current, run: withFiles(current.run, files, isLogged) },
      { ...cause, now },
    );
    return { ...settled, result: settled.run };
  });

  function warn(error: unknown): false {
    const { code } = toMemoryError(error);
    host.log.warn({ runId: run.id, code }, 'the entry of a dream run was not written');
    return false;
  }
}

/** Whether a revision is a write of the run's own, and not what undid one. */
export function isRunsWrite({ revision }: RunRevision): boolean {
  return revision.action !== 'revert' && revision.actor === ACTOR;
}

/** The files as the revisions of their run tell that they are. */
function withRevisions(
  files: readonly RunFile[],
  revisions: Awaited<ReturnType<Host['history']['ofRun']>>,
): { files: RunFile[]; wasLogged: boolean } {
  const written = new Map<string, number>();
  for (const { revision } of revisions.filter(isRunsWrite)) {
    written.set(`user/${revision.path}`, revision.version);
  }
  return {
    wasLogged: written.has(`user/${DREAM_LOG}`),
    files: files.map((file) => {
      const version = written.get(file.path);
      return version === undefined || file.written !== null ? file : toApplied(file, version);
    }),
  };
}
