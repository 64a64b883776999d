import { examine, type ExaminedOperation } from '../../edits/engine.ts';
import {
  type EditOperation,
  editsSchema,
  parseEdits,
  type ParsedEdits,
  quoteOperation,
} from '../../edits/operations.ts';
import { type PromptText, toPromptLine } from '../../edits/prompt-text.ts';
import { repair, repairPaths } from '../../edits/repair.ts';
import { limitReply } from '../../edits/prompt-budget.ts';
import { createProviderError, isProviderError } from '../../providers/provider-failure.ts';
import { lookUp, type SeenMemory } from './look.ts';
import {
  REPAIR_PROMPT,
  type RefusedOperation,
  systemPrompt,
  toPrompt,
  toRepairPrompt,
} from './prompt.ts';
import { isFaulty, type Session, toAskOptions } from './session.ts';

/** The operations of a call, as far as code can judge them. */
export interface Proposal {
  memory: SeenMemory;
  examined: ExaminedOperation[];
  /** How many were of another form. */
  malformed: number;
  /** The fact asks to forget something: the caller says so, or the model does. */
  isForget: boolean;
}

/** A reply, and what it says. */
interface Reply {
  text: string;
  parsed: ParsedEdits | null;
}

/**
 * Asks the model what to change. An operation that fails for its form goes back to the model once, with the
 * reason and the lines that it names. If the reply had no operations at all, the whole question is asked again.
 *
 * Throws `MODEL_FAILED` or `MODEL_TIMEOUT`, also for a reply of another form.
 */
export async function propose(session: Session): Promise<Proposal> {
  const { shown } = session;
  const first = await ask(session, shown, {
    system: systemPrompt(session.standing.model),
    prompt: toPrompt(shown, session.question, session.standing.model),
  });
  const proposal = await examineReply(session, shown, first.parsed);
  const isGood = proposal.malformed === 0 && !proposal.examined.some(isFaulty);
  if (first.parsed !== null && isGood) return proposal;
  let again: ParsedEdits | null = null;
  try {
    again = await askAgain(session, proposal, first);
  } catch (error) {
    // What was good the first time is good without it.
    if (first.parsed === null || !isProviderError(error)) throw error;
  }
  if (again === null) {
    if (first.parsed !== null) return proposal;
    throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
  }
  const merged = mergeReplies(proposal.examined, again);
  const mended = await examineReply(session, proposal.memory, merged);
  return { ...mended, isForget: mended.isForget || proposal.isForget };
}

async function ask(
  session: Session,
  { files }: SeenMemory,
  { system, prompt }: { system: PromptText; prompt: PromptText },
): Promise<Reply> {
  const { deps, kinds } = session;
  const { model } = session.standing;
  const text = await deps.model.ask(
    {
      system,
      prompt,
      schema: editsSchema(kinds, { hasForget: true, isShort: model.form === 'short' }),
      maxTokens: limitReply(model, deps.replyTokens),
      // A reply that was cut off is of use when it has a whole operation.
      isUsable: (reply) => (parseEdits(reply, kinds)?.operations.length ?? 0) > 0,
    },
    toAskOptions(session),
  );
  return { text, parsed: parseEdits(text, kinds, { files }) };
}

/** Mends what can be mended, reads the files that operations name, and examines them. */
async function examineReply(
  { deps, call, options, question }: Session,
  known: SeenMemory,
  parsed: ParsedEdits | null,
): Promise<Proposal> {
  const { operations = [], malformed = [] } = parsed ?? {};
  const memory = await lookUp(deps, known, repairPaths(operations, known), call);
  const examined = await examine(memory, await repair(memory, operations), options);
  const onlyRemoves = ({ kind, add }: EditOperation) => kind === 'index' || add === null;
  const isSaid =
    parsed?.isForget === true &&
    operations.some(({ kind }) => kind === 'supersede') &&
    operations.every(onlyRemoves);
  const isForget = question.purpose === 'forget' || isSaid;
  return { memory, examined, malformed: malformed.length, isForget };
}

/** Asks again: for all, or for what was refused for its form. */
async function askAgain(
  session: Session,
  { memory, examined }: Proposal,
  { text, parsed }: Reply,
): Promise<ParsedEdits | null> {
  const { question } = session;
  if (parsed === null) {
    const { model } = session.standing;
    const prompt = toPrompt(memory, question, { ...model, isRepeated: true });
    return (await ask(session, memory, { system: systemPrompt(model), prompt })).parsed;
  }
  const refused: RefusedOperation[] = [
    ...examined.filter(isFaulty).map(({ operation, fault }) => ({
      number: operation.number,
      why: fault?.why ?? '',
      named: operation,
    })),
    ...parsed.malformed.map((number) => ({
      number,
      why: 'It is not of the form asked for.',
      named: null,
    })),
  ].map((one) => ({ ...one, given: toPromptLine(quoteOperation(text, one.number)) }));
  const mark = session.toMark('remember', memory);
  const prompt = toRepairPrompt(memory, { ...question, mark }, refused);
  return (await ask(session, memory, { system: REPAIR_PROMPT, prompt })).parsed;
}

/**
 * What passed of the first reply with the second: a repeat of what passed is left out, and the others
 * get the numbers that are free.
 */
function mergeReplies(examined: readonly ExaminedOperation[], again: ParsedEdits): ParsedEdits {
  const taken = examined.filter((one) => !isFaulty(one)).map(({ operation }) => operation);
  const toKey = ({ kind, remove, add }: EditOperation) =>
    JSON.stringify([kind, remove.map(({ path, text }) => [path, text]), add]);
  const known = new Set(taken.map(toKey));
  const merged = [...taken];
  let next = 1;
  for (const operation of again.operations.filter((one) => !known.has(toKey(one)))) {
    while (taken.some(({ number }) => number === next)) next += 1;
    merged.push({ ...operation, number: next });
    next += 1;
  }
  return { ...again, operations: merged.sort((a, b) => a.number - b.number) };
}
