import { type ErrorCode, MemoryError } from '../../core/errors.ts';

/** Why a provider's call failed, in words that are safe to show. */
export type FaultReason =
  | 'aborted'
  | 'timeout'
  | 'unreachable'
  | 'address_refused'
  | 'redirected'
  | 'too_large'
  | 'unauthorized'
  | 'rate_limited'
  | 'unavailable'
  | 'rejected'
  | 'malformed'
  | 'empty'
  | 'cut_off'
  | 'refused';

/** A failed call of a provider, before it becomes a `MemoryError`. */
export class ProviderFault extends Error {
  readonly reason: FaultReason;
  readonly status: number | null;
  /** Milliseconds that the provider asked to wait; `null` when it did not. */
  readonly retryAfterMs: number | null;
  /** Whether the same request may go through later. */
  readonly isTransient: boolean;

  constructor(
    reason: FaultReason,
    more: {
      status?: number;
      retryAfterMs?: number | null;
      isTransient?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(WORDS[reason], more.cause === undefined ? {} : { cause: more.cause });
    this.name = 'ProviderFault';
    this.reason = reason;
    this.status = more.status ?? null;
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.isTransient =
      more.isTransient ?? ['unreachable', 'rate_limited', 'unavailable'].includes(reason);
  }
}

const WORDS: Record<FaultReason, string> = {
  aborted: 'the call was given up',
  timeout: 'it did not answer in time',
  unreachable: 'it cannot be reached',
  address_refused: 'its name leads to an address that is not allowed',
  redirected: 'it redirects, and redirects are not followed',
  too_large: 'its answer is too large',
  unauthorized: 'it refuses the API key',
  rate_limited: 'it allows no more requests for now',
  unavailable: 'it failed',
  rejected: 'it rejects the request',
  malformed: 'its answer is not of the form that it must be',
  empty: 'its answer is empty',
  cut_off: 'its answer was cut off',
  refused: 'the model refused to answer',
};

/** How a kind of provider names its failures. */
export interface FaultCodes {
  failed: Extract<ErrorCode, 'MODEL_FAILED' | 'EMBEDDING_FAILED'>;
  timedOut: Extract<ErrorCode, 'MODEL_TIMEOUT' | 'EMBEDDING_FAILED'>;
}

/**
 * The error of a failed call: the provider's own words stand in `cause` alone, as they may repeat
 * what was sent.
 */
export function toProviderError(
  fault: ProviderFault,
  provider: string,
  codes: FaultCodes,
): MemoryError {
  const { reason, status, retryAfterMs } = fault;
  const noun = codes.failed === 'MODEL_FAILED' ? 'model' : 'embedding';
  return new MemoryError(
    reason === 'timeout' ? codes.timedOut : codes.failed,
    `The ${noun} provider ${provider} cannot be used: ${WORDS[reason]}${status === null ? '' : ` (HTTP ${status})`}.`,
    {
      details: { provider, reason, ...(status === null ? {} : { providerStatus: status }) },
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
  const isParsing = thrown instanceof SyntaxError || thrown instanceof TypeError;
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
