import type {
  ToolArguments,
  ToolRequest,
  ToolResult,
  ToolRunner,
  TypedToolRunner,
} from '../core/contracts/tool.ts';
import { parseUserId } from '../core/files/paths.ts';
import { memoryInstructions } from '../core/tools/memory-instructions.ts';
import { takeEnd } from '../core/encoding/take-text.ts';
import { readText, toRecalledBlock, toRecalledNote } from './recalled-text.ts';
import { type AdapterOptions, toCallContext, toFailedOutcome } from './runner.ts';

/** Whose memory stands in front of the model, and how much of it. */
export interface MemoryPromptOptions extends AdapterOptions {
  /** Length of what memory holds, in characters, at most; default 8,000. */
  maxChars?: number;
  /**
   * Gives memory whole where it fits, and names its files where nothing is found. Default: as the service is
   * set, which is on unless `SERVICE_CONTEXT_FILL=false`.
   */
  fill?: boolean;
  /**
   * Lets the model of the service select lines of a memory that does not fit whole. The agent's answer waits
   * for that model. Default: off. A service of an earlier version, which does not know this option, asks its
   * model if it has one.
   */
  model?: boolean;
}

/** What `recallMemory` puts in front of a model, and where. */
export interface RecallOptions extends MemoryPromptOptions {
  /**
   * `system`: all of it in the system message. `user`: what memory holds beside the last message of the user.
   * Default: what is the same for every question in the system message, so that a provider's prompt cache
   * has it, and what depends on the question beside the last message of the user.
   */
  place?: 'system' | 'user';
}

/** A message in the form of most chat APIs, and of most frameworks. */
export interface PromptMessage {
  role: string;
  content?: unknown;
}

/** What memory puts in front of a model. */
export interface Recalled {
  /** For the system message. */
  system: string;
  /** Stands before what the user says in that message; `null` for nothing. */
  user: { text: string; message: number } | null;
}

/**
 * Gives the text that puts memory in front of a model: {@link memoryInstructions}, and what
 * `memory_context` holds on the last message of the user. It goes where your API takes instructions: a
 * system message, `system` or `instructions`. Make it once for each message of the user, not for each step of
 * your loop. If memory cannot be read, the text says so to the model, and nothing is thrown. Throws
 * `INVALID_USER_ID` for a bad user id.
 *
 * @example
 * const system = await toMemoryPrompt(service.tools, messages, { userId: session.userId });
 */
export async function toMemoryPrompt(
  runner: ToolRunner,
  messages: string | readonly object[],
  { signal, ...options }: MemoryPromptOptions & { signal?: AbortSignal | undefined },
): Promise<string> {
  parseUserId(options.userId);
  const query = findQuestion(
    typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
  );
  const { stable, onMessage } = await recall(runner, query, { options, signal });
  return [memoryInstructions(options), stable, onMessage].filter(Boolean).join('\n\n');
}

/**
 * Makes what gives memory at each step of an agent: memory is asked once for a message of the user, and not
 * again while the model works on it.
 */
export function createRecall(
  runner: ToolRunner,
  { place, ...options }: RecallOptions,
): (messages: readonly object[], signal: AbortSignal | undefined) => Promise<Recalled> {
  // A wrong one would otherwise come to light in front of the model.
  parseUserId(options.userId);
  const instructions = memoryInstructions(options);
  const open = new Map<string, Awaited<ReturnType<typeof recall>>>();
  async function ask(messages: readonly object[], signal: AbortSignal | undefined) {
    // Conversations that ask the same are told apart by what was said before.
    const upTo = messages.slice(0, messages.findLastIndex(isOfUser) + 1);
    const key = JSON.stringify(upTo.map((one) => readText((one as PromptMessage).content)));
    const known = isOfUser(messages.at(-1)) ? undefined : open.get(key);
    if (known !== undefined) return known;
    const found = await recall(runner, findQuestion(messages), { options, signal });
    open.delete(key);
    open.set(key, found);
    for (const oldest of open.keys()) if (open.size > CONVERSATIONS) open.delete(oldest);
    return found;
  }
  return async (messages, signal) => {
    const { stable, onMessage } = await ask(messages, signal);
    const message = place === 'system' ? -1 : messages.findLastIndex(isOfUser);
    const join = (...parts: string[]) => parts.filter((part) => part !== '').join('\n\n');
    if (message === -1) return { system: join(instructions, stable, onMessage), user: null };
    const [system, text] =
      place === 'user'
        ? [instructions, join(stable, onMessage)]
        : [join(instructions, stable), onMessage];
    return { system, user: text === '' ? null : { text, message } };
  };
}

/** Conversations that are under way at once, of one user. */
const CONVERSATIONS = 32;
/** Of a longer message, its end asks. */
const QUESTION_CHARS = 20_000;

type ContextRequest = ToolRequest<ToolArguments<'memory_context'>>;

/** What memory holds, as text for a prompt: the part that is the same for each question, and the other one. */
async function recall(
  runner: ToolRunner,
  query: string,
  { options, signal }: { options: MemoryPromptOptions; signal: AbortSignal | undefined },
): Promise<{ stable: string; onMessage: string }> {
  const { maxChars, fill, model = false } = options;
  const request = {
    context: toCallContext(options),
    arguments: {
      query,
      model,
      ...(maxChars === undefined ? {} : { maxChars }),
      ...(fill === undefined ? {} : { fill }),
    },
    ...(signal === undefined ? {} : { signal }),
  };
  try {
    const found = await gather(runner as TypedToolRunner, request);
    const isCatalog = found.sources.some(({ why }) => why === 'catalog');
    const { context, stableChars = 0 } = found as Partial<typeof found> &
      Pick<typeof found, 'context'>;

    const [stable, rest] = [context.slice(0, stableChars), context.slice(stableChars)];
    if (context === '') {
      const onMessage = await describeNothing(runner as TypedToolRunner, request);
      return { stable: '', onMessage };
    }
    return {
      stable: toRecalledBlock('stable', stable),
      onMessage: toRecalledBlock(isCatalog ? 'catalog' : 'found', rest),
    };
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    const { text } = toFailedOutcome(thrown);
    const note = `Memory could not be searched for the last message. ${text}`;
    return { stable: '', onMessage: toRecalledNote(note) };
  }
}

/** Arguments that a service of an earlier version does not know. */
const UNKNOWN = new WeakMap<ToolRunner, Set<string>>();
const NEWER = ['fill', 'model'] as const;

/** Asks a service of an earlier version without what it does not know; its answer has no `stableChars`. */
async function gather(
  runner: TypedToolRunner,
  request: ContextRequest,
): Promise<ToolResult<'memory_context'>> {
  const unknown = UNKNOWN.get(runner) ?? new Set<string>();
  UNKNOWN.set(runner, unknown);
  for (;;) {
    const args = { ...request.arguments };
    for (const name of NEWER) if (unknown.has(name)) delete args[name];
    try {
      return (await runner.execute('memory_context', { ...request, arguments: args })).result;
    } catch (thrown) {
      const refused = NEWER.filter((name) => name in args && refusesArgument(thrown, name));
      if (refused.length === 0) throw thrown;
      for (const name of refused) unknown.add(name);
    }
  }
}

/** Whether a service says that it does not know an argument. */
function refusesArgument(thrown: unknown, name: string): boolean {
  const { code, details } = Object(thrown) as { code?: unknown; details?: { issues?: unknown } };
  const issues = code === 'INVALID_REQUEST' ? details?.issues : null;
  if (!Array.isArray(issues)) return false;
  return issues.some((issue) => (Object(issue) as { path?: unknown }).path === `/${name}`);
}

/** Why a context is empty: memory without a file is another thing than a search that finds nothing. */
async function describeNothing(
  runner: TypedToolRunner,
  { context, signal }: ContextRequest,
): Promise<string> {
  const list = { context, arguments: { limit: 1 }, ...(signal === undefined ? {} : { signal }) };
  const isEmpty = await runner.execute('memory_list', list).then(
    ({ result }) => result.files.length === 0,
    () => false,
  );
  return toRecalledNote(
    isEmpty
      ? 'Memory is empty: nothing was stored yet.'
      : 'A search of memory for the last message found nothing.',
  );
}

/** What is asked: the text of the last message of the user, without what memory put into it. */
function findQuestion(messages: readonly object[]): string {
  const { content } = Object(messages.findLast(isOfUser)) as Partial<PromptMessage>;
  const question = readText(content);
  // A picture alone asks nothing; files with context: always are found all the same.
  return question.trim() === '' ? '-' : takeEnd(question, QUESTION_CHARS);
}

/** Results of tools are messages of the user in Anthropic's API; text beside them is the user's own. */
export function isOfUser(message: object | undefined): boolean {
  const { role, type, content } = Object(message) as Record<string, unknown>;
  if ((role ?? type) !== 'user' && type !== 'human') return false;
  const isResult = Array.isArray(content) && content.some(isToolResult);
  return !isResult || readText(content).trim() !== '';
}

function isToolResult(part: unknown): boolean {
  return (Object(part) as { type?: unknown }).type === 'tool_result';
}
