import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolCall } from '../../contracts/tool.ts';
import type { AppliedEdits, ExaminedOperation } from '../../edits/engine.ts';
import { INDEX_PATH } from '../../edits/guards.ts';
import { touchedBy } from '../../edits/workspace.ts';
import { MemoryError } from '../../errors.ts';
import { inSlices } from '../../time/pause.ts';
import {
  type Kept,
  type Outcome,
  type Refusal,
  type Remembered,
  toAnswer,
  toKept,
  toOutcome,
  toPreview,
  toRefusal,
} from './answer.ts';
import { applyWithCatalog } from './catalog.ts';
import { markEnds } from './ends.ts';
import { noteForgetting } from './forget-trail.ts';
import { type KnownLine, planInboxLine } from './inbox.ts';
import { findSaying } from './known.ts';
import { lookAgain, type SeenMemory } from './look.ts';
import type { Session } from './session.ts';

/** Attempts to write operations while others change the same files, and to write at all. */
const ATTEMPTS = 3;
const INBOX_ATTEMPTS = 20;

/** What is to be written. */
export interface Plan {
  memory: SeenMemory;
  accepted: readonly ExaminedOperation[];
  refused: readonly Refusal[];
  /** Lines of memory that say the fact already. */
  known: readonly KnownLine[];
  isForget: boolean;
  /** Why a model did not answer. */
  degraded: NonNullable<Remembered['degraded']> | null;
  /** The line of the inbox waits to be filed in the background. */
  isQueued: boolean;
  reason: string | undefined;
  dryRun: boolean;
}

/**
 * Writes what passed, on memory as it is by then. Where something was refused, or nothing is to be
 * written of a fact that memory does not say, the whole fact is kept in the inbox in the same
 * transaction; a request to forget is not.
 */
export async function store(session: Session, plan: Plan): Promise<Remembered> {
  const { deps, call } = session;
  let { memory, accepted, refused } = plan;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await planWrite(session, { ...plan, memory, accepted, refused });
    if (plan.dryRun) return await toPreview(outcome);
    let isReplayed = false;
    const watched: ToolCall = {
      ...call,
      onReplay(first) {
        isReplayed = true;
        call.onReplay?.(first);
      },
    };
    try {
      const kept = await deps.files.writeAll<Kept>(
        { files: toContents(outcome.files), reason: plan.reason },
        (written) => toKept(outcome, written),
        watched,
      );
      // The call ends well: the trace says that a model failed, and where the fact is.
      if (plan.degraded !== null && !isReplayed) {
        const { filed = 'none' } = outcome.said;
        call.trace
          .start('revision.write', 'inbox')
          .end({ degraded: plan.degraded, outcome: filed });
      }
      if (plan.isForget && !isReplayed) {
        await noteForgetting(deps, { call, memory, refused: outcome.refused });
      }
      // The answer of another call under the same key is that call's in every part.
      return await toAnswer(deps, kept, {
        outcome: isReplayed ? null : outcome,
        userId: call.userId,
      });
    } catch (error) {
      const isConflict = isCode(error, 'VERSION_CONFLICT');
      const isFull = isTooManyFiles(error) && accepted.some(createsFile);
      if (!(isConflict && attempt < INBOX_ATTEMPTS) && !isFull) throw error;
      // The fact is kept in any case: it needs less than the operations do.
      const isGivenUp = isConflict && attempt >= ATTEMPTS;
      const isLeft = (one: ExaminedOperation) => isGivenUp || (isFull && createsFile(one));
      const why = isFull ? (error as MemoryError).message : 'Memory changed again and again.';
      refused = [...refused, ...accepted.filter(isLeft).map((one) => toRefusal(one, why))];
      accepted = accepted.filter((one) => !isLeft(one));
      if (attempt > ATTEMPTS) await sleep(Math.random() * 10 * attempt);
      const operations = accepted.map(({ operation }) => operation);
      memory = await lookAgain(deps, memory, operations, call);
    }
  }

  function createsFile({ operation: { add } }: ExaminedOperation): boolean {
    return add !== null && !memory.paths.has(add.path);
  }
}

/** What the files become, and what the answer says of it. */
async function planWrite(
  session: Session,
  { memory, accepted, refused, known, isForget, degraded, isQueued, dryRun }: Plan,
): Promise<Outcome> {
  const { deps, call, options, question } = session;
  const applied = await applyWithin(memory, accepted, { options, maxWrites: question.maxWrites });
  const files = applied.files.map((file) => markEnds(file, question.day));
  const all = [...refused, ...applied.refused];
  const answer = { refused: all, isForget, isPreview: dryRun, degraded };
  const isPart = all.some(({ kind }) => kind !== 'index');
  const isFiled = files.length > 0 && !isPart && degraded === null;
  if (isForget || isFiled) return toOutcome(files, answer);
  if (files.length === 0 && all.length === 0) {
    const lines = known.length > 0 ? known : await findSame(session, memory);
    if (lines.length > 0) return toOutcome([], { ...answer, known: lines });
  }
  const { fact, speaker, day, times } = question;
  const inbox = await planInboxLine(deps, {
    userId: call.userId,
    said: { text: fact, day, speaker, isQueued },
    isTimed: times.phrases.length > 0,
    changed: files,
  });
  if (inbox.status === 'refused') {
    return toOutcome(files, {
      ...answer,
      refused: [...all, { why: inbox.why, lines: [fact], kind: null, named: [] }],
    });
  }
  if (inbox.status === 'known') {
    const { path } = inbox.line;
    return files.length === 0
      ? toOutcome([], { ...answer, known: [inbox.line] })
      : toOutcome(files, { ...answer, inbox: path });
  }
  const { file } = inbox;
  const others = files.filter(({ path }) => path !== file.path);
  return toOutcome([...others, file], { ...answer, inbox: file.path });
}

/** Lines that say the same word for word: for them, nobody has to be asked. */
async function findSame({ question }: Session, memory: SeenMemory): Promise<KnownLine[]> {
  return toKnownLines((await inSlices(findSaying(memory, question, 'same'))) ?? [], memory);
}

/** Lines as the answer names them. */
export function toKnownLines(
  lines: readonly { path: string; line: number | null; text: string }[],
  memory: Pick<SeenMemory, 'files'>,
): KnownLine[] {
  return lines.flatMap(({ path, line, text }) => {
    const version = memory.files.find((file) => file.path === path)?.version;
    return line === null || version === undefined ? [] : [{ path, version, line, text }];
  });
}

/** Applies operations in their order, as far as they change no more files than may. */
export async function applyWithin(
  memory: SeenMemory,
  accepted: readonly ExaminedOperation[],
  { options, maxWrites }: { options: Session['options']; maxWrites: number },
): Promise<Pick<AppliedEdits, 'files' | 'applied'> & { refused: Refusal[] }> {
  const touched = new Set<string>();
  const within: ExaminedOperation[] = [];
  const beyond: ExaminedOperation[] = [];
  for (const one of accepted) {
    const paths = touchedBy(one.operation);
    const isNew = [...paths].some((path) => !memory.paths.has(path));
    // A new file comes into the catalog.
    if (isNew && memory.paths.has(INDEX_PATH)) paths.add(INDEX_PATH);
    const count = new Set([...touched, ...paths]).size;
    (count > maxWrites ? beyond : within).push(one);
    if (count <= maxWrites) paths.forEach((path) => touched.add(path));
  }
  const { files, applied, stale } = await applyWithCatalog(memory, within, options);
  return {
    files,
    applied,
    refused: [
      ...stale.map((one) => toRefusal(one, 'Its lines changed meanwhile.')),
      ...beyond.map((one) => toRefusal(one, `At most ${maxWrites} files may change.`)),
    ],
  };
}

/** Files as the write path takes them. */
export function toContents(
  files: AppliedEdits['files'],
): { path: string; version: number; content: string }[] {
  return files.map(({ path, version, after }) => ({ path, version, content: after }));
}

function isCode(error: unknown, code: MemoryError['code']): error is MemoryError {
  return error instanceof MemoryError && error.code === code;
}

function isTooManyFiles(error: unknown): boolean {
  return isCode(error, 'QUOTA_EXCEEDED') && error.details?.['limit'] === 'maxFilesPerUser';
}
