import type { RevertedFile } from '../../core/contracts/admin.ts';
import type { RunRecord } from '../../core/contracts/runs.ts';
import type { AuditCaller, Host, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { toPhysicalPath, belowUser } from '../../core/plugin.ts';
import { DREAM_LOG, withoutEntry } from './dream-log.ts';
import { assertState, toReverted } from './life-cycle.ts';
import { detailsOf, pathsOf, type RunOperation } from './operations.ts';
import { type ActiveRun, checkStop, type RunContext, toRows, updateRun } from './run.ts';
import { toPhysical, toVirtual } from './views.ts';
import { isRunsWrite } from './write.ts';

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
 * Undoes what a run wrote, as core does it for any writes: file by file, and only where nobody wrote
 * since. From the log of dreaming, the entries of the run are removed first, and no others. The run's
 * row changes with the last files. A revert that was interrupted before that can be asked for again.
 *
 * @throws MemoryError `RUN_STATE` for a run that wrote nothing, is reverted, or has not ended.
 */
export async function revertRun(
  context: RunContext,
  run: ActiveRun,
  caller: AuditCaller,
): Promise<RevertedRun> {
  const { host } = context;
  const writes = (await host.memory.history.ofRun(run.scope, run.id)).filter(isRunsWrite);
  // The audit row is written first, so that nothing is undone without one.
  const operations = await updateRun(context, run, REVERTIBLE, ({ run: present }) => {
    assertRevertible(present, writes);
    const audit = { action: 'dream.revert', target: run.id, details: {}, caller };
    return { result: detailsOf(present).operations, audit };
  });
  checkStop(run);
  const log = await takeOutEntries(host, run, writes);
  const links = operations.filter(isApplied).flatMap(toLinks);
  const touched = [...new Set(operations.filter(isApplied).flatMap(pathsOf))];
  const toFiles = (found: readonly RevertedFile[]): RevertedFile[] => {
    const known = new Set(found.map(({ path }) => path));
    const pruned = touched
      .map((path) => toPhysical(path, run.userId))
      .filter((path) => !known.has(path));
    return [
      ...found.map((file) => (isLog(run, file) ? withLog(file, log) : file)),
      ...pruned.map((path) => ({ path, ...GONE })),
    ];
  };
  let ended: RunRecord | null = null;
  const found = await host.memory.history.revertRun(run.scope, run.id, {
    caller,
    links: links.map(({ from, to }) => ({
      from: toPhysical(from, run.userId),
      to: toPhysical(to, run.userId),
    })),
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
  if (ended === null) throw new MemoryError('INTERNAL', 'A revert left its run as it was.');
  return { run: ended, files: toFiles(found) };
}

/** Virtual paths of the files that were reverted, and of those that stay. */
function outcomeOf(
  { userId }: ActiveRun,
  files: readonly RevertedFile[],
): { reverted: ReadonlySet<string>; left: ReadonlySet<string> } {
  const toPath = ({ path }: RevertedFile) => toVirtual(path, userId);
  return {
    left: new Set(files.filter(isLeft).map(toPath)),
    reverted: new Set(files.filter((file) => !isLeft(file)).map(toPath)),
  };
}

/** Whether the revert has left a file as the run wrote it. */
export function isLeft({ outcome }: RevertedFile): boolean {
  return outcome !== 'reverted' && outcome !== 'unchanged';
}

/** Files that took lines from others, or that hold what was removed from them. */
function toLinks({ remove, add, sources }: RunOperation): { from: string; to: string }[] {
  const from = new Set(remove.map(({ path }) => path));
  const to = new Set([...(add === null ? [] : [add]), ...sources].map(({ path }) => path));
  return [...from].flatMap((one) =>
    [...to].filter((other) => other !== one).map((other) => ({ from: one, to: other })),
  );
}

function isLog({ scope }: ActiveRun, { path }: RevertedFile): boolean {
  return path === toPhysicalPath({ scope, path: belowUser(DREAM_LOG) });
}

/** What became of the log. */
type LogOutcome = Pick<RevertedFile, 'outcome' | 'why'> &
  Partial<Pick<RevertedFile, 'version' | 'revisionId'>>;

/** Core leaves a log that others wrote to: its entries were taken out, or there were none. */
function withLog(file: RevertedFile, log: LogOutcome | 'newest' | null): RevertedFile {
  if (log === 'newest') return file;
  if (log !== null) return { ...file, ...log };
  return isLeft(file) ? { ...file, outcome: 'unchanged', why: null } : file;
}

/**
 * Removes the entries of a run from the log, whatever other runs wrote to it since. Code wrote the
 * entries, so code can find them. `null` where the log has none, `newest` where nobody wrote to it
 * since: core then puts it back as it was, with the entries that made room.
 */
async function takeOutEntries(
  host: Host,
  run: ActiveRun,
  writes: readonly RunRevision[],
): Promise<LogOutcome | 'newest' | null> {
  const path = belowUser(DREAM_LOG);
  const last = writes.findLast(({ revision }) => revision.path === path)?.revision;
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(run.scope, path);
    if (log !== null && log.version === last?.version) return 'newest';
    let rest = log?.content ?? null;
    for (const { revision, contents } of writes) {
      if (revision.path !== path || rest === null) continue;
      const left = withoutEntry(rest, contents?.after ?? '', run.id);
      if (left === 'changed') {
        return { outcome: 'changed_since', why: 'The entry of this run was changed since.' };
      }
      rest = left;
    }
    if (log === null || rest === log.content) return null;
    try {
      const [written] = await host.write(
        [
          {
            userId: run.userId,
            path: DREAM_LOG,
            content: rest,
            ifVersion: log.version,
            reason: `Reverts dream run ${run.id}.`,
            isRevert: true,
          },
        ],
        { actor: 'admin', runId: run.id, trace: run.trace, guards: [run.lease.guard] },
      );
      const { version = null, revisionId = null } = written ?? {};
      return { outcome: 'reverted', why: null, version, revisionId };
    } catch (error) {
      // Other runs only add entries, so that another try will do.
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || tries === LOG_TRIES) throw error;
    }
  }
}

function assertRevertible(run: RunRecord, writes: readonly RunRevision[]): void {
  const present = assertState(run, REVERTIBLE);
  const details = { state: present.state, outcome: present.outcome };
  if (present.outcome === 'reverted') {
    throw new MemoryError('RUN_STATE', 'The run is reverted already.', { details });
  }
  if (writes.length > 0) return;
  throw new MemoryError('RUN_STATE', 'The run has written nothing.', { details });
}
