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
import { newSpanId, newTraceId } from '../ids/ids.ts';
import { explainProviderError } from '../providers/provider-failure.ts';
import { sanitiseAttributes } from './sanitise.ts';

/** The most spans that a call records; later ones are dropped. */
const SPAN_LIMIT = 128;

/** The fields of a root event that are known at its start. */
interface RootOptions {
  /**
   * Makes the event's id at the end of the call: events sort by when they were recorded, so a watcher
   * has seen all events before its last one.
   */
  ids: { next(): string };
  kind: 'tool' | 'dream.run' | 'check.run';
  name: string;
  scope: ScopeKey;
  userId: string | null;
  tool: string | null;
  actor: string;
  /** The name of the caller's key. */
  key?: string | null;
  toolCallId: string;
  callerToolCallId: string | null;
  parent: TraceContext | null;
  /** The trace of a call without a parent; a new one where it is absent. */
  traceId?: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** As in {@link Trace}. */
  knownErasure: number;
}

/**
 * Records one running tool call: a root with child spans. Durations use the monotonic clock, so that
 * clock changes don't affect them.
 */
export class RootTrace implements Trace {
  readonly traceId: string;
  readonly knownErasure: number;
  readonly spanId = newSpanId();
  readonly #options: RootOptions;
  readonly #begin = performance.now();
  readonly #spans: SpanRecord[] = [];
  #event: EventRecord | null = null;

  constructor(options: RootOptions) {
    this.#options = options;
    this.knownErasure = options.knownErasure;
    this.traceId = options.parent?.traceId ?? options.traceId ?? newTraceId(options.startedAt);
  }

  /** The trace context for work within this call. */
  context(): TraceContext {
    const isSampled = this.#options.parent?.isSampled ?? true;
    return { traceId: this.traceId, spanId: this.spanId, isSampled, isRemote: false };
  }

  start(kind: SpanKind, name: string): Span {
    return new OpenSpan(this, kind, name);
  }

  /** Records an ended span, unless the root has ended or the limit is reached. */
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
        key: options.key ?? null,
        toolCallId: options.toolCallId,
        callerToolCallId: options.callerToolCallId,
        traceId: this.traceId,
        spanId: this.spanId,
        parentSpanId: options.parent?.spanId ?? null,
        ...(options.parent === null ? {} : { parent: toParent(options.parent) }),
        ...toOutcome(error),
        startedAt: options.startedAt,
        knownErasure: options.knownErasure,
        durationMs: elapsed(this.#begin),
        attributes: toAttributes(error, attributes),
        spans: this.#spans,
      };
    }
    return this.#event;
  }
}

/** A running span. A class is cheaper than closures, and every tool call makes several. */
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

/** A trace that records nothing, for work outside a tool call. */
export function noTrace<Id extends string | null>(
  traceId: Id,
  knownErasure?: number,
): Trace & { traceId: Id } {
  return { traceId, knownErasure, start: () => NO_SPAN };
}

const NO_SPAN: Span = { end: () => undefined, fail: () => undefined };

/** Milliseconds since `begin`, rounded to microseconds. */
function elapsed(begin: number): number {
  return Math.round((performance.now() - begin) * 1000) / 1000;
}
