import { setTimeout as sleep } from 'node:timers/promises';
import { removeStoredChecks } from '../checks/check-document.ts';
import type { EraseAnswer } from '../contracts/admin.ts';
import type { ErasureStore, RowCounts } from '../contracts/erasure.ts';
import type { HoldRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { toTime, toTimeOrNull } from '../time/time.ts';
import { eraseAuditReferences, findOwnIds } from './audit-references.ts';
import { listCopies, removeCopies } from './copies.ts';
import { eraseFreezeReasons } from './freeze-reasons.ts';
import { addCounts, ErasureProgress, type Progress } from './progress.ts';
import { findReaders } from './readers.ts';
import { listLimits, toReaders } from './receipt.ts';
import { DATABASE_FILE, type Rewriter } from './rewriter.ts';
import { toEraseAction } from './receipt.ts';
import { labelOf, toOwner } from '../files/paths.ts';

/** The parts that erasing a memory needs. */
export interface EraseParts {
  storage: Storage;
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'flush' | 'forgetCounts'>;
  rewriter: Pick<Rewriter, 'settle'>;
  known: KnownErasures;
  now: () => number;
}

/** How one erasure goes on. */
export interface EraseWork {
  erasure: ErasureStore;
  hold: HoldRecord;
  /** How long other instances may not know of the erasure yet, in milliseconds. */
  waitMs: number;
  /** Throws `SHUTTING_DOWN` once the service stops. Called before each transaction. */
  checkRunning: () => void;
  caller: AuditCaller;
}

/**
 * Erases a memory that is held for it, from the beginning or from where the hold says that it got:
 *
 * 1. waits until the other instances know of the erasure;
 * 2. finds who has read the memory, and takes the user out of the audit;
 * 3. removes the rows in batches, and once more what came meanwhile, in the transaction that ends the
 *    hold and writes the receipt;
 * 4. deals with the database file and its copies.
 */
export async function eraseMemory(parts: EraseParts, work: EraseWork): Promise<EraseAnswer> {
  const { storage } = parts;
  const { erasure, hold, waitMs } = work;
  const { scope } = hold;
  const progress = new ErasureProgress({ ...work, now: parts.now });
  if (waitMs > 0) await sleep(waitMs);
  // From rows that will be gone.
  if (progress.state.readers === null) {
    await progress.save({ readers: await findReaders(storage, scope) });
  }
  const ownIds = await findOwnIds(storage, scope);
  await eraseReferences(parts, work, { progress, ownIds });
  const { at, removed, number } = await removeRows(parts, work, { progress, ownIds });
  // Before what may fail: the user's calls go on.
  parts.known.note(scope, { hold: null, number });
  await parts.accessQueue.forgetCounts();
  const { state } = progress;
  return {
    dryRun: false,
    ...toOwner(scope),
    erasedAt: toTime(at),
    erasedBefore: toTimeOrNull(state.erasedBefore),
    tables: addCounts(state.tables, removed),
    auditRows: state.auditRows,
    chainHead: state.chainHead,
    ...toReaders(state),
    copies: await (state.removeCopies ? removeCopies : listCopies)(storage),
    pending: await parts.rewriter.settle(),
    left: await erasure.count(scope),
    ...(await listLimits(erasure)),
  };
}

/**
 * Takes the user out of the audit, the reasons out of the user's freezes, and the checks about the user out of
 * those that are stored.
 */
async function eraseReferences(
  { storage }: Pick<EraseParts, 'storage'>,
  { erasure, hold }: EraseWork,
  { progress, ownIds }: { progress: ErasureProgress; ownIds: ReadonlySet<string> },
): Promise<void> {
  await eraseFreezeReasons(storage, hold.scope);
  await removeStoredChecks(storage, { isRemoved: (_, scope) => scope === hold.scope });
  const changed = await eraseAuditReferences(erasure, hold.scope, ownIds);
  if (changed > 0) await progress.save({ auditRows: progress.state.auditRows + changed });
}

/** Removes all rows and ends the hold. */
async function removeRows(
  parts: EraseParts,
  work: EraseWork,
  { progress, ownIds }: { progress: ErasureProgress; ownIds: ReadonlySet<string> },
): Promise<{ at: number; removed: RowCounts; number: number }> {
  for (;;) {
    let isEmpty = false;
    while (!isEmpty) isEmpty = !(await progress.removeBatch());
    await parts.accessQueue.flush();
    // What an operator asked for just before the erasure has its row now.
    await eraseReferences(parts, work, { progress, ownIds });
    const at = parts.now();
    const ended = await endErasure(parts, work, { at, state: progress.state });
    if (ended !== null) return { at, ...ended };
  }
}

async function endErasure(
  { ids }: EraseParts,
  { erasure, hold, caller }: EraseWork,
  { at, state }: { at: number; state: Progress },
): ReturnType<ErasureStore['end']> {
  const { auditRows, chainHead } = state;
  const audit = toAuditRecord(ids, {
    action: toEraseAction(hold.scope),
    target: labelOf(hold.scope),
    details: {},
    ...caller,
  });
  const details = (removed: RowCounts) => ({
    step: 'end',
    tables: addCounts(state.tables, removed),
    auditRows,
    chainHead,
    ...(erasure.file === undefined ? {} : { pending: [DATABASE_FILE] }),
    // Who asked for the erasure may not get the answer.
    ...toReaders(state),
  });
  return await erasure.end(hold, { at, audit, details });
}
