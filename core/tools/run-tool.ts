import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKey } from '../contracts/access.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ScopeKey } from '../contracts/records.ts';
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
import { createRateLimit } from '../network/rate-limit.ts';
import { parseSpaces } from '../access/spaces.ts';
import type { ListedTool, NamedSpace } from '../schemas/tools.ts';
import { compileSchema } from '../schemas/validate.ts';
import type { Exporters } from '../telemetry/exporters.ts';
import { parseTraceId, parseTraceparent } from '../telemetry/trace-context.ts';
import { RootTrace } from '../telemetry/tracer.ts';
import { parseActor } from '../files/actor.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { takeStart } from '../encoding/take-text.ts';

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
  /** The number of the last erasure that is known. */
  latestErasure: () => number;
  /** Throws while one of these memories can not be used. */
  checkScopes: (scopes: readonly ScopeKey[]) => void;
  /** For tests; default 15 s. */
  deadlineMs?: number | undefined;
  now: () => number;
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const CALLER_CALL_ID_LENGTH = 255;

interface RegisteredTool {
  definition: ToolDefinition;
  check: (args: unknown) => unknown;
}

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

/** Makes the runner. What it throws is a `MemoryError` that names the trace and the tool call. */
export function createTools(deps: ToolsDependencies): Tools {
  const definitions: ToolDefinition[] = [];
  const tools = new Map<string, RegisteredTool>();
  const running = new Set<Promise<ToolResponse>>();
  const limit =
    deps.rateLimit > 0
      ? createRateLimit({ points: deps.rateLimit, windowMs: 60_000, now: deps.now })
      : null;

  /**
   * Executes one call:
   *
   * 1. `startCall` finds the tool, parses who calls, and starts the trace.
   * 2. `admitCall` checks the arguments, waits for storage, and counts the call.
   * 3. `runCall` runs the tool within its deadline, and once for each idempotency key.
   * 4. `answerCall` records the event and makes the answer; `failCall` does so for an error.
   */
  async function execute(
    name: string,
    request: ToolRequest,
    options: { actor?: ReservedActor },
  ): Promise<ToolResponse> {
    const traced = await startCall(name, request, options);
    try {
      const admitted = await admitCall(traced);
      const result = await runCall(admitted, traced);
      return answerCall(result, { ...traced, first: admitted.first });
    } catch (thrown) {
      throw failCall(thrown, traced);
    }
  }

  async function startCall(
    name: string,
    request: ToolRequest,
    { actor: reservedActor }: { actor?: ReservedActor },
  ): Promise<TracedCall> {
    const startedAt = deps.now();
    const knownErasure = deps.latestErasure();
    const arrivedAt = request?.arrivedAt ?? performance.now();
    const toolCallId = deps.ids.next();
    let tool = tools.get(name);
    let setupFailure: TracedCall['setupFailure'] = null;
    if (tool === undefined || !deps.exporters.isOpen()) {
      // A plugin's tool is known after its setup, the app's span after the exporters are open.
      setupFailure = await waitForStart(arrivedAt).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      tool = tools.get(name);
    }
    // JavaScript callers may pass anything. A bad call is traced before it is refused.
    const context: Partial<ToolRequest['context']> = request?.context ?? {};
    const user = attemptParse(() => parseUserId(context.userId));
    const spaces = attemptParse(() => parseSpaces(context.spaces));
    const fixedActor = reservedActor ?? request?.apiKey?.actor ?? null;
    const actor = attemptParse(() => fixedActor ?? parseActor(context.actor ?? undefined));
    const trace = new RootTrace({
      ids: deps.ids,
      kind: 'tool',
      name: `execute_tool ${tool === undefined ? 'unknown' : name}`,
      scope: user.value === null ? SHARED : toScope({ userId: user.value }),
      userId: user.value,
      tool: tool?.definition.name ?? null,
      actor: actor.value ?? 'agent',
      key: request?.apiKey?.name ?? null,
      toolCallId,
      callerToolCallId: parseCallerCallId(context.toolCallId),
      parent: deps.exporters.parentOf(parseTraceparent(request?.traceparent)),
      traceId: parseTraceId(request?.runTraceId),
      startedAt,
      knownErasure,
    });
    return { name, request, tool, user, spaces, actor, toolCallId, trace, arrivedAt, setupFailure };
  }

  async function admitCall(traced: TracedCall): Promise<AdmittedCall> {
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
    await waitForStart(arrivedAt);
    deps.checkScopes(toScopes({ userId: user.value, spaces: spaces.value }));
    if (apiKey !== undefined) await deps.countCall(apiKey);
    limit?.check(user.value);
    limit?.take(user.value);
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
        ...toDeadline(tool.definition, arrivedAt),
        ...idempotency,
        onReplay({ toolCallId: firstCallId, traceId }) {
          admitted.first = { toolCallId: firstCallId, traceId };
        },
      },
      first: null,
    };
    return admitted;
  }

  function runCall({ tool, args, call }: AdmittedCall, traced: TracedCall): Promise<unknown> {
    const run = () => tool.run(deps.services, args, call);
    const work = deps.exporters.runWithin(traced.trace.context(), () =>
      tool.runsOnce === true ? deps.once(call, run) : run(),
    );
    return inTime(work, { call, tool });
  }

  function answerCall(
    result: unknown,
    { trace, toolCallId, first }: TracedCall & Pick<AdmittedCall, 'first'>,
  ): ToolResponse {
    const event = trace.finish(null, first === null ? {} : { replayed: true });
    deps.queue.event(event);
    const { traceId } = trace;
    const { durationMs } = event;
    // A repeat has the ids of the first answer, since its revision carries those.
    return { result, traceId, toolCallId, durationMs, ...(first && { ...first, replayed: true }) };
  }

  function failCall(thrown: unknown, { tool, toolCallId, trace }: TracedCall): MemoryError {
    const error = toOwnError(thrown);
    error.traceId = trace.traceId;
    error.toolCallId = toolCallId;
    deps.queue.event(trace.finish(error));
    if (error.code === 'INTERNAL') {
      const fields = { tool: tool?.definition.name ?? null, traceId: trace.traceId };
      const described = describeError(error.cause ?? error);
      deps.log.error({ ...fields, error: described }, 'a tool failed unexpectedly');
    }
    return error;
  }

  /** A call that has not begun by the deadline is not run. */
  async function waitForStart(arrivedAt: number): Promise<void> {
    const leftMs = msLeft(deps.deadlineMs ?? CALL_DEADLINE_MS, arrivedAt);
    const { lateStart = notRun } = deps;
    if (leftMs <= 0) throw lateStart();
    await withDeadline(deps.ready(), leftMs, lateStart);
  }

  function toDeadline(tool: ToolDefinition, arrivedAt: number): Pick<ToolCall, 'deadlineAt'> {
    if (tool.deadlineMs === null) return {};
    // A tool that waits for a model has a longer deadline. Without a model, the usual one holds.
    const ownMs = deps.services.remember === null ? undefined : tool.deadlineMs;
    return { deadlineAt: arrivedAt + (ownMs ?? deps.deadlineMs ?? CALL_DEADLINE_MS) };
  }

  /** Stops waiting at the deadline. The work goes on: the database may still do what it was told. */
  async function inTime<T>(
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

  function track(work: Promise<ToolResponse>): Promise<ToolResponse> {
    running.add(work);
    const untrack = () => running.delete(work);
    work.then(untrack, untrack);
    return work;
  }

  return {
    definitions,
    add(definition) {
      if (tools.has(definition.name)) {
        throw new MemoryError('INVALID_REQUEST', `There is a tool ${definition.name} already.`);
      }
      const check = compileSchema<unknown>(definition.inputSchema, { nullIsAbsent: true });
      tools.set(definition.name, { definition, check });
      definitions.push(definition);
    },
    remove(name) {
      tools.delete(name);
      const index = definitions.findIndex((definition) => definition.name === name);
      if (index >= 0) definitions.splice(index, 1);
    },
    async listTools() {
      return definitions.map((definition) => describe(definition, deps.services));
    },
    execute: (name, request) => track(execute(name, request, {})),
    executeAs: (name, request, options) => track(execute(name, request, options)),
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

function describe(definition: ToolDefinition, services: MemoryServices): ListedTool {
  const { name, title, description, inputSchema, outputSchema, requiresModel, readOnly } =
    definition;
  const available = (definition.unavailable?.(services) ?? null) === null;
  return {
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    requiresModel,
    readOnly,
    destructive: !readOnly && definition.destructive !== false,
    idempotent: readOnly || definition.idempotent === true,
    available,
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
