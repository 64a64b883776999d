import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/plugin.ts';
import type {
  MemoryServices,
  ToolCall,
  ToolDefinition,
  ToolDescription,
  ToolRequest,
  ToolResponse,
  ToolRunner,
} from '../contracts/tool.ts';
import { CALL_DEADLINE_MS, withDeadline } from '../deadline.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, outcomeUnknown, toMemoryError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import { parseUserId, toScope } from '../files/paths.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { createRateLimit } from '../rate-limit.ts';
import { compileSchema } from '../schemas/validate.ts';
import type { Exporters } from '../telemetry/exporters.ts';
import { parseTraceparent } from '../telemetry/trace-context.ts';
import { RootTrace } from '../telemetry/tracer.ts';
import { parseActor } from '../files/actor.ts';
import { isTimeZone } from '../time-zone.ts';

/** Names that the service alone may give a caller. */
type ReservedActor = 'playground' | 'dream-agent';

/** The tools of a service, and the one way to run them. */
export interface Tools extends ToolRunner {
  readonly definitions: readonly ToolDefinition[];
  /** Adds a plugin's tool, before anything is served. Throws when the name is taken. */
  add(definition: ToolDefinition): void;
  /** Takes back a tool of a plugin whose setup failed. */
  remove(name: string): void;
  /** Runs a tool under a name that callers may not give themselves. */
  executeAs(name: string, request: ToolRequest, actor: ReservedActor | null): Promise<ToolResponse>;
  /** Resolves when no call is under way, or after `limitMs`. */
  settle(limitMs: number): Promise<void>;
}

/** What the runner works with. */
export interface ToolsDependencies {
  services: MemoryServices;
  /** Runs a tool once under the idempotency key of its call. */
  once: (call: ToolCall, run: () => Promise<unknown>) => Promise<unknown>;
  ids: IdSource;
  queue: AccessQueue;
  exporters: Pick<Exporters, 'isOpen' | 'parentOf' | 'runWithin'>;
  log: Logger;
  /** Tool calls a minute for each user; 0 is off. */
  rateLimit: number;
  /** Resolves once storage is open; rejects with `SHUTTING_DOWN` after the end. */
  ready: () => Promise<void>;
  /** For tests; default 15 s. */
  deadlineMs?: number | undefined;
  now: () => number;
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
const CALLER_CALL_ID_LENGTH = 255;

/**
 * Makes the runner: validate, trace, run, map the error. What it throws is a `MemoryError` that
 * names the trace and the tool call.
 */
export function createTools(deps: ToolsDependencies): Tools {
  const definitions: ToolDefinition[] = [];
  const tools = new Map<
    string,
    { definition: ToolDefinition; check: (args: unknown) => unknown }
  >();
  const underWay = new Set<Promise<ToolResponse>>();
  const limit =
    deps.rateLimit > 0
      ? createRateLimit({ points: deps.rateLimit, windowMs: 60_000, now: deps.now })
      : null;

  async function executeAs(
    name: string,
    request: ToolRequest,
    reservedActor: ReservedActor | null,
  ): Promise<ToolResponse> {
    const startedAt = deps.now();
    const arrivedAt = performance.now();
    const toolCallId = deps.ids.next();
    let tool = tools.get(name);
    let unready: { error: unknown } | null = null;
    if (tool === undefined || !deps.exporters.isOpen()) {
      // A plugin's tool is known once its plugin is set up, the app's span once the exporters are
      // open; what fails there is told below.
      unready = await inTime(deps.ready(), arrivedAt).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      tool = tools.get(name);
    }
    // From JavaScript anything may come; it is traced and refused like any other bad call.
    const context: Partial<ToolRequest['context']> = request?.context ?? {};
    const user = attemptParse(() => parseUserId(context.userId));
    const actor = attemptParse(() => reservedActor ?? parseActor(context.actor));
    const trace = new RootTrace({
      ids: deps.ids,
      kind: 'tool',
      name: `execute_tool ${tool === undefined ? 'unknown' : name}`,
      scope: user.value === null ? 's' : toScope(user.value),
      userId: user.value,
      tool: tool?.definition.name ?? null,
      actor: actor.value ?? 'agent',
      toolCallId,
      callerToolCallId: parseCallerCallId(context.toolCallId),
      parent: deps.exporters.parentOf(parseTraceparent(request?.traceparent)),
      startedAt,
    });
    try {
      if (tool === undefined) {
        throw new MemoryError('TOOL_NOT_FOUND', `There is no tool ${name.slice(0, 64)}.`);
      }
      if (user.value === null) throw user.error;
      if (actor.value === null) throw actor.error;
      const args = tool.check(request.arguments ?? {});
      if (unready !== null) throw unready.error;
      await inTime(deps.ready(), arrivedAt);
      limit?.check(user.value);
      limit?.take(user.value);
      let first: { toolCallId: string; traceId: string } | null = null;
      const call: ToolCall = {
        userId: user.value,
        actor: actor.value,
        tool: name,
        toolCallId,
        trace,
        signal: request.signal,
        ...(context.timeZone === undefined ? {} : { timeZone: parseTimeZone(context.timeZone) }),
        ...toIdempotency(tool.definition, user.value, args, request.idempotencyKey),
        onReplay({ toolCallId: firstCallId, traceId }) {
          first = { toolCallId: firstCallId, traceId };
        },
      };
      const { definition } = tool;
      const run = () => definition.run(deps.services, args, call);
      const running = deps.exporters.runWithin(trace.context(), () =>
        definition.runsOnce === true ? deps.once(call, run) : run(),
      );
      const result = await inTime(running, arrivedAt, definition);
      const event = trace.finish(null, first === null ? {} : { replayed: true });
      deps.queue.event(event);
      const { traceId } = trace;
      return {
        result,
        traceId,
        toolCallId,
        durationMs: event.durationMs,
        // The ids of the first answer are those that its revision carries.
        ...((first ?? {}) as object),
        ...(first === null ? {} : { replayed: true as const }),
      };
    } catch (thrown) {
      const error = toOwnError(thrown);
      error.traceId = trace.traceId;
      error.toolCallId = toolCallId;
      deps.queue.event(trace.finish(error));
      if (error.code === 'INTERNAL') {
        const fields = { tool: tool?.definition.name ?? null, traceId: trace.traceId };
        const described = describeError(error.cause ?? error);
        deps.log.error({ ...fields, error: described }, 'a tool failed unexpectedly');
      }
      throw error;
    }
  }

  /** Ends the wait, and not the work: the database may still do what it was told. */
  async function inTime<T>(work: Promise<T>, arrivedAt: number, tool?: ToolDefinition): Promise<T> {
    const { deadlineMs = deps.deadlineMs ?? CALL_DEADLINE_MS, readOnly = true } = tool ?? {};
    if (deadlineMs === null) return await work;
    return await withDeadline(work, arrivedAt + deadlineMs - performance.now(), () =>
      readOnly ? new MemoryError('STORAGE_UNAVAILABLE') : outcomeUnknown(),
    );
  }

  function track(running: Promise<ToolResponse>): Promise<ToolResponse> {
    underWay.add(running);
    const forget = () => underWay.delete(running);
    running.then(forget, forget);
    return running;
  }

  return {
    definitions,
    add(definition) {
      if (tools.has(definition.name)) {
        throw new MemoryError('INVALID_REQUEST', `There is a tool ${definition.name} already.`);
      }
      const check = compileSchema<unknown>(definition.inputSchema);
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
    execute: (name, request) => track(executeAs(name, request, null)),
    executeAs: (name, request, actor) => track(executeAs(name, request, actor)),
    async settle(limitMs) {
      const limit = new AbortController();
      const { signal } = limit;
      await Promise.race([
        Promise.allSettled(underWay),
        sleep(limitMs, undefined, { signal }).catch(() => undefined),
      ]);
      limit.abort();
    },
  };
}

function describe(definition: ToolDefinition, services: MemoryServices): ToolDescription {
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

/** An error that names another call already is copied: a driver may reject a group with one. */
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
function parseTimeZone(value: unknown): string {
  if (typeof value === 'string' && isTimeZone(value)) return value;
  const message = 'must be a time zone as in Europe/Berlin';
  throw new MemoryError('INVALID_REQUEST', `context.timeZone ${message}.`, {
    details: { issues: [{ path: '/context/timeZone', message }] },
  });
}

type Parsed<T> = { value: T; error: null } | { value: null; error: unknown };

/** A call with a bad user or actor is traced all the same, so the fault waits until it is. */
function attemptParse<T>(parse: () => T): Parsed<T> {
  try {
    return { value: parse(), error: null };
  } catch (error) {
    return { value: null, error };
  }
}

function parseCallerCallId(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value.slice(0, CALLER_CALL_ID_LENGTH).toWellFormed();
}

function toIdempotency(
  definition: ToolDefinition,
  userId: string,
  args: unknown,
  key: string | undefined,
): Pick<ToolCall, 'idempotency'> {
  if (key === undefined || definition.readOnly) return {};
  if (!IDEMPOTENCY_KEY.test(key)) {
    const message = 'must have 1 to 255 printable ASCII characters and no space';
    throw new MemoryError('INVALID_REQUEST', `Idempotency-Key ${message}.`, {
      details: { issues: [{ path: '/idempotencyKey', message }] },
    });
  }
  return {
    idempotency: {
      keyHash: sha256(JSON.stringify([userId, definition.name, key])),
      requestHash: sha256(JSON.stringify(toCanonical(args))),
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
