import type { Logger } from './logger.ts';
import type { EventRecord } from './records.ts';
import type { SpanCounters } from '../schemas/status.ts';

export type { SpanCounters } from '../schemas/status.ts';

/**
 * Sends sanitised events elsewhere. `export` is called outside of tool calls, after the service has
 * recorded the events; what it throws is logged and counted, and fails no tool call.
 */
export interface TraceExporter {
  readonly name: string;
  /**
   * Called once, before the first event. When it throws, the reason is in the log and in the status,
   * and the service runs without this exporter.
   */
  open?(service: ExporterServices): Promise<void>;
  export(events: readonly EventRecord[]): Promise<void>;
  /**
   * Resolves if what it exports to takes an export without spans; rejects with the reason. Called by
   * `memory-service doctor`, without `open`.
   */
  check?(): Promise<void>;
  /** Counts of spans since the start. */
  counters?(): SpanCounters;
  /**
   * The active span of the surrounding app; `null` without one. Called at the beginning of each
   * call, so it must be cheap.
   */
  activeContext?(): TraceContext | null;
  /**
   * Runs the work of a call with the call's span as the parent of spans that the app records
   * meanwhile.
   */
  runWithin?<T>(span: TraceContext, work: () => T): T;
  /** Sends what is still queued, within its own time limit. */
  close?(): Promise<void>;
}

/** What an exporter gets from the service. */
export interface ExporterServices {
  readonly log: Logger;
  /** Of the service. */
  readonly version: string;
  /**
   * 32 hex digits that stand for a user: a keyed hash. The key is in `svc_config`, so that it is the
   * same in all instances and after a restart.
   */
  hashUserId(userId: string): string;
}

/** A place in a trace: W3C Trace Context. */
export interface TraceContext {
  /** 32 lower-case hex digits. */
  traceId: string;
  /** 16 lower-case hex digits: the caller's span. */
  spanId: string;
  /** Whether the trace is kept where it began. */
  isSampled: boolean;
  /** Whether the span is another process's. */
  isRemote: boolean;
}
