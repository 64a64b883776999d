import { setTimeout as sleep } from 'node:timers/promises';
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

/** The longest wait between two attempts, unless the provider asks for another. */
const MAX_DELAY_MS = 8_000;

/**
 * Calls a provider: the only place that times, aborts and repeats a call (the SDKs' own retries are
 * off). A transient failure is tried again, after as long as `Retry-After` says. If that is longer
 * than the call may last, the call fails at once and says when to come back.
 *
 * @throws MemoryError of `policy.codes`, with `details.reason`; also when `signal` aborts it.
 */
export async function callProvider<T>(
  policy: CallPolicy,
  {
    signal,
    attempt,
  }: { signal: AbortSignal | undefined; attempt: (signal: AbortSignal) => Promise<T> },
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
      const wait = tries < policy.maxRetries ? waitBefore(fault, { ...policy, tries }) : null;
      if (wait === null || performance.now() + wait >= end) {
        throw toProviderError(fault, policy);
      }
      // Aborted while it waits: the next round throws.
      await sleep(wait, undefined, { signal: both }).catch(() => undefined);
    }
  }
}

function whyItEnded(signal: AbortSignal | undefined, deadline: AbortSignal): ProviderFault | null {
  if (signal?.aborted === true) return new ProviderFault('aborted', { cause: signal.reason });
  return deadline.aborted ? new ProviderFault('timeout') : null;
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
