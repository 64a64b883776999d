import type { RestoreAnswer, RestoredFile } from '../../contracts/admin.ts';
import type { Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { createDiffBudget, type DiffBudget } from '../diff-budget.ts';
import { createRedactionCounter, type RedactionCounter } from '../redaction-counter.ts';
import type { Revisions } from '../revisions.ts';
import { leave, type Plan, unwritten } from '../write-batches.ts';
import type { Goal } from './goal.ts';
import { createReceipt } from './receipt.ts';
import type { Survey, Target } from './survey.ts';

/** What a plan reads. */
export interface PlanParts {
  storage: Pick<Storage, 'files' | 'inspection'>;
  revisions: Pick<Revisions, 'textAt'>;
}

/** What becomes of a file. */
export async function planTarget(
  { storage, revisions }: PlanParts,
  { key, version }: Target,
  { diffs, redactions }: { diffs: DiffBudget | null; redactions: Pick<RedactionCounter, 'of'> },
): Promise<Plan<RestoredFile>> {
  const path = toPhysicalPath(key);
  if (version === undefined) return leave(path, 'gone', 'Its history of that time is pruned.');
  const counted = await redactions.of(key.scope);
  let content: string | null;
  let head;
  try {
    head = await storage.files.get(key);
    content = version === null ? null : await revisions.textAt(key, version);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'STORAGE_DAMAGED') {
      return leave(path, 'refused', error.message);
    }
    throw error;
  }
  if (version !== null && content === null) {
    return leave(path, 'gone', 'Its content of that time is pruned or redacted.');
  }
  const present = head?.content ?? null;
  return {
    outcome: {
      ...unwritten(path),
      outcome: content === null ? 'deleted' : 'restored',
      ...diffs?.diff(present, content, path),
    },
    restoration: {
      key,
      content,
      ifVersion: present === null ? 0 : (head?.version ?? 0),
      redactions: counted,
    },
  };
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
  for (const target of targets) {
    const isListed = receipt.hasRoom();
    const { outcome } = isListed
      ? await planTarget(parts, target, options)
      : { outcome: toUnlisted(target) };
    receipt.add(outcome);
  }
  return receipt.answer();
}

/** A file of a preview that is counted and not looked at further. */
function toUnlisted({ key, version }: Target): RestoredFile {
  const outcome = version === undefined ? 'gone' : version === null ? 'deleted' : 'restored';
  return { ...unwritten(toPhysicalPath(key)), outcome };
}
