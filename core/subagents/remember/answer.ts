import type { RememberService, WriteResult } from '../../contracts/tool.ts';
import type { AppliedEdits, ExaminedOperation } from '../../edits/engine.ts';
import type { EditKind } from '../../edits/operations.ts';
import { MemoryError } from '../../errors.ts';
import { splitLines } from '../../files/line-ends.ts';
import { parseVirtualPath } from '../../files/paths.ts';
import { unifiedDiff } from '../../history/delta/unified-diff.ts';
import type { Revisions } from '../../history/revisions.ts';
import { createPause } from '../../time/pause.ts';
import type { InboxDependencies, KnownLine } from './inbox.ts';

/** The answer of `memory_remember`. */
export type Remembered = Awaited<ReturnType<RememberService['remember']>>;

/** What an idempotency key keeps: no content, which a redaction would not find there. */
export interface Kept extends Pick<
  Remembered,
  'summary' | 'unchanged' | 'filed' | 'degraded' | 'history'
> {
  writes: { path: string; version: number; revisionId: string }[];
  refused: string[];
  /** The lines that say the fact; answers of earlier versions have none. */
  known?: Omit<KnownLine, 'text'>[];
}

/** An operation that was refused, and why. */
export interface Refusal {
  why: string;
  lines: string[];
  /** `null` where that could not be read. */
  kind: EditKind | null;
  /** The lines that would have gone. */
  named: { path: string; line: number | null }[];
}

/** What became of a fact, before it is written. */
export interface Outcome {
  files: AppliedEdits['files'];
  refused: readonly Refusal[];
  known: readonly KnownLine[];
  /** What the answer says beside the files. */
  said: Pick<Kept, 'summary' | 'unchanged' | 'filed' | 'degraded' | 'history'>;
}

/** The lines that would have come; of an operation that only removes, those that would have gone. */
export function toRefusal({ add, remove, operation }: ExaminedOperation, why: string): Refusal {
  const lines = add === null ? remove.map(({ text }) => text) : add.lines;
  const named = remove.map(({ path, line }) => ({ path, line }));
  return { why, lines, kind: operation.kind, named };
}

/**
 * Puts together the outcome, in the service's words: those of a model would speak to the agent.
 * `inbox` is the file of the inbox that the fact is kept in.
 */
export function toOutcome(
  files: Outcome['files'],
  {
    refused,
    known = [],
    inbox = null,
    isForget = false,
    isPreview = false,
    degraded = null,
  }: {
    refused: readonly Refusal[];
    known?: readonly KnownLine[];
    inbox?: string | null;
    isForget?: boolean;
    isPreview?: boolean;
    degraded?: Remembered['degraded'] | null;
  },
): Outcome {
  const filed = files.filter(({ path }) => path !== inbox);
  const unchanged = files.length === 0 && known.length > 0 && inbox === null;
  const parts = [
    ...(filed.length === 0 ? [] : [toSummary(filed, isPreview)]),
    ...(inbox === null ? [] : [toInboxSummary(inbox, { isPart: filed.length > 0, isPreview })]),
    ...(unchanged ? ['Nothing was written: memory says so already.'] : []),
    ...(files.length === 0 && !unchanged && inbox === null ? ['Nothing was written.'] : []),
    ...(refused.length === 0 ? [] : [`Refused: ${refused.length}.`]),
  ];
  const place = inbox === null ? 'all' : filed.length > 0 ? 'part' : 'inbox';
  return {
    files,
    refused,
    known,
    said: {
      summary: parts.join(' '),
      unchanged,
      ...(files.length === 0 && inbox === null ? {} : { filed: place }),
      ...(degraded === null ? {} : { degraded }),
      ...(isForget && files.length > 0 ? { history: 'kept' as const } : {}),
    },
  };
}

function toSummary(files: Outcome['files'], isPreview: boolean): string {
  const listOf = (isNew: boolean) =>
    files.filter(({ before }) => (before === null) === isNew).map(({ path }) => path);
  const [create, change] = isPreview ? ['would create', 'would change'] : ['created', 'changed'];
  const parts = [
    ...(listOf(true).length === 0 ? [] : [`${create} ${listOf(true).join(', ')}`]),
    ...(listOf(false).length === 0 ? [] : [`${change} ${listOf(false).join(', ')}`]),
  ].join('; ');
  return `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.`;
}

function toInboxSummary(
  inbox: string,
  { isPart, isPreview }: { isPart: boolean; isPreview: boolean },
): string {
  const [fact, be] = [isPart ? 'The whole fact' : 'The fact', isPreview ? 'would be' : 'is'];
  return `${fact} ${be} ${isPart ? 'also ' : ''}in ${inbox} as it was said.`;
}

/** What is kept of an answer. */
export function toKept({ said, refused, known }: Outcome, written: readonly WriteResult[]): Kept {
  return {
    ...said,
    writes: written.map(({ path, version, revisionId }) => ({ path, version, revisionId })),
    refused: refused.map(({ why }) => why),
    ...(known.length === 0
      ? {}
      : { known: known.map(({ path, version, line }) => ({ path, version, line })) }),
  };
}

/** What the answers are made with. */
interface AnswerDependencies extends Pick<InboxDependencies, 'storage'> {
  revisions: Pick<Revisions, 'contents'>;
}

/**
 * The answer, with the diff of each revision that is still whole. A repeated one has no `outcome`, and
 * none of the lines that were refused: nothing of them is kept.
 */
export async function toAnswer(
  { revisions, storage }: AnswerDependencies,
  { writes, refused: reasons, known, ...said }: Kept,
  { outcome, userId }: { outcome: Outcome | null; userId: string },
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
  const refused = reasons.map((why, index) => ({
    why,
    lines: outcome?.refused[index]?.lines ?? [],
  }));
  if (known === undefined) return { ...said, writes: answered, refused };
  const lines = outcome?.known ?? (await readLines(storage, known, userId));
  return { ...said, writes: answered, refused, known: lines.map(toKnown) };
}

/** The lines of files that have not changed since. */
async function readLines(
  storage: InboxDependencies['storage'],
  known: NonNullable<Kept['known']>,
  userId: string,
): Promise<KnownLine[]> {
  const lines: KnownLine[] = [];
  for (const place of known) {
    const key = parseVirtualPath(place.path, { userId });
    const file = await storage.files.read(key);
    const isSame = file !== null && file.version === place.version;
    const text = isSame ? (splitLines(file.content)[place.line - 1] ?? '') : '';
    lines.push({ ...place, text });
  }
  return lines;
}

function toKnown({ path, line, text }: KnownLine): NonNullable<Remembered['known']>[number] {
  return { path, line, text };
}

/** The answer of a dry run. */
export async function toPreview({ files, refused, known, said }: Outcome): Promise<Remembered> {
  const pause = createPause();
  const writes: Remembered['writes'] = [];
  for (const { path, version, before, after } of files) {
    const diff = unifiedDiff(before, after, { path });
    writes.push({ path, version: version + 1, revisionId: null, diff });
    await pause();
  }
  return {
    ...said,
    writes,
    refused: refused.map(({ why, lines }) => ({ why, lines })),
    ...(known.length === 0 ? {} : { known: known.map(toKnown) }),
  };
}
