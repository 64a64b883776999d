import type { Attributes, Context, HrTime, Span } from '@opentelemetry/api';
import type { IdGenerator, TracerConfig } from '@opentelemetry/sdk-trace-node';
import type { EventRecord, SpanKind, SpanRecord } from '../../core/contracts/records.ts';
import type { OtlpSdk } from './sdk.ts';

/**
 * Starts a recorded event as a trace of the SDK; `null` if the sampler leaves it out. The returned
 * function ends its spans, which exports them, with the times that they had in the service.
 */
export type StartTrace = (event: EventRecord) => (() => void) | null;

/**
 * Spans get the ids that they have in the service. They are built from an allow list, never passed on:
 * the kind gives the name, a hash stands for the user, and no text of a caller is in any of them.
 *
 * Names and attributes follow OpenTelemetry's conventions for generative AI where those have one, and
 * begin with `memory.` elsewhere.
 */
export function createTraces(
  { api, node }: OtlpSdk,
  options: { version: string; hashUserId(userId: string): string; config: TracerConfig },
): StartTrace {
  let traceId = '';
  let spanId = '';
  const idGenerator: IdGenerator = {
    generateTraceId: () => traceId,
    generateSpanId: () => spanId,
  };
  const provider = new node.BasicTracerProvider({ ...options.config, idGenerator });
  const tracer = provider.getTracer('memory-service', options.version);

  function contextOf(event: EventRecord, record: SpanRecord): Context {
    if (record.parentSpanId === null) return api.ROOT_CONTEXT;
    const { isSampled, isRemote } = (record === event && event.parent) || LOCAL;
    const traceFlags = isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE;
    const parent = { traceId: event.traceId, spanId: record.parentSpanId, traceFlags, isRemote };
    return api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
  }

  function startSpan(event: EventRecord, record: SpanRecord, attributes: Attributes): Span {
    ({ traceId } = event);
    ({ spanId } = record);
    const kind = CALLS_OUT.has(record.kind) ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL;
    const startTime = toHrTime(record.startedAt, 0);
    const name = nameOf(record, record === event ? event.tool : null);
    const context = contextOf(event, record);
    return tracer.startSpan(name, { kind, startTime, attributes }, context);
  }

  function endSpan(span: Span, record: SpanRecord): void {
    // No message: the code is in error.type.
    if (record.status === 'error') span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.end(toHrTime(record.startedAt, record.durationMs));
  }

  return (event) => {
    const shared = toSharedAttributes(event, options);
    const own = { ...shared, ...toRootAttributes(event), ...toAttributes(event) };
    const root = startSpan(event, event, own);
    if (!root.isRecording()) return null;
    return () => {
      endSpan(root, event);
      for (const record of event.spans) {
        endSpan(startSpan(event, record, { ...shared, ...toAttributes(record) }), record);
      }
    };
  };
}

/** The parent of a phase: a span of this service, in a trace that is sampled. */
const LOCAL = { isSampled: true, isRemote: false };

/** How many spans an event is. */
export function countSpans(event: EventRecord): number {
  return 1 + event.spans.length;
}

/** Kinds whose work another process does. */
const CALLS_OUT = new Set<SpanKind>(['llm', 'embedding', 'db.read', 'db.write']);

/** `gen_ai.operation.name`, where the conventions have one. */
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

/** Actors that the service names. Callers choose the names of others. */
const ACTORS = new Set([
  'agent',
  'admin',
  'check',
  'dream-agent',
  'filing-agent',
  'folder',
  'import',
  'playground',
]);

function nameOf({ kind, attributes }: SpanRecord, tool: string | null): string {
  const operation = OPERATIONS[kind];
  if (kind === 'tool') return `execute_tool ${tool ?? 'unknown'}`;
  if (kind === 'dream.run') return 'invoke_agent dream-agent';
  if (operation === undefined || operation === 'retrieval') return kind;
  const { model } = attributes;
  return typeof model === 'string' ? `${operation} ${model}` : operation;
}

function toRootAttributes(event: EventRecord): Attributes {
  if (event.kind === 'dream.run') return { 'gen_ai.agent.name': 'dream-agent' };
  if (event.kind === 'check.run') return {};
  return {
    'gen_ai.tool.name': event.tool ?? 'unknown',
    'gen_ai.tool.type': 'function',
    // The service's own id: the caller's could say anything.
    'gen_ai.tool.call.id': event.toolCallId,
  };
}

/** What each span of a call says, since many systems search spans and not traces. */
function toSharedAttributes(
  event: EventRecord,
  { hashUserId }: { hashUserId(userId: string): string },
): Attributes {
  return {
    'memory.tool_call.id': event.toolCallId,
    'memory.actor': ACTORS.has(event.actor) ? event.actor : 'custom',
    ...(event.userId === null ? {} : { 'user.hash': hashUserId(event.userId) }),
  };
}

/** What the service recorded; its tracer let through only what is allowed. */
function toAttributes({ kind, attributes, errorCode }: SpanRecord): Attributes {
  const named: Attributes = { 'memory.kind': kind };
  const operation = OPERATIONS[kind];
  if (operation !== undefined) named['gen_ai.operation.name'] = operation;
  for (const [key, value] of Object.entries(attributes)) {
    named[NAMES[key] ?? `memory.${toSnakeCase(key)}`] = value;
  }
  if (errorCode !== null) named['error.type'] = errorCode;
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
