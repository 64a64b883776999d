import type { RestoredFile, RevertedFile } from '../contracts/admin.ts';
import { MemoryError } from '../errors.ts';
import type { AdminWritten, Restoration } from '../files/admin-files.ts';

/** The most files and bytes that one transaction restores. */
export const BATCH_FILES = 100;
export const BATCH_BYTES = 2 * 1024 * 1024;
/** How often a revert is planned again because its files changed meanwhile. */
const TRIES = 5;

/** What becomes of one file. */
type FileOutcome = RevertedFile | RestoredFile;

/** A file to which nothing was written. */
export function unwritten(path: string) {
  return { path, version: null, revisionId: null, why: null, diff: '', diffOmitted: false };
}

/** A file of a revert to which nothing was written. */
export function unrevertedFile(path: string) {
  return { ...unwritten(path), fromVersion: null, conflicts: [], blanked: 0 };
}

/** What is to become of one file, and at last what became of it. */
export interface Plan<Outcome> {
  outcome: Outcome;
  /** `null` if nothing is to be written. */
  restoration: Restoration | null;
}

/** How batches are planned and written. */
export interface BatchWork<Unit, Outcome> {
  /** Whether what refuses the files of a unit is thrown. By default they are `refused`. */
  throwsRefusals?: boolean;
  /** Plans the files of a unit; called again when one of them was written meanwhile. */
  plan(unit: Unit): Promise<Plan<Outcome>[]>;
  /**
   * Writes in one transaction, all or nothing. `outcomes` has what becomes of the files of these units,
   * and of those of the batch that were written before.
   */
  write(
    restorations: Restoration[],
    units: readonly Unit[],
    outcomes: readonly Outcome[],
  ): Promise<readonly AdminWritten[]>;
}

/** Splits units into batches of at most 100 files and 2 MB; a larger unit is a batch of its own. */
export async function* toBatches<Unit, Outcome>(
  units: Iterable<Unit> | AsyncIterable<Unit>,
  plan: BatchWork<Unit, Outcome>['plan'],
): AsyncGenerator<PlannedUnit<Unit, Outcome>[]> {
  let batch: PlannedUnit<Unit, Outcome>[] = [];
  let files = 0;
  let bytes = 0;
  for await (const unit of units) {
    const plans = await plan(unit);
    const size = plans.reduce(
      (sum, { restoration }) => sum + Buffer.byteLength(restoration?.content ?? ''),
      0,
    );
    const isFull = files + plans.length > BATCH_FILES || bytes + size > BATCH_BYTES;
    if (batch.length > 0 && isFull) {
      yield batch;
      batch = [];
      files = 0;
      bytes = 0;
    }
    batch.push({ unit, plans });
    files += plans.length;
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Files that are written together or not at all, with what is to become of each. */
export interface PlannedUnit<Unit, Outcome> {
  unit: Unit;
  plans: Plan<Outcome>[];
}

/**
 * Writes a batch in one transaction and returns what became of each file. If the transaction is
 * refused, because of a full quota say, its units are written in smaller ones, so that a unit
 * which can't be written holds back no other. Throws only what ends all of the work: the database
 * does not answer or is full.
 */
export async function writeBatch<Unit, Outcome extends FileOutcome>(
  work: BatchWork<Unit, Outcome>,
  batch: readonly PlannedUnit<Unit, Outcome>[],
  before: readonly Outcome[] = [],
): Promise<Outcome[]> {
  let units = batch;
  for (let tries = 1; ; tries += 1) {
    const plans = units.flatMap((unit) => unit.plans);
    const due = plans.flatMap(({ restoration }) => restoration ?? []);
    if (due.length === 0) return plans.map(({ outcome }) => outcome);
    try {
      const written = [
        ...(await work.write(
          due,
          units.map(({ unit }) => unit),
          [...before, ...plans.map(({ outcome }) => outcome)],
        )),
      ];
      return plans.map(({ outcome, restoration }) => {
        const one = restoration === null ? undefined : written.shift();
        if (one === undefined || one.revisionId === '') return outcome;
        return { ...outcome, version: one.version, revisionId: one.revisionId };
      });
    } catch (error) {
      if (!(error instanceof MemoryError) || endsAll(error)) throw error;
      if (error.code === 'VERSION_CONFLICT' && tries < TRIES) {
        const anew: PlannedUnit<Unit, Outcome>[] = [];
        for (const { unit } of units) anew.push({ unit, plans: await work.plan(unit) });
        units = anew;
        continue;
      }
      if (units.length === 1) {
        if (work.throwsRefusals === true) throw error;
        return plans.map(({ outcome, restoration }) =>
          restoration === null
            ? outcome
            : { ...outcome, outcome: 'refused' as const, why: error.message },
        );
      }
      const half = Math.ceil(units.length / 2);
      const first = await writeBatch(work, units.slice(0, half), before);
      const rest = await writeBatch(work, units.slice(half), [...before, ...first]);
      return [...first, ...rest];
    }
  }
}

/** Whether no further write can succeed for now. A memory that is held concerns one user. */
function endsAll({ code, retryable, details }: MemoryError): boolean {
  const isLost = ['hold_lost', 'lease_lost'].includes(String(details?.['reason']));
  return (retryable && code !== 'MEMORY_HELD') || isLost;
}
