import type {
  ToolArguments,
  ToolDescription,
  ToolName,
  ToolRequest,
  ToolResponse,
  ToolResult,
  TypedToolRunner,
} from '../core/contracts/tool.ts';
import type { ErrorBody, ErrorCode } from '../core/errors.ts';

export type {
  BuiltInTools,
  ToolDescription,
  ToolRequest,
  ToolResponse,
  ToolRunner,
  TypedToolRunner,
} from '../core/contracts/tool.ts';
export type { ErrorCode } from '../core/errors.ts';

/** Where the service is, and how long and how often it is asked. */
export interface MemoryClientOptions {
  /** With the base path, if the service has one: `http://127.0.0.1:8787`. */
  baseUrl: string;
  /** The `SERVICE_API_KEY`. It stays on a server: never give it to a browser. */
  apiKey: string;
  /** Milliseconds that one attempt may take, its answer included; default 60,000. */
  timeoutMs?: number;
  /** Attempts after the first one; default 2. */
  maxRetries?: number;
  /** Milliseconds before the first retry, doubled for each further one; default 250. */
  retryDelayMs?: number;
  /** The W3C Trace Context of the work at hand, asked for at each call that brings none. */
  traceparent?: () => string | null | undefined;
  /** What sends the requests; default the `fetch` of the runtime. */
  fetch?: typeof globalThis.fetch;
}

/** What else an error of the client carries. */
interface MemoryClientErrorFields extends Omit<ErrorBody, 'code' | 'message' | 'action'> {
  action?: string;
  status: number;
  retryAfterSeconds?: number;
  cause?: unknown;
}

/**
 * What the service refused or failed at, with the members of the `MemoryError` that the same call
 * throws in process. A service that cannot be reached, is too slow, or whose answer is not one of
 * its own, is `SERVICE_UNREACHABLE`, with the reason in `details.reason`: `network`, `timeout` or
 * `not_the_service`.
 */
export class MemoryClientError extends Error {
  override readonly name = 'MemoryClientError';
  readonly code: ErrorCode;
  readonly status: number;
  /** The same call may succeed later. */
  readonly retryable: boolean;
  /** What to do; of a service of an older version `undefined`. */
  readonly action: string | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly traceId: string | undefined;
  readonly toolCallId: string | undefined;

  constructor(code: ErrorCode, message: string, fields: MemoryClientErrorFields) {
    super(message, fields.cause === undefined ? {} : { cause: fields.cause });
    this.code = code;
    this.status = fields.status;
    this.retryable = fields.retryable;
    this.action = fields.action;
    this.details = fields.details;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.traceId = fields.traceId;
    this.toolCallId = fields.toolCallId;
  }
}

/** Characters of `text` and of `context` in `memory_remember`. */
const LONGEST_TEXT = 16_384;
/** Longer than this it does not wait for a retry: the error says how long it would have been. */
const LONGEST_DELAY_MS = 10_000;

/**
 * The tools of a service over HTTP, wherever there is `fetch`: Node, Bun, Deno, edge runtimes. It
 * imports nothing. Attempts that the service did not carry out are repeated, and each write has an
 * idempotency key, so that one whose answer was lost is not carried out twice. Methods reject with
 * a {@link MemoryClientError}, or with the reason of the signal that stopped them. The constructor
 * throws a `TypeError` without a base URL or a key.
 *
 * @example
 * import { MemoryClient } from 'memory-service/client';
 *
 * const memory = new MemoryClient({ baseUrl: 'http://127.0.0.1:8787', apiKey });
 * const { result } = await memory.execute('memory_read', {
 *   context: { userId: 'alice' },
 *   arguments: { path: 'user/profile.md' },
 * });
 */
export class MemoryClient implements TypedToolRunner {
  readonly baseUrl: string;
  // Private, so that a client that is logged shows no key.
  readonly #apiKey: string;
  readonly #options: MemoryClientOptions;

  constructor(options: MemoryClientOptions) {
    if (typeof options?.baseUrl !== 'string' || !/^https?:\/\/[^/]/.test(options.baseUrl)) {
      throw new TypeError('MemoryClient needs a baseUrl, as in http://127.0.0.1:8787.');
    }
    if (typeof options.apiKey !== 'string' || options.apiKey === '') {
      throw new TypeError('MemoryClient needs an apiKey: the SERVICE_API_KEY of the service.');
    }
    let end = options.baseUrl.length;
    while (options.baseUrl[end - 1] === '/') end -= 1;
    this.baseUrl = options.baseUrl.slice(0, end);
    this.#apiKey = options.apiKey;
    this.#options = options;
  }

  /** The tools that the service has, those of its plugins included. */
  async listTools({ signal }: { signal?: AbortSignal } = {}): Promise<readonly ToolDescription[]> {
    const answer = await this.#send({ method: 'GET', path: '/v1/tools' }, signal);
    const { tools } = answer.body;
    if (!Array.isArray(tools)) throw notTheService(answer.status);
    return tools as ToolDescription[];
  }

  /**
   * Runs a tool for `context.userId`, which comes from an identity that your server trusts. Without
   * an `idempotencyKey` of yours, the call gets one of its own.
   */
  async execute<Name extends ToolName>(
    name: Name,
    request: ToolRequest<ToolArguments<Name>>,
  ): Promise<ToolResponse<ToolResult<Name>>> {
    const { context, arguments: args, signal } = request;
    const traceparent =
      request.traceparent ?? this.#options.traceparent?.() ?? toTraceparent(request.runTraceId);
    const { body, status, headers } = await this.#send(
      {
        method: 'POST',
        path: `/v1/tools/${encodeURIComponent(name)}/execute`,
        headers: {
          'content-type': 'application/json',
          'idempotency-key': request.idempotencyKey ?? crypto.randomUUID(),
          ...(traceparent === null ? {} : { traceparent }),
        },
        body: JSON.stringify({ context, arguments: args }),
      },
      signal,
    );
    const { result, traceId, toolCallId, durationMs } = body;
    if (typeof traceId !== 'string' || typeof toolCallId !== 'string') throw notTheService(status);
    return {
      result: result as ToolResult<Name>,
      traceId,
      toolCallId,
      durationMs: Number(durationMs),
      ...(headers.get('idempotency-replayed') === 'true' ? { replayed: true as const } : {}),
    };
  }

  /**
   * Files what the user said in a conversation: see {@link rememberConversation}.
   *
   * @example
   * await memory.remember([{ role: 'user', content: 'I moved to Ghent.' }], { userId: 'alice' });
   */
  remember(
    messages: readonly ConversationMessage[],
    options: RememberOptions,
  ): Promise<RememberedMessage[]> {
    return rememberConversation(this, messages, options);
  }

  async #send(message: Message, signal: AbortSignal | undefined): Promise<Answer> {
    const { maxRetries = 2, retryDelayMs = 250 } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt(message, signal);
      } catch (error) {
        if (!(error instanceof MemoryClientError)) throw error;
        if (attempt >= maxRetries || !wasNotCarriedOut(error)) throw error;
        // Half of it by chance, so that callers that failed together do not come back together.
        const backOff = retryDelayMs * 2 ** attempt * (0.5 + Math.random() / 2);
        const delay = Math.max(backOff, (error.retryAfterSeconds ?? 0) * 1_000);
        if (delay > LONGEST_DELAY_MS) throw error;
        await sleep(delay, signal);
      }
    }
  }

  async #attempt(message: Message, signal: AbortSignal | undefined): Promise<Answer> {
    const { timeoutMs = 60_000 } = this.#options;
    const send = this.#options.fetch ?? fetch;
    signal?.throwIfAborted();
    const limit = new AbortController();
    const stop = (): void => limit.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    try {
      const response = await send(this.baseUrl + message.path, {
        method: message.method,
        headers: { ...message.headers, authorization: `Bearer ${this.#apiKey}` },
        ...(message.body === undefined ? {} : { body: message.body }),
        // A redirect would carry the key elsewhere.
        redirect: 'manual',
        signal: limit.signal,
      });
      const body = parseObject(await response.text());
      const { status, headers } = response;
      if (response.ok && body !== null) return { body, status, headers };
      throw toError(body, status, headers);
    } catch (error) {
      if (error instanceof MemoryClientError) throw error;
      signal?.throwIfAborted();
      throw limit.signal.aborted
        ? unreachable('timeout', `it did not answer within ${timeoutMs} ms`, error)
        : unreachable('network', describeCause(error), error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

/** A message in the form of most chat APIs. */
export interface ConversationMessage {
  /** Only messages of the `user` are filed; those of the `assistant` before one are its context. */
  role: string;
  /** Absent or `null` where an assistant only calls tools. */
  content?: string | readonly { type: string; text?: string }[] | null | undefined;
  /** When it was said, RFC 3339; default now. */
  at?: string;
  /** Who said it, where it was not the user whose memory it is. */
  name?: string;
}

/** Whose memory a conversation goes into. */
export interface RememberOptions {
  /** From an identity that your server trusts. */
  userId: string;
  actor?: string;
  /** Where the user is: the zone of relative dates. */
  timeZone?: string;
  /** A conversation that is given again with the same key is filed only once. */
  idempotencyKey?: string;
  /**
   * `false`: each message is in the inbox of memory when its call returns, and is filed in the background.
   * Default: waits for the model of the service.
   */
  wait?: boolean;
  signal?: AbortSignal;
}

/** What became of one message. */
export interface RememberedMessage {
  /** Its place among the messages, from 0. */
  message: number;
  result: ToolResult<'memory_remember'>;
}

/**
 * Files what the user said in a conversation, message by message, with `memory_remember`. In process,
 * pass `service.tools` as the runner. The service needs a model.
 *
 * What the assistant said before a message of the user is sent as its context, at most the last 16,384
 * characters. It explains words such as "Yes, that one", and no fact is taken from it. Messages of tools
 * and system prompts are left out.
 *
 * Rejects with `INVALID_REQUEST`, and files nothing, if a message of the user is longer than 16,384
 * characters. If a later call fails, the promise rejects, but the earlier
 * messages stay filed.
 *
 * @example
 * import { rememberConversation } from 'memory-service/client';
 *
 * await rememberConversation(service.tools, messages, { userId: session.userId });
 */
export async function rememberConversation(
  runner: TypedToolRunner,
  messages: readonly ConversationMessage[],
  { idempotencyKey, wait, signal, ...context }: RememberOptions,
): Promise<RememberedMessage[]> {
  const said = toSaid(messages);
  for (const { message, fact } of said) checkLength(fact.text, message);
  const remembered: RememberedMessage[] = [];
  // One after the other: a later message may correct an earlier one.
  for (const { message, fact } of said) {
    const { result } = await runner.execute('memory_remember', {
      context,
      arguments: { ...fact, ...(wait === undefined ? {} : { wait }) },
      ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${message}` }),
      ...(signal === undefined ? {} : { signal }),
    });
    remembered.push({ message, result });
  }
  return remembered;
}

/** What the user said, each with what the assistant said since the user's last words. */
function toSaid(
  messages: readonly ConversationMessage[],
): { message: number; fact: ToolArguments<'memory_remember'> }[] {
  const said: ReturnType<typeof toSaid> = [];
  let before: string[] = [];
  for (const [message, { role, content, at, name: speaker }] of messages.entries()) {
    const text = toText(content);
    if (text.trim() === '') continue;
    if (role === 'assistant') before.push(text);
    if (role !== 'user') continue;
    // The end, because the question is there.
    // takeEnd of core/encoding/take-text.ts, as far as it goes without an import at run time.
    // eslint-disable-next-line texts/take -- half of a pair is taken away
    const context = before
      .join('\n\n')
      .slice(-LONGEST_TEXT)
      .replace(/^[\uDC00-\uDFFF]/, '')
      .toWellFormed();
    const fact = {
      text,
      ...(context === '' ? {} : { context }),
      ...(at === undefined ? {} : { at }),
      ...(speaker === undefined ? {} : { speaker }),
      reason: 'The user said so in a conversation.',
    };
    said.push({ message, fact });
    before = [];
  }
  return said;
}

function toText(content: ConversationMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}

function checkLength(text: string, message: number): void {
  // As the schema counts: by code points.
  if (text.length <= LONGEST_TEXT || [...text].length <= LONGEST_TEXT) return;
  const path = `/messages/${message}/content`;
  const reason = `must have at most ${LONGEST_TEXT} characters`;
  throw new MemoryClientError('INVALID_REQUEST', `${path} ${reason}. Nothing was filed.`, {
    status: 400,
    retryable: false,
    details: { issues: [{ path, message: reason }] },
  });
}

interface Message {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Names a run as the parent. A run has no span of its own, so half of its trace id stands for one. */
function toTraceparent(runTraceId: string | undefined): string | null {
  return runTraceId === undefined ? null : `00-${runTraceId}-${runTraceId.slice(16)}-01`;
}

/** A refusal before the work began, or an answer that never came: the key makes that one exact. */
function wasNotCarriedOut({ code, status, retryable }: MemoryClientError): boolean {
  if (code === 'SERVICE_UNREACHABLE') return retryable;
  // Models have retries of their own on the other side.
  return retryable && (status === 408 || status === 429 || status === 503);
}

function toError(
  body: Record<string, unknown> | null,
  status: number,
  headers: Headers,
): MemoryClientError {
  const error = (body?.['error'] ?? null) as Partial<ErrorBody> | null;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {};
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') {
    return notTheService(status, retryAfter);
  }
  const { code, message, details, action, traceId, toolCallId } = error;
  return new MemoryClientError(code, message, {
    status,
    retryable: error.retryable === true,
    ...retryAfter,
    ...(details === undefined ? {} : { details }),
    ...(typeof action === 'string' ? { action } : {}),
    ...(traceId === undefined ? {} : { traceId }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
  });
}

/** A proxy in between, or another server at that address. */
function notTheService(
  status: number,
  retryAfter: { retryAfterSeconds?: number } = {},
): MemoryClientError {
  return new MemoryClientError(
    'SERVICE_UNREACHABLE',
    `The memory service cannot be reached: what answered (status ${status}) is not it.`,
    {
      status: 503,
      retryable: status >= 500 || status === 429,
      details: { reason: 'not_the_service', status },
      ...retryAfter,
    },
  );
}

function unreachable(reason: 'network' | 'timeout', what: string, cause: unknown) {
  return new MemoryClientError(
    'SERVICE_UNREACHABLE',
    `The memory service cannot be reached: ${what}.`,
    { status: 503, retryable: true, details: { reason }, cause },
  );
}

/** `ECONNREFUSED` where the runtime tells, never an address. */
function describeCause(error: unknown): string {
  const { cause } = Object(error) as { cause?: unknown };
  const { code } = Object(cause) as { code?: unknown };
  return typeof code === 'string' ? code : 'the request failed';
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    // eslint-disable-next-line no-restricted-syntax -- has no imports; the caller chose the service
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

async function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(wake, delayMs);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
