import type { ErrorCode, MemoryError } from '../../core/errors.ts';
import {
  createProviderError,
  type FailureProblem,
  type FailureReason,
} from '../../core/provider-failure.ts';

/** A failed call of a provider, before it becomes a `MemoryError`. */
export class ProviderFault extends Error {
  readonly reason: FailureReason;
  readonly problem: FailureProblem | null;
  readonly vectorLength: number | null;
  readonly status: number | null;
  /** Milliseconds that the provider asked to wait; `null` when it did not. */
  readonly retryAfterMs: number | null;
  /** Whether the same request may go through later. */
  readonly isTransient: boolean;

  constructor(
    reason: FailureReason,
    more: {
      problem?: FailureProblem;
      vectorLength?: number;
      status?: number;
      retryAfterMs?: number | null;
      isTransient?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(reason, more.cause === undefined ? {} : { cause: more.cause });
    this.name = 'ProviderFault';
    this.reason = reason;
    this.problem = more.problem ?? null;
    this.vectorLength = more.vectorLength ?? null;
    this.status = more.status ?? null;
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.isTransient =
      more.isTransient ?? ['unreachable', 'rate_limited', 'unavailable'].includes(reason);
  }
}

/** How a kind of provider names its failures. */
export interface FaultCodes {
  failed: Extract<ErrorCode, 'MODEL_FAILED' | 'EMBEDDING_FAILED'>;
  timedOut: Extract<ErrorCode, 'MODEL_TIMEOUT' | 'EMBEDDING_FAILED'>;
}

/** The error of a failed call of `provider`. */
export function toProviderError(
  fault: ProviderFault,
  { provider, codes, timeoutMs }: { provider: string; codes: FaultCodes; timeoutMs: number },
): MemoryError {
  const { reason, problem, vectorLength, status, retryAfterMs } = fault;
  return createProviderError(
    reason === 'timeout' ? codes.timedOut : codes.failed,
    {
      reason,
      ...(problem === null ? {} : { problem }),
      ...(vectorLength === null ? {} : { vectorLength }),
      ...(status === null ? {} : { providerStatus: status }),
      ...(reason === 'timeout' ? { limitMs: timeoutMs } : {}),
    },
    {
      provider,
      cause: fault,
      ...(retryAfterMs === null ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) }),
    },
  );
}

/**
 * Reads what an SDK threw: its own classes are known by their members alone, as those of `openai`
 * and `@anthropic-ai/sdk` have the same.
 */
export function toFault(thrown: unknown): ProviderFault {
  for (let at: unknown = thrown, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if (at instanceof ProviderFault) return at;
    at = at.cause;
  }
  const { status, headers } = thrown as { status?: unknown; headers?: unknown };
  if (typeof status === 'number') return toStatusFault(status, headers, thrown);
  // What an answer of 2xx breaks in the SDK's hands: JSON that is none, members that are not there.
  if (thrown instanceof SyntaxError) {
    return new ProviderFault('malformed', { problem: 'not_json', cause: thrown });
  }
  const isParsing = thrown instanceof TypeError;
  return new ProviderFault(isParsing ? 'malformed' : 'unreachable', { cause: thrown });
}

function toStatusFault(status: number, headers: unknown, cause: unknown): ProviderFault {
  const retryAfterMs = headers instanceof Headers ? readRetryAfter(headers) : null;
  const told = headers instanceof Headers ? headers.get('x-should-retry') : null;
  const more = {
    status,
    retryAfterMs,
    cause,
    ...(told === 'false' ? { isTransient: false } : {}),
  };
  if (status === 401 || status === 403) return new ProviderFault('unauthorized', more);
  if (status === 429) return new ProviderFault('rate_limited', more);
  if (status === 408 || status === 409 || status >= 500) {
    return new ProviderFault('unavailable', more);
  }
  return new ProviderFault('rejected', more);
}

/** `Retry-After` in seconds or as a date, or `retry-after-ms`; in milliseconds, never negative. */
export function readRetryAfter(headers: Headers, now: number = Date.now()): number | null {
  const exact = headers.get('retry-after-ms');
  if (exact !== null && /^\d{1,9}(?:\.\d{1,3})?$/.test(exact)) return Number(exact);
  const text = headers.get('retry-after');
  if (text === null) return null;
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
