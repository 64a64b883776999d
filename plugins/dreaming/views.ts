import type { DreamRunListing, DreamRunRecord, DreamUser } from '../../core/contracts/dreams.ts';
import type { Host } from '../../core/contracts/plugin.ts';
import type { AdminDreamRun } from '../../core/schemas/dreams.ts';
import { toTime, toTimeOrNull } from '../../core/time.ts';
import { detailsOf } from './details.ts';
import { judgeUser, type Circumstances } from './eligibility.ts';
import type { AdminDreamRunDetail, AdminDreamUser } from './routes/answers.ts';

/** A user as the admin API shows it. */
export function toUserView(user: DreamUser, circumstances: Circumstances): AdminDreamUser {
  const { record } = user;
  const skipReason = judgeUser(user, circumstances);
  return {
    userId: user.scope.slice(2),
    status: record?.status ?? null,
    paused: record?.paused ?? false,
    eligible: skipReason === null,
    skipReason,
    lastRunId: record?.runId ?? null,
    lastRunAt: toTimeOrNull(record?.lastRunAt ?? null),
    lastWriteAt: toTimeOrNull(user.lastWriteAt),
    lastQualifyingWriteAt: toTimeOrNull(user.lastQualifyingAt),
    filesTouched: record?.filesTouched ?? 0,
    error: record?.error ?? null,
    runs: record?.runs ?? 0,
    failures: record?.failures ?? 0,
    retryAt: toTimeOrNull(record?.retryAt ?? null),
  };
}

/** A run as lists show it. */
export function toRunView(run: DreamRunListing): AdminDreamRun {
  const { id, scope, origin, dryRun, mode, state, outcome, errorCode, errorMessage } = run;
  return {
    id,
    userId: scope.slice(2),
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
    operationsDropped: run.dropped,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
    model: run.model,
    promptVersion: run.promptVersion,
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' },
  };
}

/** A run with its operations, its files and the revisions that it wrote. */
export async function toRunDetail(
  host: Pick<Host, 'history'>,
  run: DreamRunRecord,
): Promise<AdminDreamRunDetail> {
  const details = detailsOf(run);
  const userId = run.scope.slice(2);
  const revisions = await host.history.ofRun(run.id);
  const diffs = new Map<string, string>();
  for (const { revision, contents } of revisions) {
    if (revision.action === 'revert' || contents === null) continue;
    const path = `users/${userId}/${revision.path}`;
    diffs.set(`user/${revision.path}`, host.history.diff(contents.before, contents.after, path));
  }
  return {
    ...toRunView(run),
    operations: details.operations.map(({ kind, reason, paths, status, check, why }) => ({
      kind,
      status,
      reason,
      paths: paths.map((path) => toPhysical(path, userId)),
      check,
      why,
    })),
    malformedOperations: details.malformed,
    traceId: details.traceId ?? null,
    files: details.files.map((file) => ({
      path: toPhysical(file.path, userId),
      status: file.status,
      note: file.note,
      reason: file.reason,
      version: file.version,
      writtenVersion: file.written,
      needs: file.needs.map(({ path }) => toPhysical(path, userId)),
      // Of what was written, from its revision: a redacted one shows nothing any more.
      diff: file.written === null ? file.diff : (diffs.get(file.path) ?? null),
    })),
    leftOut: details.leftOut.map((path) => toPhysical(path, userId)),
    tooLarge: (details.tooLarge ?? []).map(({ path, why }) => ({
      path: toPhysical(path, userId),
      why,
    })),
    revisions: revisions.map(({ revision }) => ({
      id: revision.id,
      path: `users/${userId}/${revision.path}`,
      version: revision.version,
      action: revision.action,
      at: toTime(revision.at),
    })),
  };
}

/** `users/alice/profile.md` of `user/profile.md`; what is no path of a user stays as it is. */
export function toPhysical(path: string, userId: string): string {
  return path.startsWith('user/') ? `users/${userId}/${path.slice('user/'.length)}` : path;
}

/** `user/profile.md` of either form. */
export function toVirtual(path: string, userId: string): string {
  const prefix = `users/${userId}/`;
  return path.startsWith(prefix) ? `user/${path.slice(prefix.length)}` : path;
}
