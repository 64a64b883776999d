import Type from 'typebox';
import { isAllowedBaseUrl } from '../../core/config/base-url.ts';
import { ConfigError } from '../../core/config/error.ts';
import type { OptionTable, ReadOptions } from '../../core/config/option.ts';
import { callProvider, type CallOptions, type CallPolicy } from './call.ts';
import { createProviderFetch, type ProviderFetch, type Resolve } from './fetch.ts';
import type { AnswerLimits } from './read-answer.ts';

/** The options that all providers have; the base URL and the time limit have their own defaults. */
export function providerOptions<const Url extends string>(defaults: {
  baseUrl: Url;
  timeoutMs: number;
}) {
  return {
    baseUrl: {
      schema: Type.String(),
      default: defaults.baseUrl as string,
      allowed: 'an https:// address, or an http:// one of this machine or a private network',
      check: isAllowedBaseUrl,
      description: "Base URL of the provider's API.",
    },
    apiKey: {
      schema: Type.String({ minLength: 1 }),
      default: null,
      isSecret: true,
      description: 'Key of the provider; leave it out where the server asks for none.',
    },
    timeoutMs: {
      schema: Type.Integer({ minimum: 1, maximum: 600_000 }),
      default: defaults.timeoutMs,
      description: 'Milliseconds for one call with all its retries.',
    },
    maxRetries: {
      schema: Type.Integer({ minimum: 0, maximum: 10 }),
      default: 2,
      description: 'How often a call that failed for a passing reason is repeated.',
    },
    retryDelayMs: {
      schema: Type.Integer({ minimum: 0, maximum: 60_000 }),
      default: 500,
      description: 'Milliseconds before the first retry; doubled for each further one.',
    },
    resolve: {
      schema: Type.Unsafe<Resolve>({}),
      default: null,
      description: 'For tests: resolves a name to addresses.',
    },
  } as const satisfies OptionTable;
}

type ProviderSettings = ReadOptions<ReturnType<typeof providerOptions>>;

/** A longer answer was not meant for a memory. */
const ANSWER_LIMITS: AnswerLimits = { bytes: 8 * 1024 * 1024, depth: 32 };

/** A provider as its plugin uses it. */
export interface Provider {
  /** For the SDK's client. */
  fetch: ProviderFetch;
  /** Runs attempts until one succeeds, as {@link callProvider}. */
  call<T>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/**
 * Opens a provider with its checked options. Throws a `ConfigError` where the server at the default
 * base URL needs a key and none is given.
 */
export function openProvider(
  options: ProviderSettings,
  {
    keyedUrl,
    limits = ANSWER_LIMITS,
    ...named
  }: Pick<CallPolicy, 'provider' | 'codes'> & { keyedUrl: string; limits?: AnswerLimits },
): Provider {
  const { baseUrl, apiKey, resolve } = options;
  const { origin } = new URL(baseUrl);
  if (apiKey === null && origin === new URL(keyedUrl).origin) {
    throw new ConfigError('apiKey', `apiKey is missing, and ${origin} asks for one`);
  }
  const fetch = createProviderFetch({
    baseUrl,
    limits,
    ...(resolve === null ? {} : { resolve }),
  });
  const policy = { ...options, ...named };
  return { fetch, call: (own, attempt) => callProvider(policy, own, attempt) };
}
