import type { ScopeKey } from '../../core/contracts/records.ts';
import type { RunListing, RunRecord, RunUser } from '../../core/contracts/runs.ts';
import type { Host } from '../../core/contracts/plugin.ts';
import type { LineView } from '../../core/edits/views.ts';
import type {
  AdminDreamOperation,
  AdminDreamRun,
  AdminDreamRunDetail,
} from '../../core/schemas/dreams.ts';
import { toTime, toTimeOrNull } from '../../core/time/time.ts';
import { judgeUser, type Circumstances } from './eligibility.ts';
import { detailsOf, isApplicable, pathsOf, type RunOperation } from './operations.ts';
import type { AdminDreamUser } from './routes/answers.ts';
import { isRunsWrite } from './write.ts';
import {
  homeOf,
  toOwner,
  toPhysicalPath,
  toVirtualPath,
  virtualHomeOf,
} from '../../core/plugin.ts';

/** A user or a space as the admin API shows it. */
export function toUserView(user: RunUser, circumstances: Circumstances): AdminDreamUser {
  const { record } = user;
  const skipReason = judgeUser(user, circumstances);
  return {
    ...toOwner(user.scope),
    status: record?.status ?? null,
    paused: record?.paused ?? false,
    eligible: skipReason === null,
    skipReason,
    lastRunId: record?.runId ?? null,
    lastRunAt: toTimeOrNull(record?.lastRunAt ?? null),
    lastWriteAt: toTimeOrNull(user.lastWriteAt),
    lastQualifyingWriteAt: toTimeOrNull(user.lastQualifyingAt),
    filesTouched: record?.filesTouched ?? 0,
    operationsWaiting: record?.waiting ?? 0,
    error: record?.error ?? null,
    runs: record?.runs ?? 0,
    failures: record?.failures ?? 0,
    retryAt: toTimeOrNull(record?.retryAt ?? null),
  };
}

/** A run as lists show it. */
export function toRunView(run: RunListing): AdminDreamRun {
  const { id, scope, origin, dryRun, mode, state, outcome, errorCode, errorMessage } = run;
  return {
    id,
    ...toOwner(scope),
    origin,
    dryRun,
    mode,
    state,
    outcome,
    createdAt: toTime(run.createdAt),
    startedAt: toTimeOrNull(run.startedAt),
    endedAt: toTimeOrNull(run.endedAt),
    filesRead: run.filesRead,
    filesTouched: run.filesTouched,
    writes: run.writes,
    operationsApplied: run.applied,
    operationsWaiting: run.waiting,
    operationsDropped: run.dropped,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
    model: run.model,
    promptVersion: run.promptVersion,
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' },
  };
}

/** A run with its operations, and the files and revisions that it wrote. */
export async function toRunDetail(
  host: Pick<Host, 'memory'>,
  run: RunRecord,
): Promise<AdminDreamRunDetail> {
  const details = detailsOf(run);
  const { scope } = run;
  const revisions = await host.memory.history.ofRun(scope, run.id);
  const files = new Map<string, AdminDreamRunDetail['files'][number]>();
  for (const { revision, contents } of revisions.filter(isRunsWrite)) {
    const path = toPhysicalPath({ scope, path: revision.path });
    // Made from the revision, so that a redacted one shows nothing.
    const diff =
      contents === null ? null : host.memory.history.diff(contents.before, contents.after, path);
    const earlier = files.get(path)?.diff;
    files.set(path, {
      path,
      status: details.reverted.includes(toVirtualPath({ scope, path: revision.path }))
        ? 'reverted'
        : 'applied',
      version: revision.version,
      diff: typeof earlier === 'string' && diff !== null ? `${earlier}\n${diff}` : diff,
    });
  }
  return {
    ...toRunView(run),
    operations: details.operations.map((one) => toOperationView(one, run)),
    malformedOperations: details.malformed,
    repeatedOperations: details.repeated,
    verifier: details.verifier,
    traceId: details.traceId,
    files: [...files.values()],
    leftOut: details.leftOut.map((path) => toPhysical(path, scope)),
    shownInParts: details.parts.map(({ path, ...lines }) => ({
      path: toPhysical(path, scope),
      ...lines,
    })),
    revisions: revisions.map(({ revision }) => ({
      id: revision.id,
      path: toPhysicalPath({ scope, path: revision.path }),
      version: revision.version,
      action: revision.action,
      at: toTime(revision.at),
    })),
  };
}

function toOperationView(one: RunOperation, run: RunRecord): AdminDreamOperation {
  const { scope } = run;
  const { operation, add, verdict, status, guard, why } = one;
  const toLines = (lines: readonly LineView[]) =>
    lines.map(({ path, line, heading, text, at }) => ({
      path: toPhysical(path, scope),
      line,
      heading,
      text,
      at: toTimeOrNull(at),
    }));
  return {
    number: operation.number,
    kind: operation.kind as AdminDreamOperation['kind'],
    reason: operation.reason,
    paths: pathsOf(one).map((path) => toPhysical(path, scope)),
    remove: toLines(one.remove),
    add: add === null ? null : { ...add, path: toPhysical(add.path, scope) },
    sources: toLines(one.sources),
    class: one.class,
    signals: [...one.signals],
    repaired: [...(operation.repaired ?? [])],
    verdict,
    status,
    guard,
    why,
    checks: [...(one.checks ?? [])],
    // While a run has not ended, its operations are about to be written: nobody decides on them.
    preselected: one.isPreselected && run.isWaiting,
    applicable: run.state === 'completed' && !run.dryRun && isApplicable(one),
  };
}

/** `user/profile.md` → `users/alice/profile.md`; other paths are returned as they are. */
export function toPhysical(path: string, scope: ScopeKey): string {
  const home = virtualHomeOf(scope);
  return path.startsWith(home) ? toPhysicalPath({ scope, path: path.slice(home.length) }) : path;
}

/** The virtual path of a virtual or a physical one. */
export function toVirtual(path: string, scope: ScopeKey): string {
  const home = homeOf(scope);
  return path.startsWith(home) ? toVirtualPath({ scope, path: path.slice(home.length) }) : path;
}
