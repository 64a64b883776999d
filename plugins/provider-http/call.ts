import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryError } from '../../core/errors.ts';
import { type FaultCodes, ProviderFault, toFault, toProviderError } from './fault.ts';

/** How often and how long a provider is asked. */
export interface CallPolicy {
  /** As the operator knows it: `openai`. */
  provider: string;
  codes: FaultCodes;
  /** For the whole call, retries included. */
  timeoutMs: number;
  maxRetries: number;
  /** Before the first retry, unless the provider asks for another time; then doubled. */
  retryDelayMs: number;
}

/** What a caller may set for one call, as in the contracts of embedders and models. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  onFailure?: ((error: MemoryError) => void) | undefined;
}

/** The longest wait between two attempts, unless the provider asks for another. */
const MAX_DELAY_MS = 8_000;

/**
 * Calls a provider: the only place that times, aborts and repeats a call (the SDKs' own retries are
 * off). A transient failure is tried again, after as long as `Retry-After` says. If that is longer
 * than the call may last, the call fails at once and says when to come back. If the time ends during
 * a retry, the error is that of the attempt before it: the provider did answer.
 *
 * @throws MemoryError of `policy.codes`, with `details.reason`; also when `signal` aborts it.
 */
export async function callProvider<T>(
  policy: CallPolicy,
  { signal, onFailure }: CallOptions,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(policy.timeoutMs);
  const end = performance.now() + policy.timeoutMs;
  const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  let last: ProviderFault | null = null;
  for (let tries = 0; ; tries += 1) {
    try {
      both.throwIfAborted();
      return await attempt(both);
    } catch (thrown) {
      if (signal?.aborted === true) {
        throw toProviderError(new ProviderFault('aborted', { cause: signal.reason }), policy);
      }
      if (deadline.aborted) {
        throw toProviderError(last ?? new ProviderFault('timeout'), policy);
      }
      last = toFault(thrown);
      const error = toProviderError(last, policy);
      const wait = tries < policy.maxRetries ? waitBefore(last, { ...policy, tries }) : null;
      if (wait === null || performance.now() + wait >= end) throw error;
      onFailure?.(error);
      // Aborted while it waits: the next round throws.
      await sleep(wait, undefined, { signal: both }).catch(() => undefined);
    }
  }
}

/** Milliseconds before the next attempt; `null` for none. */
function waitBefore(
  fault: ProviderFault,
  { tries, retryDelayMs }: { tries: number; retryDelayMs: number },
): number | null {
  if (!fault.isTransient) return null;
  if (fault.retryAfterMs !== null) return fault.retryAfterMs;
  const most = Math.min(retryDelayMs * 2 ** tries, MAX_DELAY_MS);
  // Callers that failed together must not come back together.
  return most * (0.5 + Math.random() / 2);
}
