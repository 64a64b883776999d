import type { RememberService, ToolCall } from '../contracts/tool.ts';
import { examine, type ExamineOptions, type ExaminedOperation, passes } from '../edits/engine.ts';
import { createFence } from '../edits/fence.ts';
import { GUARDS } from '../edits/guards.ts';
import {
  type EditOperation,
  editsSchema,
  parseEdits,
  type ParsedEdits,
  REMEMBER_KINDS,
  type Verdict,
  VERDICT_WORDS,
} from '../edits/operations.ts';
import { joinPrompt, promptText, type PromptText, toPromptLine } from '../edits/prompt-text.ts';
import { nameSecret } from '../edits/secrets.ts';
import { resolveInSteps } from '../language/times.ts';
import {
  parseVerdicts,
  toVerifierPrompt,
  VERDICTS_SCHEMA,
  VERIFIER_PROMPT,
} from '../edits/verify.ts';
import type { EditedMemory } from '../edits/workspace.ts';
import { MemoryError } from '../errors.ts';
import { checkContent } from '../files/content.ts';
import type { Idempotency } from '../files/idempotency.ts';
import type { Revisions } from '../history/revisions.ts';
import { inSlices } from '../pause.ts';
import { createProviderError, isProviderError } from '../provider-failure.ts';
import { toLocalDay } from '../time.ts';
import type { Model } from './model.ts';
import {
  type Kept,
  type Refusal,
  type Remembered,
  toKept,
  toOutcome,
  toPreview,
  toRefusal,
  withDiffs,
} from './remember/answer.ts';
import { applyWithCatalog } from './remember/catalog.ts';
import { createFactGuard } from './remember/fact-guard.ts';
import {
  look,
  lookAgain,
  type LookDependencies,
  lookUp,
  type SeenMemory,
} from './remember/look.ts';
import {
  type Question,
  SYSTEM_PROMPT,
  toContext,
  toOccasion,
  toPrompt,
} from './remember/prompt.ts';

/** What remembering works with. */
export interface RememberDependencies extends LookDependencies {
  idempotency: Idempotency;
  revisions: Pick<Revisions, 'contents' | 'lineTimes'>;
  model: Model;
  /** Judges what the model proposes; the same model unless another one is configured. */
  verifier: Model;
  /** Tokens of one reply. */
  replyTokens: number;
  /** The key of the marks around memory in prompts. */
  fenceKey(): Promise<Buffer>;
  maxFileBytes: number;
  /** Of a caller that names none. */
  timeZone: string;
  now: () => number;
}

type RememberArguments = Parameters<RememberService['remember']>[0];

/** Files that one call may change, unless it says otherwise. */
const DEFAULT_WRITES = 5;
/** All questions together; the call itself has 150 s. */
const MODEL_MS = 140_000;
/** Attempts to write while others change the same files. */
const ATTEMPTS = 3;
const REPLY_SCHEMA = editsSchema(REMEMBER_KINDS);

/**
 * `memory_remember`: looks, asks the model what to change, checks the form of each operation, has the
 * verifier judge its meaning, and writes those that pass in one transaction. Nothing is locked while
 * a model thinks; operations are found again by their lines when memory changed meanwhile.
 *
 * Throws `INVALID_CONTENT` for a text that looks like a secret, `QUOTA_EXCEEDED` when more files
 * would change than may, and `MODEL_FAILED` or `MODEL_TIMEOUT`; then nothing is stored.
 */
export function createRemember(deps: RememberDependencies): RememberService {
  return {
    async remember(args, call) {
      checkFact(args.text, args.speaker ?? null);
      const replay = async () => {
        const kept = args.dryRun === true ? null : await deps.idempotency.replay<Kept>(call);
        return kept === null ? null : await withDiffs(deps.revisions, kept, null);
      };
      const first = await replay();
      if (first !== null) return first;
      try {
        return await rememberOnce(deps, args, call);
      } catch (error) {
        // Another call under the same key may have been answered meanwhile: both give its answer.
        const other = await replay().catch(() => null);
        if (other === null) throw error;
        return other;
      }
    },
  };
}

/** One call under way. */
interface Session {
  deps: RememberDependencies;
  call: ToolCall;
  question: Question;
  options: ExamineOptions;
  /** Of `performance.now()`: when the models have to be done. */
  until: number;
  toMark(purpose: 'remember' | 'verify', memory: SeenMemory): PromptText;
}

/** The operations of a call, as far as code can judge them. */
interface Proposal {
  memory: SeenMemory;
  examined: ExaminedOperation[];
  /** How many were of another form. */
  malformed: number;
}

/**
 * 1. `look` reads what may have to do with the fact.
 * 2. `propose` asks the model, and once more about what failed for its form.
 * 3. `judge` asks the verifier about what is left.
 * 4. `store` writes what passed.
 */
async function rememberOnce(
  deps: RememberDependencies,
  args: RememberArguments,
  call: ToolCall,
): Promise<Remembered> {
  const { text: fact, at, speaker = null, maxWrites = DEFAULT_WRITES } = args;
  const context = toShown(args.context ?? '');
  const until = performance.now() + MODEL_MS;
  const timeZone = call.timeZone ?? deps.timeZone;
  const day = toLocalDay(at === undefined ? deps.now() : Date.parse(at), timeZone);
  const times = await inSlices(resolveInSteps(fact, day));
  const limits = { maxFileBytes: deps.maxFileBytes, mayCreate: true };
  const key = await deps.fenceKey();
  const toMark = (purpose: 'remember' | 'verify', memory: EditedMemory) =>
    createFence(key, { userId: call.userId, purpose }, [
      fact,
      speaker ?? '',
      context ?? '',
      ...memory.paths,
      ...memory.files.map(({ content }) => content),
    ]);
  const memory = await look(deps, { fact, context }, call);
  const mark = toMark('remember', memory);
  const session: Session = {
    deps,
    call,
    question: { fact, speaker, context, day, timeZone, times, maxWrites, mark },
    options: { limits, guards: { ...GUARDS, fact: createFactGuard({ times, day }) } },
    until,
    toMark,
  };
  const proposal = await propose(session, memory);
  const { accepted, refused } = await judge(session, proposal);
  return await store(session, { memory: proposal.memory, accepted, refused, args });
}

/** What the model proposes. What fails for its form goes back once, with the reason. */
async function propose(session: Session, shown: SeenMemory): Promise<Proposal> {
  const { deps, call, options } = session;
  const reply = await askModel(session, shown, null);
  let memory = await lookUp(deps, shown, reply?.operations ?? [], call);
  let examined = await examine(memory, reply?.operations ?? [], options);
  const malformed = reply?.malformed.length ?? 0;
  if (reply !== null && malformed === 0 && !examined.some(isFaulty)) {
    return { memory, examined, malformed };
  }
  let again: ParsedEdits | null = null;
  try {
    again = await askModel(session, memory, toProblem(examined, reply));
  } catch (error) {
    // What was good the first time is good without it.
    if (reply === null || !isProviderError(error)) throw error;
  }
  if (again === null) {
    if (reply === null) throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
    return { memory, examined, malformed };
  }
  const merged = mergeReplies(examined, again.operations);
  memory = await lookUp(deps, memory, merged, call);
  examined = await examine(memory, merged, options);
  return { memory, examined, malformed: again.malformed.length };
}

/** A reply that was cut off is of use when it has a whole operation. */
async function askModel(
  { deps, question, call, until }: Session,
  memory: SeenMemory,
  problem: PromptText | null,
): Promise<ParsedEdits | null> {
  const reply = await deps.model.ask(
    {
      system: SYSTEM_PROMPT,
      prompt: toPrompt(memory, question, problem),
      schema: REPLY_SCHEMA,
      maxTokens: deps.replyTokens,
      isUsable: (text) => (parseEdits(text, REMEMBER_KINDS)?.operations.length ?? 0) > 0,
    },
    { call, timeoutMs: remaining(until) },
  );
  return parseEdits(reply, REMEMBER_KINDS);
}

/** What passes, and what does not. Each operation of class `meaning` needs a verdict. */
async function judge(
  session: Session,
  { memory, examined, malformed }: Proposal,
): Promise<{ accepted: ExaminedOperation[]; refused: Refusal[] }> {
  const candidates = examined.filter(({ fault, isKnown }) => fault === null && !isKnown);
  const toJudge = candidates.filter((one) => one.class === 'meaning');
  const verdicts =
    toJudge.length === 0
      ? new Map<number, Verdict>()
      : await askVerifier(session, toJudge, session.toMark('verify', memory));
  const isGood = (one: ExaminedOperation) =>
    one.class === 'certain' || passes(one, verdicts.get(one.operation.number) ?? null);
  return {
    accepted: candidates.filter(isGood),
    refused: [
      ...examined.filter(isFaulty).map((one) => toRefusal(one, one.fault?.why ?? '')),
      ...candidates
        .filter((one) => !isGood(one))
        .map((one) =>
          toRefusal(one, VERDICT_WORDS[verdicts.get(one.operation.number) ?? 'unsure']),
        ),
      ...Array.from({ length: malformed }, () => ({
        why: 'The model proposed an operation that is not of the form asked for.',
        lines: [],
      })),
    ],
  };
}

/** Writes what passed, on memory as it is by then. */
async function store(
  { deps, call, options, question: { maxWrites } }: Session,
  proposal: {
    memory: SeenMemory;
    accepted: ExaminedOperation[];
    refused: Refusal[];
    args: RememberArguments;
  },
): Promise<Remembered> {
  const { reason, dryRun = false } = proposal.args;
  let { memory, accepted, refused } = proposal;
  for (let attempt = 1; ; attempt += 1) {
    const result = await applyWithCatalog(memory, accepted, options);
    refused = [
      ...refused,
      ...result.stale.map((one) => toRefusal(one, 'Its lines changed meanwhile.')),
    ];
    accepted = result.applied;
    if (result.files.length > maxWrites) throw tooManyWrites(result.files.length, maxWrites);
    const outcome = toOutcome(result.files, refused, dryRun);
    if (dryRun) return await toPreview(result.files, refused, outcome);
    const files = result.files.map(({ path, version, after }) => ({
      path,
      version,
      content: after,
    }));
    let isReplayed = false;
    const watched: ToolCall = {
      ...call,
      onReplay(first) {
        isReplayed = true;
        call.onReplay?.(first);
      },
    };
    try {
      const kept = await deps.files.writeAll(
        { files, reason },
        (written) => toKept(outcome, refused, written),
        watched,
      );
      // The answer of another call under the same key is that call's in every part.
      return await withDiffs(deps.revisions, kept, isReplayed ? null : refused);
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || attempt === ATTEMPTS) throw error;
      const operations = accepted.map(({ operation }) => operation);
      memory = await lookAgain(deps, memory, operations, call);
    }
  }
}

function tooManyWrites(count: number, max: number): MemoryError {
  return new MemoryError('QUOTA_EXCEEDED', `${count} files would change; at most ${max} may.`, {
    details: { limit: 'maxWrites', max },
  });
}

/** Before anything of it leaves the service. */
function checkFact(fact: string, speaker: string | null): void {
  checkContent(fact, Number.MAX_SAFE_INTEGER);
  const secret = nameSecret(fact) ?? nameSecret(speaker ?? '');
  if (secret === null) return;
  throw new MemoryError('INVALID_CONTENT', `The text looks like ${secret}: it is not remembered.`, {
    details: { reason: 'secret' },
  });
}

/** What the models are shown of what was said before: the fact counts without it, so a secret hides it. */
function toShown(context: string): string | null {
  return context.trim() === '' || nameSecret(context) !== null ? null : context.toWellFormed();
}

function isFaulty({ fault, isKnown }: ExaminedOperation): boolean {
  return fault !== null && !isKnown;
}

function remaining(until: number): number {
  return Math.max(1, Math.round(until - performance.now()));
}

/** One question for all operations. Whatever fails here, nothing is stored, and a repeat may help. */
async function askVerifier(
  { deps, question, call, until }: Session,
  operations: readonly ExaminedOperation[],
  mark: PromptText,
): Promise<Map<number, Verdict>> {
  const about = joinPrompt([toOccasion(question), ...toContext(question, mark)]);
  const request = {
    system: VERIFIER_PROMPT,
    prompt: await toVerifierPrompt(operations, { mark, about }),
    schema: VERDICTS_SCHEMA,
    maxTokens: deps.replyTokens,
  };
  let reply: string;
  try {
    reply = await deps.verifier.ask(request, { call, timeoutMs: remaining(until) });
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code !== 'MODEL_TIMEOUT') throw error;
    throw createProviderError('MODEL_FAILED', { reason: 'timeout' }, { cause: error });
  }
  const verdicts = parseVerdicts(reply);
  if (verdicts !== null && operations.some(({ operation }) => verdicts.has(operation.number))) {
    return verdicts;
  }
  throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
}

/** What the model is told of its first answer. */
function toProblem(examined: readonly ExaminedOperation[], reply: ParsedEdits | null): PromptText {
  if (reply === null) {
    return promptText`Your last answer was not of the form asked for. Answer again.`;
  }
  const reasons = [
    ...examined
      .filter(isFaulty)
      .map(({ operation, fault }) => toPromptLine(`operation ${operation.number}: ${fault?.why}`)),
    ...reply.malformed.map(
      (number) => promptText`operation ${number}: It is not of the form asked for.`,
    ),
  ];
  return promptText`Of your last answer these were refused: ${joinPrompt(reasons, ' ')} The others are taken. Propose the refused ones again, mended, or leave them out.`;
}

/**
 * What passed of the first reply with the second: a repeat of what passed is left out, and the others
 * get the numbers that are free.
 */
function mergeReplies(
  examined: readonly ExaminedOperation[],
  again: readonly EditOperation[],
): EditOperation[] {
  const taken = examined.filter((one) => !isFaulty(one)).map(({ operation }) => operation);
  const toKey = ({ kind, remove, add }: EditOperation) =>
    JSON.stringify([kind, remove.map(({ path, text }) => [path, text]), add]);
  const known = new Set(taken.map(toKey));
  const merged = [...taken];
  let next = 1;
  for (const operation of again.filter((one) => !known.has(toKey(one)))) {
    while (taken.some(({ number }) => number === next)) next += 1;
    merged.push({ ...operation, number: next });
    next += 1;
  }
  return merged.sort((a, b) => a.number - b.number);
}
