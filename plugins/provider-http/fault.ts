import type { ErrorCode, MemoryError } from '../../core/errors.ts';
import {
  createProviderError,
  type FailureProblem,
  type FailureReason,
} from '../../core/providers/provider-failure.ts';

/** A failed call of a provider, before it becomes a `MemoryError`. */
export class ProviderFault extends Error {
  readonly reason: FailureReason;
  readonly problem: FailureProblem | null;
  readonly vectorLength: number | null;
  readonly status: number | null;
  /** Milliseconds that the provider asked to wait; `null` when it did not. */
  readonly retryAfterMs: number | null;
  /** What the provider calls the failure, and its own words, as far as they are safe to show. */
  readonly providerCode: string | null;
  readonly providerMessage: string | null;
  /** All that it said, to find out what it refuses; never shown. */
  readonly said: string;
  /** Whether the same request may go through later. */
  readonly isTransient: boolean;

  constructor(
    reason: FailureReason,
    more: {
      problem?: FailureProblem;
      vectorLength?: number;
      status?: number;
      retryAfterMs?: number | null;
      providerCode?: string;
      providerMessage?: string;
      said?: string;
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
    this.providerCode = more.providerCode ?? null;
    this.providerMessage = more.providerMessage ?? null;
    this.said = more.said ?? '';
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
  const { providerCode, providerMessage } = fault;
  return createProviderError(
    reason === 'timeout' ? codes.timedOut : codes.failed,
    {
      reason,
      ...(problem === null ? {} : { problem }),
      ...(vectorLength === null ? {} : { vectorLength }),
      ...(status === null ? {} : { providerStatus: status }),
      ...(providerCode === null ? {} : { providerCode }),
      ...(providerMessage === null ? {} : { providerMessage }),
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
 * Reads what an SDK threw: it wraps what the provider's `fetch` has thrown. That has read the status and
 * the JSON of the answer, so that only what the SDK makes of it can be wrong.
 */
export function toFault(thrown: unknown): ProviderFault {
  for (let at: unknown = thrown, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if (at instanceof ProviderFault) return at;
    at = at.cause;
  }
  const isParsing = thrown instanceof TypeError || thrown instanceof SyntaxError;
  return new ProviderFault(isParsing ? 'malformed' : 'unreachable', { cause: thrown });
}

/**
 * `Retry-After` in seconds or as a date, `retry-after-ms`, or Azure's `x-ms-retry-after-ms`; in
 * milliseconds, never negative.
 */
export function readRetryAfter(headers: Headers, now: number = Date.now()): number | null {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const exact = headers.get(name);
    if (exact !== null && /^\d{1,9}(?:\.\d{1,3})?$/.test(exact)) return Number(exact);
  }
  const text = headers.get('retry-after');
  if (text === null) return null;
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
