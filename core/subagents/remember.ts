import type { RememberService, ToolCall } from '../contracts/tool.ts';
import { toOneLine, toSpeaker } from '../edits/inbox-line.ts';
import { nameSecret } from '../screening/detect.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { checkContent } from '../files/content.ts';
import { inSlices } from '../time/pause.ts';
import { isProviderError } from '../providers/provider-failure.ts';
import { toLocalDay } from '../time/time.ts';
import { type Kept, type Remembered, toAnswer } from './remember/answer.ts';
import { findInInbox } from './remember/inbox.ts';
import { judge } from './remember/judge.ts';
import { findSaying } from './remember/known.ts';
import { look, lookByWords } from './remember/look.ts';
import type { Purpose } from './remember/prompt.ts';
import { propose, type Proposal } from './remember/propose.ts';
import {
  openSession,
  type RememberDependencies,
  type Session,
  toShown,
  type Told,
} from './remember/session.ts';
import { type Plan, store, toKnownLines } from './remember/store.ts';
import { createTurns } from './remember/turns.ts';

export type { RememberDependencies } from './remember/session.ts';

type RememberArguments = Parameters<RememberService['remember']>[0];
type RememberResult = Awaited<ReturnType<RememberService['remember']>>;

/** Files that one call may change, unless it says otherwise. */
export const DEFAULT_WRITES = 5;

/** Files lines of the inbox in the background. */
export interface BackgroundFiling {
  /** A line of this user waits. `context` is what was said before it, which no file keeps. */
  wake(userId: string, line: { fact: string; context: string | null }): void;
}

/**
 * `memory_remember`: looks, asks the model what to change, checks the form of each operation, has the
 * verifier judge its meaning, and writes those that pass in one transaction. A fact of which anything
 * was refused, or for which a model fails, is kept in the inbox as it was said. Nothing is locked while
 * a model thinks; operations are found again by their lines when memory changed meanwhile.
 *
 * Throws `INVALID_CONTENT` for a text that looks like a key or a password, `CONTENT_REFUSED` for what screening refuses, `WRITES_FROZEN` while writes are stopped, and `MODEL_FAILED` or `MODEL_TIMEOUT`
 * for a request to forget.
 */
export function createRemember(
  deps: RememberDependencies,
  filing: BackgroundFiling,
): RememberService {
  const turns = createTurns();
  return {
    async remember(given, call) {
      const { args, ...masked } = screenFact(deps, given);
      checkFact(args.text, args.speaker ?? null);
      if (args.wait === false && args.forget === true) {
        throw invalidField('/wait', 'must not be false with forget', 'wait');
      }
      const replay = async () => {
        const kept = args.dryRun === true ? null : await deps.idempotency.replay<Kept>(call);
        if (kept === null) return null;
        return await toAnswer(deps, kept, { outcome: null, userId: call.userId });
      };
      const first = await replay();
      if (first !== null) return { ...first, ...masked };
      // Before a model is asked.
      if (args.dryRun !== true) deps.files.checkWrites(call);
      try {
        const write = (session: Session, plan: Plan) =>
          turns.take(call.userId, () => store(session, plan));
        const answer =
          args.wait === false
            ? await keepForLater(deps, { args, call, write, filing })
            : await rememberNow(deps, { args, call, write });
        return { ...answer, ...masked };
      } catch (error) {
        // Another call under the same key may have been answered meanwhile: both give its answer.
        const other = await replay().catch(() => null);
        if (other === null) throw error;
        return { ...other, ...masked };
      }
    },
  };
}

/** Masks what must not be stored, or throws `CONTENT_REFUSED`. A context that has a secret is left out later. */
function screenFact(
  { screening }: RememberDependencies,
  args: RememberArguments,
): { args: RememberArguments; masked?: NonNullable<RememberResult['masked']> } {
  // What is asked to be forgotten is named by what it says, and kept nowhere.
  if (args.forget === true) return { args };
  const { content: text, masked } = admitFact(screening, args);
  if (masked.length > 0 && args.dryRun !== true) screening.countMasked(masked);
  return masked.length === 0 ? { args } : { args: { ...args, text }, masked };
}

function admitFact(
  screening: RememberDependencies['screening'],
  { text, speaker, dryRun }: RememberArguments,
): ReturnType<RememberDependencies['screening']['admitText']> {
  try {
    if (speaker !== undefined) screening.admitText(speaker, 'speaker');
    return screening.admitText(text, 'text');
  } catch (error) {
    if (dryRun !== true) screening.countRefused(error);
    throw error;
  }
}

/** A call, and how what comes of it is written: one write of a user after the other. */
interface Work {
  args: RememberArguments;
  call: ToolCall;
  write(session: Session, plan: Plan): Promise<Remembered>;
}

/**
 * 1. `look` reads what may have to do with the fact.
 * 2. `propose` asks the model, and once more about what failed for its form.
 * 3. `judge` asks the verifier about what is left.
 * 4. `store` writes what passed, and the fact into the inbox where something did not.
 */
async function rememberNow(
  deps: RememberDependencies,
  { args, call, write }: Work,
): Promise<Remembered> {
  const told = toTold(deps, args, call);
  const context = toShown(told.context ?? null);
  const standing = await deps.standing();
  const shown = await look(deps, { fact: told.fact, context, use: standing.model }, call);
  const session = await openSession(deps, { told, shown, standing, call });
  const isForget = told.purpose === 'forget';
  const plan: Plan = { ...toPlan(args), memory: shown, isForget };
  const isTimed = session.question.times.phrases.length > 0;
  const kept = isForget
    ? null
    : await findInInbox(deps, call.userId, { said: { ...told, text: told.fact }, isTimed });
  if (kept !== null) return await write(session, { ...plan, known: [kept] });
  // Nothing that it proposes would be judged: no model is asked.
  if (standing.judges === false) return await write(session, { ...plan, refused: [UNJUDGED] });
  let proposal: Proposal;
  try {
    proposal = await propose(session);
  } catch (error) {
    if (isForget || !isModelError(error)) throw error;
    return await write(session, { ...plan, degraded: error.code });
  }
  const { accepted, refused, failure } = await judge(session, proposal);
  // A request that nobody could judge is kept nowhere.
  if (failure !== null && proposal.isForget) throw failure;
  const degraded = failure === null ? null : toDegraded(failure);
  const isEmpty = proposal.examined.length === 0 && proposal.malformed === 0;
  return await write(session, {
    ...plan,
    memory: proposal.memory,
    accepted,
    degraded,
    refused: isEmpty && isForget ? [NOTHING_TO_FORGET] : refused,
    known: await findKnown(session, proposal),
    isForget: proposal.isForget,
  });
}

/** Keeps the fact in the inbox, unless memory says it word for word. No model is asked. */
async function keepForLater(
  deps: RememberDependencies,
  { args, call, write, filing }: Work & { filing: BackgroundFiling },
): Promise<Remembered> {
  const told = toTold(deps, args, call);
  const memory = await lookByWords(deps, told.fact, call);
  const standing = await deps.standing();
  const session = await openSession(deps, { told, shown: memory, standing, call });
  const answer = await write(session, { ...toPlan(args), memory, isQueued: true });
  if (args.dryRun !== true && answer.filed === 'inbox') {
    filing.wake(call.userId, { fact: told.fact, context: toShown(told.context ?? null) });
  }
  return answer;
}

function toTold(deps: RememberDependencies, args: RememberArguments, call: ToolCall): Told {
  const { text: fact, at, context = null, maxWrites = DEFAULT_WRITES } = args;
  const speaker = toSpeaker(args.speaker ?? null) === null ? null : (args.speaker ?? null);
  const timeZone = call.timeZone ?? deps.timeZone;
  const day = toLocalDay(at === undefined ? deps.now() : Date.parse(at), timeZone);
  const purpose: Purpose = args.forget === true ? 'forget' : 'fact';
  return { fact, speaker, context, day, timeZone, maxWrites, purpose };
}

function toPlan({ reason, dryRun = false }: RememberArguments): Omit<Plan, 'memory'> {
  return {
    accepted: [],
    refused: [],
    known: [],
    isForget: false,
    degraded: null,
    isQueued: false,
    reason,
    dryRun,
  };
}

const UNJUDGED: Plan['refused'][number] = {
  why: 'The model failed its exam at judging edits. An operator sees it in the status.',
  lines: [],
  kind: null,
  named: [],
};

const NOTHING_TO_FORGET = {
  why: 'The model found no line that the request names.',
  lines: [],
  kind: null,
  named: [],
};

/**
 * The lines that say the fact already, where a model finds nothing to add to them. They have all words
 * of the fact: a model may as well repeat a line that has nothing to do with it.
 */
export async function findKnown(
  { question }: Session,
  { memory, examined, malformed }: Proposal,
): Promise<Plan['known']> {
  if (malformed > 0 || examined.some(({ knownBy }) => knownBy.length === 0)) return [];
  const said = await inSlices(findSaying(memory, question, 'covered'));
  return toKnownLines(said ?? [], memory);
}

type ModelError = MemoryError & { code: 'MODEL_FAILED' | 'MODEL_TIMEOUT' };

function isModelError(error: unknown): error is ModelError {
  return isProviderError(error) && error.code !== 'EMBEDDING_FAILED';
}

function toDegraded(error: MemoryError): ModelError['code'] {
  return error.code === 'MODEL_TIMEOUT' ? 'MODEL_TIMEOUT' : 'MODEL_FAILED';
}

/** Before anything of it leaves the service. */
function checkFact(fact: string, speaker: string | null): void {
  checkContent(fact, Number.MAX_SAFE_INTEGER);
  if (toOneLine(fact) === '') throw invalidField('/text', 'must not be blank', 'text');
  const secret = nameSecret(fact) ?? nameSecret(speaker ?? '');
  if (secret === null) return;
  throw new MemoryError('INVALID_CONTENT', `The text looks like ${secret}: it is not remembered.`, {
    details: { reason: 'secret' },
  });
}
