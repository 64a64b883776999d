import type { ToolRunner, TypedToolRunner } from '../core/contracts/tool.ts';
import { type ErrorCode, MemoryError } from '../core/errors.ts';
import { parseUserId } from '../core/files/paths.ts';
import { rememberConversation } from './client.ts';
import { toFailure } from './runner.ts';

/** Whose messages are kept, in whose memory, and what tells of those that are not. */
export interface KeepOptions {
  /** From an identity that your server trusts. */
  userId: string;
  /** Who writes, as revisions name it; default `agent`. */
  actor?: string;
  /** Where the user is: the zone of relative dates. */
  timeZone?: string;
  /** Put before the name of the middleware, where an agent keeps its turns in two memories. */
  toolPrefix?: string;
  /**
   * An id of the conversation. A turn that is repeated in it within a day is kept once. Without an id, a repeated
   * turn is recognised within the same ten minutes of the clock, as 12:00 to 12:10; else the service is asked
   * again, and answers that memory says so already.
   */
  conversation?: string;
  /** Whether a message of the user is kept; default all that have text. */
  filter?: (text: string) => boolean;
  /** Milliseconds that the end of a turn may wait for the service; default 5,000. */
  timeoutMs?: number;
  /** Gets what was not kept, and why. Default: `console.warn`. */
  onProblem?: (problem: KeepProblem) => void;
}

/** Why a message of the user was not kept. */
export interface KeepProblem {
  code: ErrorCode;
  message: string;
}

/** A message of a conversation, as far as it matters here. */
export interface Said {
  role: 'user' | 'assistant';
  content: string;
}

/**
 * Makes what gives what the user said last to `memory_remember`, one message after the other, with
 * `wait: false`. It never rejects, and takes at most `timeoutMs`.
 *
 * Each message of the user is kept once in a conversation:
 * - It sends the user's last messages, back to the latest message of the assistant before them. Earlier ones
 *   were sent at the end of their own turn, whether that ended in text or in a tool call.
 * - A turn that is repeated gets the same idempotency keys, even if two agents run it at the same time.
 * - The same words said later get another key, because other messages stand before them.
 * - A key depends only on the last few messages before, because an app may send a part of its history. If the
 *   app cuts the history shorter or sends a summary, a repeated message gets another key. The service then
 *   answers that memory says so already.
 */
export function createKeeper(
  runner: ToolRunner,
  options: KeepOptions,
): (conversation: readonly Said[], id?: string) => Promise<void> {
  const { userId, filter = () => true, timeoutMs = 5_000 } = options;
  // A wrong one would otherwise come to light after each turn.
  parseUserId(userId);
  const problems = createProblems(runner, options);
  let longest: number | null = null;

  async function keep(said: readonly Said[], id: string | undefined, signal: AbortSignal) {
    const turn = findTurn(said).filter((at) => isKept(said[at]?.content ?? '', filter));
    if (turn.length === 0) return;
    longest ??= await findLongestText(runner);
    for (const at of turn) {
      const { length } = [...(said[at]?.content ?? '')];
      if (length > longest) {
        const message = `A message of ${length} characters was not kept: ${longest} are the most.`;
        problems.tell({ code: 'INVALID_REQUEST', message });
        continue;
      }
      const upTo = said.slice(0, at + 1);
      const before = said.slice(0, at).findLastIndex(({ role }) => role === 'user') + 1;
      try {
        await rememberConversation(runner as TypedToolRunner, upTo.slice(before), {
          ...toContext(options),
          wait: false,
          idempotencyKey: await toKey(upTo, { userId, id }),
          signal,
        });
        problems.endOutage();
      } catch (thrown) {
        const failure = toFailure(thrown);
        // It is about this message alone: it holds a secret.
        if (failure.code !== 'INVALID_CONTENT') throw thrown;
        problems.tell({
          code: failure.code,
          message: `A message was not kept: ${failure.message}`,
        });
      }
    }
  }

  return async (said, id = options.conversation) => {
    const limit = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `The memory service took more than ${timeoutMs} ms.`;
        reject(new MemoryError('SERVICE_UNREACHABLE', message));
        limit.abort();
      }, timeoutMs);
    });
    try {
      await Promise.race([keep(said, id, limit.signal), tooLate]);
    } catch (thrown) {
      problems.tellOnce(thrown);
    } finally {
      clearTimeout(timer);
    }
  };
}

function toContext({ userId, actor, timeZone }: KeepOptions) {
  return {
    userId,
    ...(actor === undefined ? {} : { actor }),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
}

function isKept(text: string, filter: (text: string) => boolean): boolean {
  return text.trim() !== '' && filter(text);
}

/** The last messages of the user that no message of the assistant parts. */
function findTurn(said: readonly Said[]): number[] {
  const last = said.findLastIndex(({ role }) => role === 'user');
  const answer = said.slice(0, Math.max(last, 0)).findLastIndex(({ role }) => role !== 'user');
  return said.flatMap(({ role }, at) => (at > answer && role === 'user' ? [at] : []));
}

const REPEAT_MS = 10 * 60 * 1_000;
/**
 * Messages with text that count for a key beside the one that it is for. The last answer alone would not do: who
 * changes their mind twice, and reads "Noted." each time, says the same after the same.
 */
const KEY_MESSAGES = 6;

/**
 * The idempotency key of the last of these messages. Two conversations may begin with the same words: without
 * an id, they are told apart by their time.
 */
async function toKey(
  upTo: readonly Said[],
  { userId, id }: { userId: string; id: string | undefined },
): Promise<string> {
  const conversation = id ?? Math.floor(Date.now() / REPEAT_MS);
  const words = upTo
    .filter(({ content }) => content.trim() !== '')
    .slice(-KEY_MESSAGES - 1)
    .map(({ role, content }) => [role, content]);
  const bytes = new TextEncoder().encode(JSON.stringify([userId, conversation, words]));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `keep-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * The most characters of a message that the service takes. Rejects where it takes none: it says so once, and
 * need not refuse each message.
 */
async function findLongestText(runner: ToolRunner): Promise<number> {
  const tools = await runner.listTools();
  const tool = tools.find(({ name }) => name === 'memory_remember');
  if (tool?.available === false) throw new MemoryError('MODEL_NOT_CONFIGURED');
  const { properties } = Object(tool?.inputSchema) as { properties?: { [name: string]: unknown } };
  if (properties?.['wait'] === undefined) {
    const reason = 'The memory service is of an earlier version: its memory_remember has no wait.';
    throw new MemoryError('INVALID_REQUEST', reason);
  }
  const { maxLength } = Object(properties['text']) as { maxLength?: unknown };
  return typeof maxLength === 'number' ? maxLength : Infinity;
}

/** What was already told of a service, for all who keep turns in it. */
const TOLD = new WeakMap<ToolRunner, Set<string>>();

/** Tells problems. What lasts, as a service that does not answer, is told once until it is over. */
function createProblems(runner: ToolRunner, { onProblem = warn }: KeepOptions) {
  const told = onProblem === warn ? (TOLD.get(runner) ?? new Set<string>()) : new Set<string>();
  if (onProblem === warn) TOLD.set(runner, told);
  function tell(problem: KeepProblem): void {
    try {
      onProblem(problem);
    } catch {
      // The turn goes on, whatever a callback does.
    }
  }
  return {
    tell,
    tellOnce(thrown: unknown) {
      const { code, message, action } = toFailure(thrown);
      if (told.has(code)) return;
      told.add(code);
      tell({
        code,
        message: [`Messages are not kept: ${message}`, action].filter(Boolean).join(' '),
      });
    },
    endOutage: () => told.clear(),
  };
}

function warn({ code, message }: KeepProblem): void {
  // eslint-disable-next-line no-console -- an adapter has no log, and the app none that it knows
  console.warn(`memory-service: keepMemory: ${code}: ${message}`);
}
