import { performance } from 'node:perf_hooks';
import type {
  EventRecord,
  ScopeKey,
  SpanAttributes,
  SpanKind,
  SpanRecord,
} from '../contracts/records.ts';
import type { Span, Trace } from '../contracts/tool.ts';
import type { TraceContext } from '../contracts/trace-exporter.ts';
import { type MemoryError, toMemoryError } from '../errors.ts';
import { newSpanId, newTraceId } from '../ids.ts';
import { explainProviderError } from '../provider-failure.ts';
import { sanitiseAttributes } from './sanitise.ts';

/** A call records at most this many spans; a loop that makes more is seen by its first ones. */
const SPAN_LIMIT = 128;

/** What a root event says from its start. */
interface RootOptions {
  /**
   * Gives the event its id, at the end of the call: events sort by when they were recorded, so that
   * who watches them has seen all before the last one.
   */
  ids: { next(): string };
  kind: 'tool' | 'dream.run';
  name: string;
  scope: ScopeKey;
  userId: string | null;
  tool: string | null;
  actor: string;
  toolCallId: string;
  callerToolCallId: string | null;
  parent: TraceContext | null;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/**
 * The record of one tool call while it runs: a root with child spans. Durations go by the
 * monotonic clock, so that a clock that jumps changes none.
 */
export class RootTrace implements Trace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly #options: RootOptions;
  readonly #begin = performance.now();
  readonly #spans: SpanRecord[] = [];
  #event: EventRecord | null = null;

  constructor(options: RootOptions) {
    this.#options = options;
    this.traceId = options.parent?.traceId ?? newTraceId(options.startedAt);
  }

  /** Where this call is in its trace, for what is done within it. */
  context(): TraceContext {
    const isSampled = this.#options.parent?.isSampled ?? true;
    return { traceId: this.traceId, spanId: this.spanId, isSampled, isRemote: false };
  }

  start(kind: SpanKind, name: string): Span {
    return new OpenSpan(this, kind, name);
  }

  /** Takes a span that ended; those after the root's end, or beyond the limit, are left out. */
  record(span: OpenSpan, error: unknown, attributes: SpanAttributes | undefined): void {
    if (this.#spans.length >= SPAN_LIMIT || this.#event !== null) return;
    this.#spans.push({
      spanId: newSpanId(),
      parentSpanId: this.spanId,
      kind: span.kind,
      name: span.name,
      ...toOutcome(error),
      startedAt: this.#options.startedAt + Math.round(span.begin - this.#begin),
      durationMs: elapsed(span.begin),
      attributes: toAttributes(error, attributes),
    });
  }

  /** Ends the root; `error` gives its code, and its reason where it is a provider's. The first call counts. */
  finish(error: unknown, attributes?: SpanAttributes): EventRecord {
    if (this.#event === null) {
      const options = this.#options;
      this.#event = {
        id: options.ids.next(),
        kind: options.kind,
        name: options.name,
        scope: options.scope,
        userId: options.userId,
        tool: options.tool,
        actor: options.actor,
        toolCallId: options.toolCallId,
        callerToolCallId: options.callerToolCallId,
        traceId: this.traceId,
        spanId: this.spanId,
        parentSpanId: options.parent?.spanId ?? null,
        ...(options.parent === null ? {} : { parent: toParent(options.parent) }),
        ...toOutcome(error),
        startedAt: options.startedAt,
        durationMs: elapsed(this.#begin),
        attributes: toAttributes(error, attributes),
        spans: this.#spans,
      };
    }
    return this.#event;
  }
}

/** A span under way. A class, not closures: every tool call makes several. */
class OpenSpan implements Span {
  readonly begin = performance.now();
  readonly kind: SpanKind;
  readonly name: string;
  readonly #root: RootTrace;
  #isOpen = true;

  constructor(root: RootTrace, kind: SpanKind, name: string) {
    this.#root = root;
    this.kind = kind;
    this.name = name;
  }

  end(attributes?: SpanAttributes): void {
    this.#close(null, attributes);
  }

  fail(error: unknown, attributes?: SpanAttributes): void {
    this.#close(toMemoryError(error), attributes);
  }

  #close(error: MemoryError | null, attributes: SpanAttributes | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#root.record(this, error, attributes);
  }
}

/** What a span or an event ended with; `null` for no error. */
function toOutcome(error: unknown): Pick<SpanRecord, 'status' | 'errorCode'> {
  if (error === null) return { status: 'ok', errorCode: null };
  return { status: 'error', errorCode: toMemoryError(error).code };
}

/** The allowed attributes; `reason` comes from an error alone, in words that this service made. */
function toAttributes(error: unknown, attributes: SpanAttributes | undefined): SpanAttributes {
  const reason = explainProviderError(error);
  const allowed = sanitiseAttributes(attributes);
  return reason === null ? allowed : { ...allowed, reason };
}

function toParent({ isSampled, isRemote }: TraceContext) {
  return { isSampled, isRemote };
}

/** Records nothing: for work that belongs to no tool call. */
export function noTrace(traceId: string = newTraceId()): Trace {
  return { traceId, start: () => NO_SPAN };
}

const NO_SPAN: Span = { end: () => undefined, fail: () => undefined };

/** Milliseconds since `begin`, to the microsecond. */
function elapsed(begin: number): number {
  return Math.round((performance.now() - begin) * 1000) / 1000;
}
