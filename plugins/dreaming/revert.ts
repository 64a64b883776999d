import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller, Host, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import {
  advanceRun,
  checkStop,
  toFailure,
  underLease,
  type ActiveRun,
  type RunParts,
} from './active-run.ts';
import { isRefusal } from './apply.ts';
import { detailsOf, withDetails, type RunFile } from './details.ts';
import { DREAM_LOG, LOG_TRIES, withoutEntry } from './dream-log.ts';
import { isRunsWrite } from './settle.ts';
import { finishRunTrace } from './trace.ts';
import { assertState } from './transitions.ts';

/** What an undone run came to. Paths are virtual. */
export interface RevertedRun {
  run: DreamRunRecord;
  reverted: readonly { path: string; version: number; revisionId: string }[];
  left: readonly { path: string; why: string }[];
}

const REVERTIBLE: readonly DreamRunRecord['state'][] = ['completed', 'failed', 'canceled'];
const PRUNED = 'its earlier content is not kept any more';

/**
 * Puts back what a run's files held before it, each only if nobody has changed it since. A file that
 * took lines of another one keeps them while that one cannot be put back: nothing is lost. Out of the
 * log its own entry is taken, and no other. An undoing that was cut off goes on where it stopped.
 *
 * @throws MemoryError `RUN_STATE` for a run that wrote nothing, is undone, or has not ended.
 */
export async function revertRun(
  parts: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
  caller: AuditCaller,
): Promise<RevertedRun> {
  const revisions = await parts.host.history.ofRun(run.id);
  // The audit row comes first: nothing is undone without one.
  await parts.dreams.update(underLease(run), ({ run: current }) => {
    const present = assertState(current, REVERTIBLE);
    assertRevertible(present, revisions);
    const details = detailsOf(present);
    const undoing = details.undoing ?? { endedAt: present.endedAt };
    return {
      result: null,
      // Open again, so that it is found if this process does not end it.
      run: withDetails({ ...present, endedAt: null }, { ...details, undoing }),
      audit: { action: 'dream.revert', target: run.id, details: {}, caller },
    };
  });
  return await finishRevert(parts, run);
}

/** Goes on with an undoing that was begun. */
export async function finishRevert(
  parts: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
): Promise<RevertedRun> {
  const { host, dreams } = parts;
  try {
    const row = await dreams.run(run.id);
    if (row === null) throw new MemoryError('RUN_NOT_FOUND');
    const { files } = detailsOf(row);
    const { undone, reverted, left } = await putBack(parts, run, files);
    const ended = await advanceRun(parts, run, REVERTIBLE, ({ user, run: current }) => {
      const { undoing, ...details } = detailsOf(current);
      const next = details.files.map((file): RunFile =>
        undone.has(file.path) ? { ...file, status: 'reverted' } : file,
      );
      const isWhole = left.length === 0;
      const result: DreamRunRecord = {
        ...withDetails(current, { ...details, files: next }),
        endedAt: undoing?.endedAt ?? current.endedAt ?? host.now(),
        outcome: isWhole ? 'reverted' : undone.size > 0 ? 'partial' : current.outcome,
      };
      const ownWriteAt = reverted.length > 0 ? host.now() : user.ownWriteAt;
      return { result, run: result, user: { ...user, ownWriteAt } };
    });
    await finishRunTrace(parts, run, null);
    return { run: ended, reverted, left };
  } catch (error) {
    const failure = toFailure(error);
    run.trace.finish(failure);
    throw failure;
  }
}

async function putBack(
  { host }: Pick<RunParts, 'host'>,
  run: ActiveRun,
  files: readonly RunFile[],
): Promise<Pick<RevertedRun, 'reverted' | 'left'> & { undone: ReadonlySet<string> }> {
  const revisions = await host.history.ofRun(run.id);
  const writes = revisions.filter(isRunsWrite).reverse();
  const undoings = undoingsOf(revisions);
  const reverted: { path: string; version: number; revisionId: string }[] = [];
  const undone = new Set<string>();
  const left = files
    .filter(({ path, written }) => written !== null && !writes.some(isOf(path)))
    .map(({ path }) => ({ path, why: PRUNED }));
  for (const { revision, contents } of writes) {
    const path = `user/${revision.path}`;
    const earlier = undoings.get(path)?.shift();
    if (earlier !== undefined) {
      undone.add(path);
      reverted.push({ path, version: earlier.version, revisionId: earlier.id });
      continue;
    }
    const why = findHold(path, files, undone) ?? (contents === null ? PRUNED : null);
    if (why !== null || contents === null) {
      left.push({ path, why: why ?? PRUNED });
      continue;
    }
    try {
      const written =
        revision.path === DREAM_LOG
          ? await takeOutEntry(host, run, contents)
          : await putFileBack(host, run, revision, contents);
      if (written === 'changed') {
        left.push({ path, why: 'the entry of this run was changed since' });
        continue;
      }
      undone.add(path);
      if (written !== null) reverted.push({ path, ...written });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      left.push({ path, why: error.message });
    }
  }
  return { undone, reverted, left };
}

type Contents = NonNullable<RunRevision['contents']>;
type Written = { version: number; revisionId: string };

/** What a file holds is put back as a whole; `null` where somebody else has done it. */
async function putFileBack(
  host: Pick<Host, 'memory' | 'write'>,
  run: ActiveRun,
  { path, version }: RunRevision['revision'],
  { before, after }: Contents,
): Promise<Written | null> {
  const current = await host.memory.read(run.scope, path);
  const present = current?.content ?? null;
  if (present === before) return null;
  // A later run that was undone has left what this one wrote, at another version.
  const ifVersion = present === after ? (current?.version ?? 0) : version;
  return await writeBack(host, run, { path, content: before, ifVersion });
}

/**
 * Takes the entry of a run out of the log, whatever was written to that since: code wrote it, and
 * knows it again. `null` where it is in it no more, `changed` where somebody has edited it.
 */
async function takeOutEntry(
  host: Pick<Host, 'memory' | 'write'>,
  run: ActiveRun,
  { before, after }: Contents,
): Promise<Written | 'changed' | null> {
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(run.scope, DREAM_LOG);
    const present = log?.content ?? null;
    if (log === null || present === null || present === before) return null;
    const rest = present === after ? before : withoutEntry(present, after ?? '', run.id);
    if (rest === 'changed') return rest;
    if (rest === present) return null;
    try {
      return await writeBack(host, run, {
        path: DREAM_LOG,
        content: rest,
        ifVersion: log.version,
      });
    } catch (error) {
      // Its other writers only add to it.
      if (!isRefusal(error) || error.code !== 'VERSION_CONFLICT' || tries === LOG_TRIES)
        throw error;
    }
  }
}

async function writeBack(
  host: Pick<Host, 'write'>,
  run: ActiveRun,
  { path, content, ifVersion }: { path: string; content: string | null; ifVersion: number },
): Promise<Written> {
  const { id, userId, trace, kept } = run;
  checkStop(run);
  const { version, revisionId } = await host.write(
    {
      userId,
      path: `user/${path}`,
      content,
      reason: `Reverts dream run ${id}.`,
      ifVersion,
      isRevert: true,
    },
    { actor: 'admin', runId: id, trace, guards: [kept.lease.guard] },
  );
  return { version, revisionId };
}

/** What has undone writes of the run so far, by path, in the order in which it did. */
function undoingsOf(revisions: readonly RunRevision[]): Map<string, RunRevision['revision'][]> {
  const undoings = new Map<string, RunRevision['revision'][]>();
  for (const { revision } of revisions) {
    if (revision.action !== 'revert') continue;
    const path = `user/${revision.path}`;
    undoings.set(path, [...(undoings.get(path) ?? []), revision]);
  }
  return undoings;
}

function isOf(path: string): (write: RunRevision) => boolean {
  return ({ revision }) => `user/${revision.path}` === path;
}

/** A file whose lines went into this one, and that stays as the run left it. */
function findHold(
  path: string,
  files: readonly RunFile[],
  undone: ReadonlySet<string>,
): string | null {
  const giver = files.find(
    (file) =>
      file.written !== null &&
      !undone.has(file.path) &&
      file.needs.some((need) => need.path === path),
  );
  return giver === undefined ? null : `it holds lines of ${giver.path}, which was changed since`;
}

function assertRevertible(run: DreamRunRecord, revisions: readonly RunRevision[]): void {
  const details = { state: run.state, outcome: run.outcome };
  if (run.outcome === 'reverted') {
    throw new MemoryError('RUN_STATE', 'The run is undone already.', { details });
  }
  if (run.writes > 0 || revisions.some(isRunsWrite)) return;
  throw new MemoryError('RUN_STATE', 'The run has written nothing.', { details });
}
