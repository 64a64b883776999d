import type { RestoreAnswer, RestoredFile } from '../../contracts/admin.ts';
import type { Storage } from '../../contracts/storage.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { createDiffBudget } from '../diff-budget.ts';
import { createRedactionCounter } from '../redaction-counter.ts';
import type { Revisions } from '../revisions.ts';
import { type FileToRestore, planRestore, type PlanOptions } from '../undo/plan.ts';
import { type Plan, unwritten } from '../write-batches.ts';
import { findBlocked } from './blocked.ts';
import type { Goal } from './goal.ts';
import { createReceipt } from './receipt.ts';
import type { Survey } from './survey.ts';

/** What a plan reads. */
export interface PlanParts {
  storage: Pick<Storage, 'files' | 'inspection' | 'mutate'>;
  revisions: Pick<Revisions, 'textAt'>;
}

/** What becomes of a file. */
export async function planTarget(
  { storage, revisions: { textAt } }: PlanParts,
  file: FileToRestore,
  options: Pick<PlanOptions, 'diffs' | 'redactions'>,
): Promise<Plan<RestoredFile>> {
  const planned = await planRestore({ storage, textAt }, file, options);
  const { path, why, diff, diffOmitted, outcome } = planned.outcome;
  const isLeft = outcome === 'gone' || outcome === 'refused';
  const becomes = isLeft ? outcome : file.exists ? 'restored' : 'deleted';
  const shown = { ...unwritten(path), why, diff, diffOmitted, outcome: becomes } as const;
  return { outcome: shown, restoration: planned.restoration };
}

/** What a restore would do; it writes nothing. */
export async function previewRestore(
  parts: PlanParts,
  { targets, unchanged }: Survey,
  goal: Goal,
): Promise<RestoreAnswer> {
  const receipt = createReceipt(goal, { dryRun: true, unchanged });
  const options = {
    diffs: createDiffBudget(),
    redactions: createRedactionCounter(parts.storage),
  };
  const blocked = await findBlocked(parts.storage, targets);
  for (const target of targets) {
    const why = blocked.get(toPhysicalPath(target.key));
    if (why !== undefined) {
      receipt.add({ ...unwritten(toPhysicalPath(target.key)), outcome: 'refused', why });
      continue;
    }
    const isListed = receipt.hasRoom();
    const { outcome } = isListed
      ? await planTarget(parts, target, options)
      : { outcome: toUnlisted(target) };
    receipt.add(outcome);
  }
  return receipt.answer();
}

/** A file of a preview that is counted and not looked at further. */
function toUnlisted({ key, version, exists }: FileToRestore): RestoredFile {
  const outcome = version === null ? 'gone' : exists ? 'restored' : 'deleted';
  return { ...unwritten(toPhysicalPath(key)), outcome };
}
