import type { RevertedFile, RevertRequest } from '../../core/contracts/admin.ts';
import type { RunRecord } from '../../core/contracts/runs.ts';
import type { AuditCaller, Host, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { toPhysicalPath, toVirtualPath } from '../../core/plugin.ts';
import { DREAM_LOG, hasRevert, toLogged } from './dream-log.ts';
import { assertState, toReverted } from './life-cycle.ts';
import { detailsOf, pathsOf, type RunOperation } from './operations.ts';
import { ACTOR, type ActiveRun, checkStop, type RunContext, toRows, updateRun } from './run.ts';
import { toPhysical, toVirtual } from './views.ts';
import { isRunsWrite } from './write.ts';

/** How a run is reverted. */
export interface RevertOptions {
  caller: AuditCaller;
  /** As in a revert of any writes. */
  onConflict?: RevertRequest['onConflict'] | undefined;
  resolutions?: RevertRequest['resolutions'] | undefined;
}

/** A run after its revert, with what became of each file. Paths are physical. */
export interface RevertedRun {
  run: RunRecord;
  files: readonly RevertedFile[];
}

const REVERTIBLE = ['completed', 'failed', 'canceled'] as const;
const LOG_TRIES = 3;
/** The outcome of a file whose revisions of the run are all pruned. */
const GONE: Omit<RevertedFile, 'path'> = {
  outcome: 'gone',
  version: null,
  revisionId: null,
  fromVersion: null,
  conflicts: [],
  blanked: 0,
  diff: '',
  diffOmitted: false,
  why: 'Its earlier content is not kept any more.',
};

const isApplied = ({ status }: RunOperation): boolean => status === 'applied';

/**
 * Undoes what a run wrote, as core does it for any writes: file by file, and what others wrote since
 * stays. The log of dreaming keeps the entry of the run, and gets one for the revert. The run's row
 * changes with the last files. A revert that was interrupted before that can be asked for again; one that
 * was interrupted after it, too: then the log gets its entry, before the run is refused as reverted.
 *
 * @throws MemoryError `RUN_STATE` for a run that wrote nothing, is reverted, or has not ended;
 *   `CONFLICTS_UNDECIDED` and others of core for resolutions that leave a conflict open, or do not fit.
 */
export async function revertRun(
  context: RunContext,
  run: ActiveRun,
  { caller, onConflict, resolutions }: RevertOptions,
): Promise<RevertedRun> {
  const { host } = context;
  const writes = (await host.memory.history.ofRun(run.scope, run.id)).filter(isRunsWrite);
  // The audit row is written first, so that nothing is undone without one.
  const before = await updateRun(context, run, REVERTIBLE, ({ run: present }) => {
    const details = detailsOf(present);
    if (present.outcome === 'reverted') return { result: { details, isReverted: true } };
    assertRevertible(present, writes);
    const audit = { action: 'dream.revert', target: run.id, details: {}, caller };
    return { result: { details, isReverted: false }, audit };
  });
  checkStop(run);
  const { operations, reverted } = before.details;
  if (before.isReverted) {
    await logRevert(host, run, { undone: [], reverted });
    throw alreadyReverted();
  }
  const links = operations.filter(isApplied).flatMap(toLinks);
  const touched = [...new Set(operations.filter(isApplied).flatMap(pathsOf))];
  const logPath = toPhysicalPath({ scope: run.scope, path: DREAM_LOG });
  const toFiles = (found: readonly RevertedFile[]): RevertedFile[] => {
    const known = new Set(found.map(({ path }) => path));
    const pruned = touched
      .map((path) => toPhysical(path, run.scope))
      .filter((path) => !known.has(path));
    return [...found, ...pruned.map((path) => ({ path, ...GONE }))];
  };
  let ended: RunRecord | null = null;
  const found = await host.memory.history.revertRun(run.scope, run.id, {
    caller,
    links: links.map(({ from, to }) => ({
      from: toPhysical(from, run.scope),
      to: toPhysical(to, run.scope),
    })),
    except: [logPath],
    onConflict,
    resolutions,
    lease: run.lease.guard,
    with(files, current) {
      const next = toReverted(
        toRows(current, REVERTIBLE),
        outcomeOf(run, toFiles(files)),
        host.now(),
      );
      ended = next.run;
      return next;
    },
  });
  run.lease.noteProgress();
  const undone = found.filter(({ version }) => version !== null);
  await logRevert(host, run, {
    undone: undone.map(({ path }) => toVirtual(path, run.scope)),
    reverted,
  });
  if (ended === null) throw new MemoryError('INTERNAL', 'A revert left its run as it was.');
  return { run: ended, files: toFiles(found) };
}

/** Virtual paths of the files that were reverted, and of those that stay. */
function outcomeOf(
  { scope }: ActiveRun,
  files: readonly RevertedFile[],
): { reverted: ReadonlySet<string>; left: ReadonlySet<string> } {
  const toPath = ({ path }: RevertedFile) => toVirtual(path, scope);
  return {
    left: new Set(files.filter(isLeft).map(toPath)),
    reverted: new Set(files.filter((file) => !isLeft(file)).map(toPath)),
  };
}

/** Whether the revert has left a file as the run wrote it. */
export function isLeft({ outcome }: RevertedFile): boolean {
  return !['reverted', 'merged', 'unchanged'].includes(outcome);
}

/** Files that took lines from others, or that hold what was removed from them. */
function toLinks({ remove, add, sources }: RunOperation): { from: string; to: string }[] {
  const from = new Set(remove.map(({ path }) => path));
  const to = new Set([...(add === null ? [] : [add]), ...sources].map(({ path }) => path));
  return [...from].flatMap((one) =>
    [...to].filter((other) => other !== one).map((other) => ({ from: one, to: other })),
  );
}

/**
 * Adds an entry of the revert to the log, which keeps that of the run. The files are reverted already: a
 * log that can't be written lacks the entry. `undone` are those of this revert, by their virtual paths;
 * `reverted` those of earlier ones, which get an entry if they have none.
 */
async function logRevert(
  host: Host,
  run: ActiveRun,
  { undone, reverted }: { undone: readonly string[]; reverted: readonly string[] },
): Promise<void> {
  const paths = undone.length > 0 ? undone : reverted;
  if (paths.length === 0) return;
  const entry = {
    runId: run.id,
    isRevert: true,
    at: host.now(),
    files: paths.map((path) => ({ path, what: 'reverted' })),
  };
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(run.scope, DREAM_LOG);
    if (undone.length === 0 && hasRevert(log?.content ?? '', run.id)) return;
    const content = toLogged(log?.content ?? null, entry, host.settings.maxFileBytes);
    if (content === null) return;
    try {
      await host.write(
        [
          {
            scope: run.scope,
            path: toVirtualPath({ scope: run.scope, path: DREAM_LOG }),
            content,
            ifVersion: log?.version ?? 0,
            reason: 'Entry of a reverted dream run.',
          },
        ],
        { actor: ACTOR, trace: run.trace, guards: [run.lease.guard], isOperators: true },
      );
      return;
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (isConflict && tries < LOG_TRIES) continue;
      const code = error instanceof MemoryError ? error.code : 'INTERNAL';
      host.log.warn({ runId: run.id, code }, 'the entry of a reverted dream run was not written');
      return;
    }
  }
}

function assertRevertible(run: RunRecord, writes: readonly RunRevision[]): void {
  const present = assertState(run, REVERTIBLE);
  const details = { state: present.state, outcome: present.outcome };
  if (writes.length > 0) return;
  throw new MemoryError('RUN_STATE', 'The run has written nothing.', { details });
}

function alreadyReverted(): MemoryError {
  return new MemoryError('RUN_STATE', 'The run is reverted already.', {
    details: { state: 'completed', outcome: 'reverted' },
  });
}
