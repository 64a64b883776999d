import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultCodes, ProviderFault, toFault, toProviderError } from './fault.ts';

/** How often and how long a provider is asked. */
export interface CallPolicy {
  /** As the operator knows it: `openai`. */
  provider: string;
  codes: FaultCodes;
  /** For the whole call, with all that is tried again. */
  timeoutMs: number;
  maxRetries: number;
  /** Before the first repetition, unless the provider asks for another time; then doubled. */
  retryDelayMs: number;
}

/** No wait between two attempts is longer, but for what the provider asks for. */
const MAX_DELAY_MS = 8_000;

/**
 * Calls a provider: the one place where a call is timed, given up and repeated (the SDKs' own
 * repetitions are off). What may pass is tried again, after as long as `Retry-After` says; when that
 * is longer than the call may last, it fails at once and says when to come back.
 *
 * @throws MemoryError of `policy.codes`, with `details.reason`; the same when `signal` gives it up.
 */
export async function callProvider<T>(
  policy: CallPolicy,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(policy.timeoutMs);
  const end = performance.now() + policy.timeoutMs;
  const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  for (let tries = 0; ; tries += 1) {
    try {
      both.throwIfAborted();
      return await attempt(both);
    } catch (thrown) {
      const fault = whyItEnded(signal, deadline) ?? toFault(thrown);
      const wait = tries < policy.maxRetries ? waitBefore(fault, tries, policy) : null;
      if (wait === null || performance.now() + wait >= end) {
        throw toProviderError(fault, policy);
      }
      // Given up while it waits: the next round says so.
      await sleep(wait, undefined, { signal: both }).catch(() => undefined);
    }
  }
}

function whyItEnded(signal: AbortSignal | undefined, deadline: AbortSignal): ProviderFault | null {
  if (signal?.aborted === true) return new ProviderFault('aborted', { cause: signal.reason });
  return deadline.aborted ? new ProviderFault('timeout') : null;
}

/** Milliseconds before the next attempt; `null` when there is to be none. */
function waitBefore(fault: ProviderFault, tries: number, policy: CallPolicy): number | null {
  if (!fault.isTransient) return null;
  if (fault.retryAfterMs !== null) return fault.retryAfterMs;
  const most = Math.min(policy.retryDelayMs * 2 ** tries, MAX_DELAY_MS);
  // Those who failed together are not to come back together.
  return most * (0.5 + Math.random() / 2);
}
