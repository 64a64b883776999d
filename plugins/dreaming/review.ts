import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { advanceRun, Stopped, toActiveRun, type ActiveRun, type RunParts } from './active-run.ts';
import { detailsOf, withDetails, type RunFile } from './details.ts';
import { keepLease, leaseOf } from './lease.ts';
import { finishRunTrace } from './trace.ts';
import { assertState, hasWritten, skipped, toReviewed, withFiles } from './transitions.ts';
import { logRun, writeRunFiles } from './write-run.ts';

/** What a person picks of a proposal. Paths are virtual; `null` is all that is not decided on. */
export interface Picked {
  paths: readonly string[] | null;
  caller: AuditCaller;
}

/**
 * Writes what a run proposes, all of it or some files.
 *
 * @throws MemoryError `RUN_STATE` for a run that does not await review, `INVALID_REQUEST` for a file
 * that it does not propose, `DREAM_RUNNING` while another instance is at this user.
 */
export async function applyProposal(
  parts: RunParts,
  row: DreamRunRecord,
  { paths, caller }: Picked,
): Promise<DreamRunRecord> {
  const { id, scope } = assertState(row, ['awaiting_review']);
  const picked = pickFiles(row, paths);
  const kept = await keepLease(parts.host, leaseOf(scope.slice(2)));
  if (kept === null) throw new MemoryError('DREAM_RUNNING');
  const run = toActiveRun(parts, row, kept, 'dream.apply');
  parts.active.set(id, run);
  try {
    const lease = { name: kept.name, fence: kept.fence };
    const begun = await parts.dreams.update({ scope, runId: id, lease }, (current) => {
      const present = assertState(current.run, ['awaiting_review']);
      const next = { ...present, state: 'running' as const, fence: kept.fence };
      return {
        result: next,
        run: next,
        user: { ...current.user, status: 'running', fence: kept.fence },
        audit: { action: 'dream.apply', target: id, details: { paths: [...picked] }, caller },
      };
    });
    const written = await writePicked(parts, run, picked, begun);
    await finishRunTrace(parts, run, null);
    return written;
  } catch (error) {
    run.trace.finish(error);
    throw error;
  } finally {
    parts.active.delete(id);
    await kept.release();
  }
}

/** Drops what a run proposes, all of it or some files; throws as {@link applyProposal} does. */
export async function rejectProposal(
  { dreams, host }: Pick<RunParts, 'dreams' | 'host'>,
  row: DreamRunRecord,
  { paths, caller }: Picked,
): Promise<DreamRunRecord> {
  const { id, scope } = assertState(row, ['awaiting_review']);
  const picked = pickFiles(row, paths);
  return await dreams.update({ scope, runId: id }, ({ user, run: current }) => {
    const present = assertState(current, ['awaiting_review']);
    const details = detailsOf(present);
    const files = details.files.map((file): RunFile =>
      picked.has(file.path) && file.status === 'proposed'
        ? { ...file, status: 'rejected', after: null }
        : file,
    );
    const next = withDetails(present, { ...details, files });
    return {
      ...toReviewed(user, next, files, host.now(), false),
      audit: { action: 'dream.reject', target: id, details: { paths: [...picked] }, caller },
    };
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

async function writePicked(
  parts: RunParts,
  run: ActiveRun,
  picked: ReadonlySet<string>,
  row: DreamRunRecord,
): Promise<DreamRunRecord> {
  const details = detailsOf(row);
  const isReady = (file: RunFile): boolean =>
    picked.has(file.path) &&
    file.needs.every(({ path }) => {
      const other = details.files.find((it) => it.path === path);
      return other === undefined || other.written !== null || isReady(other);
    });
  const ready = details.files.filter((file) => file.status === 'proposed' && isReady(file));
  const isNow = new Set(ready.map(({ path }) => path));
  const kept = new Map(details.files.map((file) => [file.path, file]));
  const attempted = await writeRunFiles(
    parts,
    run,
    details.files.map((file) => (isNow.has(file.path) ? file : skipped(file))),
    {
      maxWrites: details.maxWrites,
      checkStop: () => {
        if (run.kept.signal.aborted) throw new Stopped('lease_lost');
      },
    },
  );
  const files = attempted.map((file) => {
    if (isNow.has(file.path)) return file;
    const original = kept.get(file.path) ?? file;
    return picked.has(file.path) && original.status === 'proposed'
      ? { ...original, note: 'it waits for a file that takes lines of it' }
      : original;
  });
  const isLogged = await logRun(
    parts,
    run,
    files.filter(({ path }) => isNow.has(path)),
    details.maxWrites,
  );
  return await advanceRun(parts, run, ['running'], ({ user, run: current }) =>
    toReviewed(
      user,
      withFiles(current, files, isLogged),
      files,
      parts.host.now(),
      hasWritten(files),
    ),
  );
}
