import { isAllowedBaseUrl } from '../../core/config/base-url.ts';
import { createProviderFetch, type ProviderFetch, type Resolve } from './fetch.ts';

/** Options that all providers have. */
export interface ProviderOptions {
  /** `https:`, or `http:` to this machine or a private network. */
  baseUrl?: string;
  /** Left out where the server asks for none. */
  apiKey?: string;
  /** Milliseconds for one call with all its repetitions, 1 to 600,000. */
  timeoutMs?: number;
  /** How often a call that may pass later is repeated, 0 to 10. Default 2. */
  maxRetries?: number;
  /** Milliseconds before the first repetition, 0 to 60,000; then doubled. Default 500. */
  retryDelayMs?: number;
  /** For tests: names to addresses. */
  resolve?: Resolve;
}

/** The options of a provider with what was left out filled in. */
export interface CheckedOptions {
  baseUrl: string;
  apiKey: string | null;
  timeoutMs: number;
  maxRetries: number;
  retryDelayMs: number;
  fetch: ProviderFetch;
}

/** An answer that is longer was not meant for a memory. */
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/**
 * Checks the options that all providers have, and makes the provider's `fetch`. Throws an `Error`
 * whose message names the option; no value of a secret is in it.
 */
export function checkProviderOptions(
  options: ProviderOptions,
  defaults: { baseUrl: string; timeoutMs: number; maxResponseBytes?: number },
): CheckedOptions {
  const { baseUrl = defaults.baseUrl, apiKey = null, resolve } = options;
  if (typeof baseUrl !== 'string' || !isAllowedBaseUrl(baseUrl)) {
    throw new Error(
      'baseUrl must be an https:// address, or an http:// one of this machine or a private network',
    );
  }
  if (apiKey === null && new URL(baseUrl).origin === new URL(defaults.baseUrl).origin) {
    throw new Error(`apiKey is missing, and ${new URL(baseUrl).origin} asks for one`);
  }
  const { maxResponseBytes = MAX_RESPONSE_BYTES } = defaults;
  return {
    baseUrl,
    apiKey,
    timeoutMs: whole('timeoutMs', options.timeoutMs ?? defaults.timeoutMs, 1, 600_000),
    maxRetries: whole('maxRetries', options.maxRetries ?? 2, 0, 10),
    retryDelayMs: whole('retryDelayMs', options.retryDelayMs ?? 500, 0, 60_000),
    fetch: createProviderFetch({
      baseUrl,
      maxResponseBytes,
      ...(resolve === undefined ? {} : { resolve }),
    }),
  };
}

/** The number, or an `Error` that names the option and what it may be. */
export function whole(name: string, value: unknown, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) {
    return value as number;
  }
  throw new Error(`${name} must be a whole number from ${least} to ${most}`);
}
