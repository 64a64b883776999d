import type { RevertedFile } from '../../core/contracts/admin.ts';
import type { RunRecord } from '../../core/contracts/runs.ts';
import type { AuditCaller, Host, RunRevision } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { toPhysicalPath, belowUser } from '../../core/plugin.ts';
import { DREAM_LOG, withoutEntry } from './dream-log.ts';
import { assertState, toReverted } from './life-cycle.ts';
import { detailsOf, pathsOf, type RunOperation } from './operations.ts';
import { type ActiveRun, checkStop, type RunContext, updateRun } from './run.ts';
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
  diff: '',
  diffOmitted: false,
  why: 'Its earlier content is not kept any more.',
};

const isApplied = ({ status }: RunOperation): boolean => status === 'applied';

/**
 * Undoes what a run wrote, as core does it for any writes: file by file, and only where nobody wrote
 * since. From the log of dreaming, only the entries of the run are removed. A revert that was
 * interrupted can be asked for again.
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
  const links = operations.filter(isApplied).flatMap(toLinks);
  const physical = links.map(({ from, to }) => ({
    from: toPhysical(from, run.userId),
    to: toPhysical(to, run.userId),
  }));
  const found = await host.memory.history.revertRun(run.scope, run.id, { caller, links: physical });
  const known = new Set(found.map(({ path }) => path));
  const pruned = [...new Set(operations.filter(isApplied).flatMap(pathsOf))]
    .map((path) => toPhysical(path, run.userId))
    .filter((path) => !known.has(path));
  const files = await Promise.all([
    ...found.map((file) =>
      isLog(run, file) ? takeOutEntries(host, run, { file, writes }) : Promise.resolve(file),
    ),
    ...pruned.map((path) => Promise.resolve({ path, ...GONE })),
  ]);
  const toPath = ({ path }: RevertedFile) => toVirtual(path, run.userId);
  const left = new Set(files.filter(isLeft).map(toPath));
  const reverted = new Set(files.filter((file) => !isLeft(file)).map(toPath));
  const ended = await updateRun(context, run, REVERTIBLE, (rows) => {
    const next = toReverted(rows, { reverted, left }, host.now());
    return { ...next, result: next.run };
  });
  return { run: ended, files };
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

/**
 * Removes the entries of a run from the log, whatever other runs wrote to it since. Code wrote the
 * entries, so code can find them.
 */
async function takeOutEntries(
  host: Host,
  run: ActiveRun,
  { file, writes }: { file: RevertedFile; writes: readonly RunRevision[] },
): Promise<RevertedFile> {
  const path = belowUser(DREAM_LOG);
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(run.scope, path);
    let rest = log?.content ?? null;
    for (const { revision, contents } of writes) {
      if (revision.path !== path || rest === null) continue;
      const left = withoutEntry(rest, contents?.after ?? '', run.id);
      if (left === 'changed') {
        const why = 'The entry of this run was changed since.';
        return { ...file, outcome: 'changed_since', why };
      }
      rest = left;
    }
    if (log === null || rest === log.content) {
      return isLeft(file) ? { ...file, outcome: 'unchanged', why: null } : file;
    }
    try {
      const change = {
        userId: run.userId,
        path: DREAM_LOG,
        content: rest,
        ifVersion: log.version,
        reason: `Reverts dream run ${run.id}.`,
        isRevert: true,
      };
      const [written] = await host.write([change], {
        actor: 'admin',
        runId: run.id,
        trace: run.trace,
        guards: [run.lease.guard],
      });
      const { version = null, revisionId = null } = written ?? {};
      return { ...file, outcome: 'reverted', version, revisionId, why: null };
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
