import type { TraceContext } from '../../core/contracts/trace-exporter.ts';
import type { OtlpSdk } from './sdk.ts';

/**
 * The app's active span, where it has OpenTelemetry of its own; `null` where it has none, or none is
 * active.
 */
export function readActiveContext(api: OtlpSdk['api']): TraceContext | null {
  const found = api.trace.getSpanContext(api.context.active());
  if (found === undefined || !api.isSpanContextValid(found)) return null;
  const { traceId, spanId, traceFlags, isRemote = false } = found;
  return { traceId, spanId, isSampled: (traceFlags & api.TraceFlags.SAMPLED) !== 0, isRemote };
}

/** Runs `work` with `span` as the active one: what the app's instrumentation sees is below it. */
export function runWithSpan<T>(api: OtlpSdk['api'], span: TraceContext, work: () => T): T {
  const { traceId, spanId, isSampled } = span;
  const traceFlags = isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE;
  const context = api.trace.setSpanContext(api.context.active(), { traceId, spanId, traceFlags });
  return api.context.with(context, work);
}
