import type { ModelStanding } from '../../contracts/plugin.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import type { ExaminedOperation, ExamineOptions } from '../../edits/engine.ts';
import { createFence } from '../../edits/fence.ts';
import { GUARDS } from '../../edits/guards.ts';
import { type EditKind, REMEMBER_KINDS } from '../../edits/operations.ts';
import type { PromptText } from '../../edits/prompt-text.ts';
import { nameSecret } from '../../screening/detect.ts';
import type { Screening } from '../../screening/screening.ts';
import type { EditedMemory } from '../../edits/edited-memory.ts';
import type { Files } from '../../files/files.ts';
import type { Idempotency } from '../../files/idempotency.ts';
import type { Revisions } from '../../history/revisions.ts';
import { resolveInSteps } from '../../values/times.ts';
import { inSlices } from '../../time/pause.ts';
import type { Model } from '../model.ts';
import { createTellingGuard } from './telling-guard.ts';
import { createFactGuard, guardInbox, toFactDates } from './fact-guard.ts';
import type { InboxDependencies } from './inbox.ts';
import type { LookDependencies, SeenMemory } from './look.ts';
import type { Question } from './prompt.ts';

/** What remembering works with. */
export interface RememberDependencies extends LookDependencies, InboxDependencies {
  files: Files;
  idempotency: Idempotency;
  revisions: Pick<Revisions, 'contents' | 'lineTimes' | 'lineWriters'>;
  model: Model;
  /** Judges what the model proposes; the same model unless another one is configured. */
  verifier: Model;
  /** Tokens of one reply. */
  replyTokens: number;
  /** Masks or refuses a fact before a model sees it. */
  screening: Pick<Screening, 'admitText' | 'countMasked' | 'countRefused'>;
  /** How the models are asked, and what their exam says. */
  standing(): Promise<ModelStanding>;
  /** The key of the marks around memory in prompts. */
  fenceKey(): Promise<Buffer>;
  /** Of a caller that names none. */
  timeZone: string;
  now: () => number;
}

/** One fact on its way into memory. */
export interface Session {
  deps: RememberDependencies;
  call: ToolCall;
  question: Question;
  options: ExamineOptions;
  kinds: readonly EditKind[];
  /** Of `performance.now()`: when the models have to be done. */
  until: number;
  standing: ModelStanding;
  /** What the model is shown of memory. */
  shown: SeenMemory;
  toMark(purpose: 'remember' | 'verify', memory: EditedMemory): PromptText;
}

/** All questions together; the call itself has 150 s. */
const MODEL_MS = 140_000;
/** A request to forget brings no new fact. */
const FORGET_KINDS = REMEMBER_KINDS.filter((kind) => kind !== 'add');

/** What was said, before the models are asked. */
export type Told = Pick<
  Question,
  'fact' | 'speaker' | 'day' | 'timeZone' | 'maxWrites' | 'purpose'
> & { context?: string | null };

/** Reads the fact's words of time, and makes the marks of its prompts. */
export async function openSession(
  deps: RememberDependencies,
  {
    told,
    shown,
    standing,
    call,
  }: { told: Told; shown: SeenMemory; standing: ModelStanding; call: ToolCall },
): Promise<Session> {
  const { fact, speaker, day, purpose } = told;
  const until = performance.now() + MODEL_MS;
  const context = toShown(told.context ?? null);
  const times = await inSlices(resolveInSteps(fact, day));
  const key = await deps.fenceKey();
  const toMark = (what: 'remember' | 'verify', memory: EditedMemory) =>
    createFence(key, { userId: call.userId, purpose: what }, [
      fact,
      speaker ?? '',
      context ?? '',
      ...memory.paths,
      ...memory.files.map(({ content }) => content),
    ]);
  return {
    deps,
    call,
    question: { ...told, context, times, mark: toMark('remember', shown) },
    options: toExamineOptions({ times, day }, deps.maxFileBytes),
    kinds: purpose === 'forget' ? FORGET_KINDS : REMEMBER_KINDS,
    until,
    standing,
    shown,
    toMark,
  };
}

/** What operations on a fact are examined by. */
export function toExamineOptions(
  said: Pick<Question, 'times' | 'day'>,
  maxFileBytes: number,
): ExamineOptions {
  return {
    limits: { maxFileBytes, mayCreate: true },
    dates: toFactDates(said),
    guards: {
      ...GUARDS,
      fact: createFactGuard(said),
      telling: createTellingGuard(said),
      inbox: guardInbox,
    },
  };
}

/** What the models are shown of what was said before: the fact counts without it, so a secret hides it. */
export function toShown(context: string | null): string | null {
  return context === null || context.trim() === '' || nameSecret(context) !== null
    ? null
    : context.toWellFormed();
}

/** How a model is asked: in the time that is left. */
export function toAskOptions({ call, until, question }: Session): Parameters<Model['ask']>[1] {
  const timeoutMs = Math.max(1, Math.round(until - performance.now()));
  return { call, timeoutMs, isBackground: question.purpose === 'inbox' };
}

/** Whether an operation was refused for its form, and is no news that memory has already. */
export function isFaulty({ fault, knownBy }: ExaminedOperation): boolean {
  return fault !== null && knownBy.length === 0;
}
