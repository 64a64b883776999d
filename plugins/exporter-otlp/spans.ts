import type { Attributes, HrTime, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import type { EventRecord, SpanKind, SpanRecord } from '../../core/contracts/records.ts';
import type { OtlpSdk } from './sdk.ts';

/** What the spans of a service have in common. */
export interface SpanSource {
  api: OtlpSdk['api'];
  resource: Resource;
  version: string;
  hashUserId(userId: string): string;
}

/**
 * Turns a recorded event into spans: the call's own first, then its phases, with the ids and times
 * that they have in the service. What goes out is made here of what is allowed, not passed on: a
 * name comes from the kind, a user is a hash, and no text of a caller's is in any of it.
 *
 * Names and attributes follow OpenTelemetry's conventions for generative AI where they have one, and
 * begin with `memory.` where not.
 */
export function toReadableSpans(event: EventRecord, source: SpanSource): ReadableSpan[] {
  const { api } = source;
  const contextOf = (spanId: string, isRemote = false): SpanContext => ({
    traceId: event.traceId,
    spanId,
    traceFlags: api.TraceFlags.SAMPLED,
    ...(isRemote ? { isRemote } : {}),
  });
  const shared = toSharedAttributes(event, source);

  function toSpan(record: SpanRecord, tool: string | null, attributes: Attributes): ReadableSpan {
    const startTime = toHrTime(record.startedAt, 0);
    const context = contextOf(record.spanId);
    const isFailed = record.status === 'error';
    return {
      name: nameOf(record, tool),
      kind: CALLS_OUT.has(record.kind) ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
      spanContext: () => context,
      ...(record.parentSpanId === null
        ? {}
        : {
            parentSpanContext: contextOf(
              record.parentSpanId,
              record === event && event.parent?.isRemote === true,
            ),
          }),
      startTime,
      endTime: toHrTime(record.startedAt, record.durationMs),
      duration: toHrTime(0, record.durationMs),
      // A code is no message: it is in error.type.
      status: { code: isFailed ? api.SpanStatusCode.ERROR : api.SpanStatusCode.UNSET },
      attributes: {
        ...shared,
        ...attributes,
        'memory.kind': record.kind,
        ...toOperation(record.kind),
        ...toAttributes(record),
        ...(record.errorCode === null ? {} : { 'error.type': record.errorCode }),
      },
      links: [],
      events: [],
      ended: true,
      resource: source.resource,
      instrumentationScope: { name: 'memory-service', version: source.version },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }

  const root = toSpan(event, event.tool, toRootAttributes(event));
  return [root, ...event.spans.map((span) => toSpan(span, null, {}))];
}

/** How many spans an event is. */
export function countSpans(event: EventRecord): number {
  return 1 + event.spans.length;
}

/** Kinds whose work another process does. */
const CALLS_OUT = new Set<SpanKind>(['llm', 'embedding', 'db.read', 'db.write']);

/** `gen_ai.operation.name`; what the conventions have no word for has none. */
const OPERATIONS: Partial<Record<SpanKind, string>> = {
  tool: 'execute_tool',
  'dream.run': 'invoke_agent',
  llm: 'chat',
  embedding: 'embeddings',
  'search.bm25': 'retrieval',
  'search.vector': 'retrieval',
  'search.hybrid': 'retrieval',
};

/** Attributes that the conventions have a name for. */
const NAMES: Readonly<Record<string, string>> = {
  model: 'gen_ai.request.model',
  provider: 'gen_ai.provider.name',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  dimensions: 'gen_ai.embeddings.dimension.count',
};

/** Actors that the service names. Others are named by callers, as it pleases them. */
const ACTORS = new Set(['agent', 'admin', 'dream-agent', 'import', 'playground']);

function nameOf({ kind, attributes }: SpanRecord, tool: string | null): string {
  const operation = OPERATIONS[kind];
  if (kind === 'tool') return `execute_tool ${tool ?? 'unknown'}`;
  if (kind === 'dream.run') return 'invoke_agent dream-agent';
  if (operation === undefined || operation === 'retrieval') return kind;
  const { model } = attributes;
  return typeof model === 'string' ? `${operation} ${model}` : operation;
}

function toOperation(kind: SpanKind): Attributes {
  const operation = OPERATIONS[kind];
  return operation === undefined ? {} : { 'gen_ai.operation.name': operation };
}

function toRootAttributes(event: EventRecord): Attributes {
  if (event.kind === 'dream.run') return { 'gen_ai.agent.name': 'dream-agent' };
  return {
    'gen_ai.tool.name': event.tool ?? 'unknown',
    'gen_ai.tool.type': 'function',
    // The service's own id: the caller's could say anything.
    'gen_ai.tool.call.id': event.toolCallId,
  };
}

/** What each span of a call says, since many systems search spans and not traces. */
function toSharedAttributes(event: EventRecord, { hashUserId }: SpanSource): Attributes {
  return {
    'memory.tool_call.id': event.toolCallId,
    'memory.actor': ACTORS.has(event.actor) ? event.actor : 'custom',
    ...(event.userId === null ? {} : { 'user.hash': hashUserId(event.userId) }),
  };
}

/** The event's own attributes, which the service has let through already. */
function toAttributes({ attributes }: SpanRecord): Attributes {
  const named: Attributes = {};
  for (const [key, value] of Object.entries(attributes)) {
    named[NAMES[key] ?? `memory.${toSnakeCase(key)}`] = value;
  }
  return named;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Seconds and nanoseconds of a time and a duration in milliseconds. Put together as integers: a
 * number that holds both since 1970 has no room for microseconds.
 */
function toHrTime(startedAt: number, durationMs: number): HrTime {
  const nanoseconds = (startedAt % 1_000) * 1e6 + Math.round(durationMs * 1e6);
  return [Math.floor(startedAt / 1_000) + Math.floor(nanoseconds / 1e9), nanoseconds % 1e9];
}
