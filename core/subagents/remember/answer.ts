import type { RememberService, WriteResult } from '../../contracts/tool.ts';
import type { AppliedEdits, ExaminedOperation } from '../../edits/engine.ts';
import { MemoryError } from '../../errors.ts';
import { unifiedDiff } from '../../history/delta/unified-diff.ts';
import type { Revisions } from '../../history/revisions.ts';
import { createPause } from '../../pause.ts';

/** The answer of `memory_remember`. */
export type Remembered = Awaited<ReturnType<RememberService['remember']>>;

/** What an idempotency key keeps: no content, which a redaction would not find there. */
export interface Kept {
  summary: string;
  writes: { path: string; version: number; revisionId: string }[];
  refused: string[];
  unchanged: boolean;
}

/** An operation that was refused, and why. */
export interface Refusal {
  why: string;
  lines: string[];
}

type Changed = AppliedEdits['files'];

/** The lines that would have come; of an operation that only removes, those that would have gone. */
export function toRefusal({ add, remove }: ExaminedOperation, why: string): Refusal {
  return { why, lines: add === null ? remove.map(({ text }) => text) : add.lines };
}

/** In the service's words: those of a model would speak to the agent. */
export function toOutcome(
  files: Changed,
  refused: readonly Refusal[],
  isPreview: boolean,
): Pick<Kept, 'summary' | 'unchanged'> {
  const unchanged = files.length === 0 && refused.length === 0;
  if (unchanged) return { unchanged, summary: 'Nothing was written: memory says so already.' };
  const left = refused.length === 0 ? '' : ` Refused: ${refused.length}.`;
  if (files.length === 0) return { unchanged, summary: `Nothing was written.${left}` };
  const listOf = (isNew: boolean) =>
    files.filter(({ before }) => (before === null) === isNew).map(({ path }) => path);
  const [create, change] = isPreview ? ['would create', 'would change'] : ['created', 'changed'];
  const parts = [
    ...(listOf(true).length === 0 ? [] : [`${create} ${listOf(true).join(', ')}`]),
    ...(listOf(false).length === 0 ? [] : [`${change} ${listOf(false).join(', ')}`]),
  ].join('; ');
  return { unchanged, summary: `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.${left}` };
}

/** What is kept of an answer. */
export function toKept(
  outcome: Pick<Kept, 'summary' | 'unchanged'>,
  refused: readonly Refusal[],
  written: readonly WriteResult[],
): Kept {
  const writes = written.map(({ path, version, revisionId }) => ({ path, version, revisionId }));
  return { ...outcome, writes, refused: refused.map(({ why }) => why) };
}

/** The answer, the first or a repeated one, with the diff of each revision that is still whole. */
export async function withDiffs(
  revisions: Pick<Revisions, 'contents'>,
  { summary, writes, refused: reasons, unchanged }: Kept,
  refusals: readonly Refusal[] | null,
): Promise<Remembered> {
  const pause = createPause();
  const answered: Remembered['writes'] = [];
  for (const write of writes) {
    let diff = '';
    try {
      const contents = await revisions.contents(write.revisionId);
      await pause();
      if (contents !== null) {
        diff = unifiedDiff(contents.before, contents.after, { path: write.path });
      }
    } catch (error) {
      // Pruned since the first answer; or the database went away, after what was to be done is done.
      if (!(error instanceof MemoryError)) throw error;
    }
    answered.push({ ...write, diff });
    await pause();
  }
  // A repeat has no lines of what was refused: nothing of it is kept.
  const refused = reasons.map((why, index) => refusals?.[index] ?? { why, lines: [] });
  return { summary, writes: answered, refused: [...refused], unchanged };
}

/** The answer of a dry run. */
export async function toPreview(
  files: Changed,
  refused: Refusal[],
  outcome: Pick<Kept, 'summary' | 'unchanged'>,
): Promise<Remembered> {
  const pause = createPause();
  const writes: Remembered['writes'] = [];
  for (const { path, version, before, after } of files) {
    const diff = unifiedDiff(before, after, { path });
    writes.push({ path, version: version + 1, revisionId: null, diff });
    await pause();
  }
  return { ...outcome, writes, refused };
}
