import type { TraceContext } from '../contracts/trace-exporter.ts';

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;
const ALL_ZERO = /^0+$/;

/** Later versions may be longer than the 55 characters of this one, up to this limit. */
const MAX_LENGTH = 512;

/**
 * Takes a `traceparent` header as W3C Trace Context level 1 says; `null` for one that is absent or
 * not valid, or has more than 512 characters, which starts a new trace.
 */
export function parseTraceparent(header: string | null | undefined): TraceContext | null {
  if (typeof header !== 'string' || header.length > MAX_LENGTH) return null;
  const match = TRACEPARENT.exec(header.trim());
  if (match === null) return null;
  const [, version, traceId, spanId, flags = '', more] = match;
  if (traceId === undefined || spanId === undefined || version === 'ff') return null;
  if (version === '00' && more !== undefined) return null;
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return null;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, spanId, isSampled, isRemote: true };
}

/** Takes a trace id; `null` for one that is absent or not valid, which starts a new trace. */
export function parseTraceId(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[0-9a-f]{32}$/.test(value)) return null;
  return ALL_ZERO.test(value) ? null : value;
}
