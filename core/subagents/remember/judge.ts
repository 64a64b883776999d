import { type ExaminedOperation, passes } from '../../edits/engine.ts';
import { type Verdict, VERDICT_WORDS } from '../../edits/operations.ts';
import { joinPrompt } from '../../edits/prompt-text.ts';
import {
  parseVerdicts,
  toVerifierPrompt,
  VERDICTS_SCHEMA,
  verifierPrompt,
} from '../../edits/verify.ts';
import type { MemoryError } from '../../errors.ts';
import { createProviderError, isProviderError } from '../../providers/provider-failure.ts';
import { limitReply } from '../../edits/prompt-budget.ts';
import { type Refusal, toRefusal } from './answer.ts';
import { toContext, toOccasion } from './prompt.ts';
import type { Proposal } from './propose.ts';
import { isFaulty, type Session, toAskOptions } from './session.ts';

/** What passes of a proposal, and what does not. */
export interface Judgement {
  accepted: ExaminedOperation[];
  refused: Refusal[];
  /** Why there are no verdicts, where the verifier failed. */
  failure: MemoryError | null;
}

/** Asks the verifier about each operation of class `meaning`. Where it fails, these are refused. */
export async function judge(
  session: Session,
  { memory, examined, malformed }: Proposal,
): Promise<Judgement> {
  const candidates = examined.filter(
    ({ fault, knownBy }) => fault === null && knownBy.length === 0,
  );
  const toJudge = candidates.filter((one) => one.class === 'meaning');
  let verdicts = new Map<number, Verdict>();
  let failure: MemoryError | null = null;
  try {
    if (toJudge.length > 0) verdicts = await askVerifier(session, toJudge, memory);
  } catch (error) {
    if (!isProviderError(error)) throw error;
    failure = error;
  }
  const isGood = (one: ExaminedOperation) =>
    one.class === 'certain' || passes(one, verdicts.get(one.operation.number) ?? null);
  const toWhy = ({ operation }: ExaminedOperation) =>
    failure === null
      ? VERDICT_WORDS[verdicts.get(operation.number) ?? 'unsure']
      : 'The verifier gave no verdict.';
  return {
    accepted: candidates.filter(isGood),
    refused: [
      ...examined.filter(isFaulty).map((one) => toRefusal(one, one.fault?.why ?? '')),
      ...candidates.filter((one) => !isGood(one)).map((one) => toRefusal(one, toWhy(one))),
      ...Array.from({ length: malformed }, () => ({
        why: 'The model proposed an operation that is not of the form asked for.',
        lines: [],
        kind: null,
        named: [],
      })),
    ],
    failure,
  };
}

/** One question for all operations; throws `MODEL_FAILED` or `MODEL_TIMEOUT`. */
export async function askVerifier(
  session: Session,
  operations: readonly ExaminedOperation[],
  memory: Proposal['memory'],
): Promise<Map<number, Verdict>> {
  const { deps, question } = session;
  const { verifier } = session.standing;
  const mark = session.toMark('verify', memory);
  const about = joinPrompt([toOccasion(question), ...toContext(question, mark)]);
  const request = {
    system: verifierPrompt(verifier),
    prompt: await toVerifierPrompt(operations, { mark, about }),
    schema: VERDICTS_SCHEMA,
    maxTokens: limitReply(verifier, deps.replyTokens),
  };
  const reply = await deps.verifier.ask(request, toAskOptions(session));
  const verdicts = parseVerdicts(reply, operations);
  if (verdicts !== null && operations.some(({ operation }) => verdicts.has(operation.number))) {
    return verdicts;
  }
  throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
}
