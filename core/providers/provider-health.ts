import type { Logger } from '../contracts/logger.ts';
import {
  explainProviderError,
  isProviderError,
  readFailure,
  REFUSALS,
} from './provider-failure.ts';

/** Whether a model or an embedder answers, by its latest call. */
export interface HealthState {
  /** `null` before the first call. */
  answers: boolean | null;
  /** Why it does not, and what to do about it. */
  problem: string | null;
  /** Milliseconds since 1970. */
  at: number | null;
}

/** Follows the calls of one provider. */
export interface ProviderHealth {
  succeed(): void;
  /**
   * Takes the error of a call. A refused text or a reply of no use shows that the provider answers; a
   * call that was given up, or not made, shows nothing. With `isCheck` nothing but an answer counts.
   */
  fail(error: unknown, options?: { isCheck?: boolean }): void;
  state(): HealthState;
}

/** Shows nothing: the call was given up or not made. */
const SILENT = new Set(['aborted', 'circuit_open', 'run_timeout', 'refused_operation']);
/** Often over with the next call: logged when it happens again and again. */
const PASSING = new Set(['timeout', 'rate_limited', 'unavailable']);
const PASSING_IN_A_ROW = 3;
/** The shortest time between two logged outages: a provider that fails now and then floods no log. */
const QUIET_MS = 60_000;

/**
 * Makes the health of a provider. It logs in one line that the provider does not answer and
 * what to do, and in one that it answers again; an outage within a minute of the last one is logged
 * only if it outlasts that minute.
 *
 * @param options.name names the provider in a log line, for example `the model`.
 * @param options.effect says what an outage causes, for example `finds use words only`.
 */
export function createProviderHealth(options: {
  name: string;
  effect?: string;
  provider: { name: string; model: string };
  now: () => number;
  log: Logger;
}): ProviderHealth {
  const { name, effect, now, log } = options;
  const outage = `${name} does not answer${effect === undefined ? '' : ` and ${effect}`}`;
  const fields = { provider: options.provider.name, model: options.provider.model };
  let state: HealthState = { answers: null, problem: null, at: null };
  let failures = 0;
  let isLogged = false;
  let loggedAt = Number.NEGATIVE_INFINITY;

  function succeed(): void {
    state = { answers: true, problem: null, at: now() };
    failures = 0;
    if (isLogged) log.info(fields, `${name} answers again`);
    isLogged = false;
  }

  return {
    succeed,
    fail(error, { isCheck = false } = {}) {
      if (!isProviderError(error)) return;
      const { reason, providerStatus } = readFailure(error.details) ?? {
        reason: error.code === 'MODEL_TIMEOUT' ? ('timeout' as const) : ('failed' as const),
      };
      if (SILENT.has(reason)) return;
      // A 404 means that the provider does not have the model: each request would fail.
      const isNotFound = providerStatus === 404;
      if (REFUSALS.has(reason) && !isCheck && !isNotFound) return succeed();
      failures += 1;
      const problem = explainProviderError(error);
      state = { answers: false, problem, at: now() };
      if (isLogged || (PASSING.has(reason) && !isCheck && failures < PASSING_IN_A_ROW)) return;
      if (now() - loggedAt < QUIET_MS) return;
      isLogged = true;
      loggedAt = now();
      log.error(fields, `${outage}: ${String(problem)}`);
    },
    state: () => state,
  };
}
