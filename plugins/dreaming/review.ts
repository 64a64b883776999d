import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import {
  advanceRun,
  findStop,
  toFailure,
  underLease,
  type ActiveRun,
  type RunParts,
} from './active-run.ts';
import {
  detailsOf,
  hasWritten,
  isUndecided,
  toRejected,
  withDetails,
  type RunDetails,
} from './details.ts';
import { holdRun } from './hold-run.ts';
import { settleRun } from './settle.ts';
import { finishRunTrace } from './trace.ts';
import { assertState, toReviewed, withFiles } from './transitions.ts';
import { logRun, writeRunFiles } from './write-run.ts';

/** What a person decides of a proposal. Paths are virtual; `null` is all that is not decided on. */
export interface Decision {
  verb: 'apply' | 'reject';
  paths: readonly string[] | null;
  caller: AuditCaller;
}

/**
 * Writes what a run proposes, or drops it: all of it or some files. Once all of it is decided on,
 * the run ends, with its entry in the log.
 *
 * @throws MemoryError `RUN_STATE` for a run that does not await review, or is canceled meanwhile;
 * `INVALID_REQUEST` for a file that it does not propose; `DREAM_RUNNING` while something else is
 * done with this user.
 */
export async function decideOnProposal(
  parts: RunParts,
  row: DreamRunRecord,
  decision: Decision,
): Promise<DreamRunRecord> {
  assertState(row, ['awaiting_review']);
  const picked = pickFiles(row, decision.paths);
  return await holdRun(parts, row, 'dream.apply', async (run) => {
    const begun = await begin(parts, run, picked, decision);
    if (begun.state !== 'running') return begun;
    return await carryOut(parts, run, decision.verb === 'apply' ? picked : new Set(), begun);
  });
}

/** Puts the decision down. The run goes on only if there is something to be written for it. */
async function begin(
  { dreams, host }: RunParts,
  active: ActiveRun,
  picked: ReadonlySet<string>,
  { verb, caller }: Decision,
): Promise<DreamRunRecord> {
  const { fence } = active.kept;
  return await dreams.update(underLease(active), ({ user, run }) => {
    const present = assertState(run, ['awaiting_review']);
    const audit = {
      action: `dream.${verb}`,
      target: present.id,
      details: { paths: [...picked] },
      caller,
    };
    const details = detailsOf(present);
    const files =
      verb === 'apply'
        ? details.files
        : details.files.map((file) => (picked.has(file.path) ? toRejected(file) : file));
    const next = withDetails({ ...present, fence }, { ...details, files });
    const isToBeLogged = !isUndecided(files) && hasWritten(files);
    if (verb === 'reject' && !isToBeLogged) {
      const now = host.now();
      const reviewed = toReviewed({ user, run: next }, { now, hasJustWritten: false });
      return { ...reviewed, audit, result: reviewed.run };
    }
    const running: DreamRunRecord = { ...next, state: 'running' };
    return {
      audit,
      result: running,
      run: running,
      user: { ...user, status: 'running', fence },
    };
  });
}

async function carryOut(
  parts: RunParts,
  run: ActiveRun,
  picked: ReadonlySet<string>,
  row: DreamRunRecord,
): Promise<DreamRunRecord> {
  try {
    const decided = await writePicked(parts, run, picked, detailsOf(row));
    await finishRunTrace(parts, run, null);
    return decided;
  } catch (error) {
    const { signal } = run.stopping;
    const reason: unknown = signal.aborted ? signal.reason : error;
    const failure = toFailure(reason);
    if (findStop(reason)?.why !== 'lease_lost') {
      await settleRun(parts, run, { failure, isFault: true }).catch((thrown: unknown) => {
        // The database is gone: the run is settled by `recoverRuns`.
        const { code } = toMemoryError(thrown);
        parts.host.log.error({ runId: run.id, code }, 'a dream run could not be settled');
      });
    }
    await finishRunTrace(parts, run, failure);
    throw failure;
  }
}

async function writePicked(
  parts: RunParts,
  run: ActiveRun,
  picked: ReadonlySet<string>,
  details: RunDetails,
): Promise<DreamRunRecord> {
  const files = await writeRunFiles(parts, run, details, picked);
  const isLogged = !isUndecided(files) && (await logRun(parts, run, { ...details, files }));
  return await advanceRun(parts, run, ['running'], ({ user, run: current }) => {
    const reviewed = toReviewed(
      { user, run: withFiles(current, files, isLogged) },
      { now: parts.host.now(), hasJustWritten: hasWritten(files) },
    );
    return { ...reviewed, result: reviewed.run };
  });
}

/** Proposed files by their paths, or all of them; throws for one that the run does not have. */
function pickFiles(run: DreamRunRecord, paths: readonly string[] | null): Set<string> {
  const { files } = detailsOf(run);
  const proposed = files.filter(({ status }) => status === 'proposed').map(({ path }) => path);
  const foreign = paths?.find((path) => !proposed.includes(path));
  if (foreign !== undefined) {
    const message = 'names a file that this run does not propose';
    throw new MemoryError('INVALID_REQUEST', `paths ${message}.`, {
      details: { issues: [{ path: '/paths', message }] },
    });
  }
  return new Set(paths ?? proposed);
}
