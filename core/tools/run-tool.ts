import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKey } from '../contracts/access.ts';
import type { Logger } from '../contracts/plugin.ts';
import type {
  MemoryServices,
  ToolCall,
  ToolDefinition,
  ToolRequest,
  ToolResponse,
  ToolRunner,
} from '../contracts/tool.ts';
import { CALL_DEADLINE_MS, msLeft, withDeadline } from '../time/deadline.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, notRun, outcomeUnknown, toMemoryError, toolNotFound } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import { hashText } from '../files/content.ts';
import { checkKeySpaces, checkKeyTool, checkKeyUser } from '../access/key-rules.ts';
import { parseUserId, SHARED, toScope, toScopes, type UserId } from '../files/paths.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { createRateLimit, type RateLimit } from '../network/rate-limit.ts';
import { parseSpaces } from '../access/spaces.ts';
import type { ListedTool, NamedSpace } from '../schemas/tools.ts';
import type { Exporters } from '../telemetry/exporters.ts';
import { parseTraceId, parseTraceparent } from '../telemetry/trace-context.ts';
import { RootTrace } from '../telemetry/tracer.ts';
import { parseActor } from '../files/actor.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { takeStart } from '../encoding/take-text.ts';
import { createToolRegistry, type RegisteredTool, type ToolRegistry } from './tool-registry.ts';

/** Names that the service alone may give a caller. */
type ReservedActor = 'playground' | 'dream-agent';

/** The tools of a service, and the one way to run them. */
export interface Tools extends ToolRunner {
  readonly definitions: readonly ToolDefinition[];
  listTools(): Promise<readonly ListedTool[]>;
  /** Adds a plugin's tool, before anything is served. Throws when the name is taken. */
  add(definition: ToolDefinition): void;
  /** Removes the tool of a plugin whose setup failed. */
  remove(name: string): void;
  /** Runs a tool under a name that callers may not give themselves. */
  executeAs(
    name: string,
    request: ToolRequest,
    options: { actor: ReservedActor },
  ): Promise<ToolResponse>;
  /** Resolves when no call is running, or after `limitMs`. */
  drain(limitMs: number): Promise<void>;
}

/** What the runner works with. */
interface ToolsDependencies {
  services: MemoryServices;
  /** Runs a tool once under the idempotency key of its call. */
  once: (call: ToolCall, run: () => Promise<unknown>) => Promise<unknown>;
  ids: IdSource;
  queue: AccessQueue;
  exporters: Pick<Exporters, 'isOpen' | 'parentOf' | 'runWithin'>;
  log: Logger;
  /** Tool calls a minute for each user; 0 is off. */
  rateLimit: number;
  /** Counts a call with a named key; throws `RATE_LIMITED`. */
  countCall: (apiKey: ApiKey) => Promise<void> | undefined;
  /** Resolves once storage is open; rejects with `SHUTTING_DOWN` after the end. */
  ready: () => Promise<void>;
  /** The error of a call whose time ends during the start; default `notRun`. */
  lateStart?: () => MemoryError;
  /** Which memories are being erased, and the number of the last erasure that is known. */
  knownErasures: Pick<KnownErasures, 'latest' | 'check'>;
  /** For tests; default 15 s. */
  deadlineMs?: number | undefined;
  now: () => number;
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const CALLER_CALL_ID_LENGTH = 255;

/** A call that is traced, whether or not it can be made. */
interface TracedCall {
  name: string;
  request: ToolRequest;
  tool: RegisteredTool | undefined;
  user: Parsed<UserId>;
  spaces: Parsed<readonly NamedSpace[]>;
  actor: Parsed<string>;
  toolCallId: string;
  trace: RootTrace;
  /** Of `performance.now()`: the deadline counts from here. */
  arrivedAt: number;
  /** What kept plugins or exporters from being set up. */
  setupFailure: { error: unknown } | null;
}

/** A call that is allowed to run. */
interface AdmittedCall {
  tool: ToolDefinition;
  args: unknown;
  call: ToolCall;
  /** The call whose answer this one repeats; set while it runs. */
  first: { toolCallId: string; traceId: string } | null;
}

/** The way of one call through the service. What it throws is a `MemoryError` that names trace and call. */
class ToolCalls {
  readonly #deps: ToolsDependencies;
  readonly #registry: Pick<ToolRegistry, 'get'>;
  readonly #limit: RateLimit | null;

  constructor(deps: ToolsDependencies, registry: Pick<ToolRegistry, 'get'>) {
    this.#deps = deps;
    this.#registry = registry;
    const { rateLimit, now } = deps;
    this.#limit =
      rateLimit > 0 ? createRateLimit({ points: rateLimit, windowMs: 60_000, now }) : null;
  }

  /**
   * Executes one call:
   *
   * 1. `#start` finds the tool, parses who calls, and starts the trace.
   * 2. `#admit` checks the arguments, waits for storage, and counts the call.
   * 3. `#run` runs the tool within its deadline, and once for each idempotency key.
   * 4. `#answer` records the event and makes the answer; `#fail` does so for an error.
   */
  async execute(
    name: string,
    request: ToolRequest,
    options: { actor?: ReservedActor },
  ): Promise<ToolResponse> {
    const traced = await this.#start(name, request, options);
    try {
      const admitted = await this.#admit(traced);
      const result = await this.#run(admitted, traced);
      return this.#answer(result, { ...traced, first: admitted.first });
    } catch (thrown) {
      throw this.#fail(thrown, traced);
    }
  }

  async #start(
    name: string,
    request: ToolRequest,
    { actor: reservedActor }: { actor?: ReservedActor },
  ): Promise<TracedCall> {
    const startedAt = this.#deps.now();
    const knownErasure = this.#deps.knownErasures.latest();
    const arrivedAt = request?.arrivedAt ?? performance.now();
    const toolCallId = this.#deps.ids.next();
    let tool = this.#registry.get(name);
    let setupFailure: TracedCall['setupFailure'] = null;
    if (tool === undefined || !this.#deps.exporters.isOpen()) {
      // A plugin's tool is known after its setup, the app's span after the exporters are open.
      setupFailure = await this.#waitForStart(arrivedAt).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      tool = this.#registry.get(name);
    }
    // JavaScript callers may pass anything. A bad call is traced before it is refused.
    const context: Partial<ToolRequest['context']> = request?.context ?? {};
    const user = attemptParse(() => parseUserId(context.userId));
    const spaces = attemptParse(() => parseSpaces(context.spaces));
    const fixedActor = reservedActor ?? request?.apiKey?.actor ?? null;
    const actor = attemptParse(() => fixedActor ?? parseActor(context.actor ?? undefined));
    const trace = new RootTrace({
      ids: this.#deps.ids,
      kind: 'tool',
      name: `execute_tool ${tool === undefined ? 'unknown' : name}`,
      scope: user.value === null ? SHARED : toScope({ userId: user.value }),
      userId: user.value,
      tool: tool?.definition.name ?? null,
      actor: actor.value ?? 'agent',
      key: request?.apiKey?.name ?? null,
      toolCallId,
      callerToolCallId: parseCallerCallId(context.toolCallId),
      parent: this.#deps.exporters.parentOf(parseTraceparent(request?.traceparent)),
      traceId: parseTraceId(request?.runTraceId),
      startedAt,
      knownErasure,
    });
    return { name, request, tool, user, spaces, actor, toolCallId, trace, arrivedAt, setupFailure };
  }

  async #admit(traced: TracedCall): Promise<AdmittedCall> {
    const { name, request, tool, user, spaces, actor, toolCallId, trace, arrivedAt } = traced;
    if (tool === undefined) throw toolNotFound([name]);
    if (user.value === null) throw user.error;
    if (actor.value === null) throw actor.error;
    if (spaces.value === null) throw spaces.error;
    const { apiKey } = request;
    checkKeyTool(apiKey, tool.definition);
    checkKeyUser(apiKey, user.value);
    checkKeySpaces(apiKey, spaces.value);
    const args = tool.check(request.arguments ?? {});
    if (traced.setupFailure !== null) throw traced.setupFailure.error;
    await this.#waitForStart(arrivedAt);
    this.#deps.knownErasures.check(toScopes({ userId: user.value, spaces: spaces.value }));
    if (apiKey !== undefined) await this.#deps.countCall(apiKey);
    this.#limit?.check(user.value);
    this.#limit?.take(user.value);
    const { context, idempotencyKey, signal } = request;
    const idempotency = toIdempotency(tool.definition, {
      userId: user.value,
      args,
      idempotencyKey,
    });
    const admitted: AdmittedCall = {
      tool: tool.definition,
      args,
      call: {
        userId: user.value,
        spaces: spaces.value,
        actor: actor.value,
        tool: name,
        toolCallId,
        trace,
        signal,
        apiKey,
        ...toTimeZone(context.timeZone ?? undefined),
        ...this.#toDeadline(tool.definition, arrivedAt),
        ...idempotency,
        onReplay({ toolCallId: firstCallId, traceId }) {
          admitted.first = { toolCallId: firstCallId, traceId };
        },
      },
      first: null,
    };
    return admitted;
  }

  #run({ tool, args, call }: AdmittedCall, traced: TracedCall): Promise<unknown> {
    const run = () => tool.run(this.#deps.services, args, call);
    const work = this.#deps.exporters.runWithin(traced.trace.context(), () =>
      tool.runsOnce === true ? this.#deps.once(call, run) : run(),
    );
    return this.#inTime(work, { call, tool });
  }

  #answer(
    result: unknown,
    { trace, toolCallId, first }: TracedCall & Pick<AdmittedCall, 'first'>,
  ): ToolResponse {
    const event = trace.finish(null, first === null ? {} : { replayed: true });
    this.#deps.queue.event(event);
    const { traceId } = trace;
    const { durationMs } = event;
    // A repeat has the ids of the first answer, since its revision carries those.
    return { result, traceId, toolCallId, durationMs, ...(first && { ...first, replayed: true }) };
  }

  #fail(thrown: unknown, { tool, toolCallId, trace }: TracedCall): MemoryError {
    const error = toOwnError(thrown);
    error.traceId = trace.traceId;
    error.toolCallId = toolCallId;
    this.#deps.queue.event(trace.finish(error));
    if (error.code === 'INTERNAL') {
      const fields = { tool: tool?.definition.name ?? null, traceId: trace.traceId };
      const described = describeError(error.cause ?? error);
      this.#deps.log.error({ ...fields, error: described }, 'a tool failed unexpectedly');
    }
    return error;
  }

  /** A call that has not begun by the deadline is not run. */
  async #waitForStart(arrivedAt: number): Promise<void> {
    const leftMs = msLeft(this.#deps.deadlineMs ?? CALL_DEADLINE_MS, arrivedAt);
    const { lateStart = notRun } = this.#deps;
    if (leftMs <= 0) throw lateStart();
    await withDeadline(this.#deps.ready(), leftMs, lateStart);
  }

  #toDeadline(tool: ToolDefinition, arrivedAt: number): Pick<ToolCall, 'deadlineAt'> {
    if (tool.deadlineMs === null) return {};
    // A tool that waits for a model has a longer deadline. Without a model, the usual one holds.
    const ownMs = this.#deps.services.remember === null ? undefined : tool.deadlineMs;
    return { deadlineAt: arrivedAt + (ownMs ?? this.#deps.deadlineMs ?? CALL_DEADLINE_MS) };
  }

  /** Stops waiting at the deadline. The work goes on: the database may still do what it was told. */
  async #inTime<T>(
    work: Promise<T>,
    { call, tool }: { call: ToolCall; tool: ToolDefinition },
  ): Promise<T> {
    const { deadlineAt } = call;
    if (deadlineAt === undefined) return await work;
    // Whatever waits for a model or an embedder ends before: see `deadlineAt`.
    return await withDeadline(work, msLeft(0, deadlineAt), () =>
      tool.readOnly ? new MemoryError('STORAGE_UNAVAILABLE') : outcomeUnknown(),
    );
  }
}

/** Makes the runner. What it throws is a `MemoryError` that names the trace and the tool call. */
export function createTools(deps: ToolsDependencies): Tools {
  const registry = createToolRegistry(deps.services);
  const calls = new ToolCalls(deps, registry);
  const running = new Set<Promise<ToolResponse>>();

  function track(work: Promise<ToolResponse>): Promise<ToolResponse> {
    running.add(work);
    const untrack = () => running.delete(work);
    work.then(untrack, untrack);
    return work;
  }

  return {
    definitions: registry.definitions,
    add: registry.add,
    remove: registry.remove,
    listTools: async () => registry.list(),
    execute: (name, request) => track(calls.execute(name, request, {})),
    executeAs: (name, request, options) => track(calls.execute(name, request, options)),
    async drain(limitMs) {
      const timer = new AbortController();
      const { signal } = timer;
      await Promise.race([
        Promise.allSettled(running),
        sleep(limitMs, undefined, { signal }).catch(() => undefined),
      ]);
      timer.abort();
    },
  };
}

/** Copies an error that already names another call: a driver may reject a group with one error. */
function toOwnError(thrown: unknown): MemoryError {
  const error = toMemoryError(thrown);
  if (error.toolCallId === undefined) return error;
  const { code, message, status, details, retryAfterSeconds } = error;
  return new MemoryError(code, message, {
    cause: error.cause ?? error,
    status,
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** Throws `INVALID_REQUEST` for what is no time zone. */
function toTimeZone(value: unknown): Pick<ToolCall, 'timeZone'> {
  if (value === undefined) return {};
  if (typeof value === 'string' && isTimeZone(value)) return { timeZone: value };
  const message = 'must be a time zone as in Europe/Berlin';
  throw new MemoryError('INVALID_REQUEST', `context.timeZone ${message}.`, {
    details: { issues: [{ path: '/context/timeZone', message }] },
  });
}

type Parsed<T> = { value: T; error: null } | { value: null; error: unknown };

/** Keeps the error for later: a call with a bad user or actor is traced, too. */
function attemptParse<T>(parse: () => T): Parsed<T> {
  try {
    return { value: parse(), error: null };
  } catch (error) {
    return { value: null, error };
  }
}

function parseCallerCallId(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return takeStart(value, CALLER_CALL_ID_LENGTH);
}

function toIdempotency(
  definition: ToolDefinition,
  {
    userId,
    args,
    idempotencyKey,
  }: { userId: string; args: unknown; idempotencyKey: string | undefined },
): Pick<ToolCall, 'idempotency'> {
  if (idempotencyKey === undefined || definition.readOnly) return {};
  if (!IDEMPOTENCY_KEY.test(idempotencyKey)) {
    const message = 'must have 1 to 255 printable ASCII characters and no space';
    throw new MemoryError('INVALID_REQUEST', `Idempotency-Key ${message}.`, {
      details: { issues: [{ path: '/idempotencyKey', message }] },
    });
  }
  return {
    idempotency: {
      keyHash: hashText(JSON.stringify([userId, definition.name, idempotencyKey])),
      requestHash: hashText(JSON.stringify(toCanonical(args))),
    },
  };
}

/** The same arguments in another order are the same request. */
function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, member]) => [key, toCanonical(member)]);
}
