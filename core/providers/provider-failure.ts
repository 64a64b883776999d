import { type ErrorCode, MemoryError, toMemoryError } from '../errors.ts';

/** Why a call of a model or an embedder failed, and what to do about it. Nothing else is ever said of it. */
const REASONS = {
  aborted: 'the call was given up',
  timeout: 'the provider did not answer in time',
  unreachable: 'the provider could not be reached; check the base URL',
  address_refused: 'the address of the provider is not allowed; check the base URL',
  proxy: 'the proxy failed; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
  redirected: 'the provider redirected the request; check the base URL',
  too_large: 'the answer was too large',
  unauthorized: 'the provider refused the API key; check the API key',
  rate_limited: 'the provider allows no more requests for now',
  no_credit: 'the account of the provider has no credit left; check its billing',
  unavailable: 'the provider failed',
  rejected: 'the provider rejected the request',
  malformed: 'the answer did not fit the schema',
  empty: 'the answer was empty',
  cut_off: 'the answer was cut off',
  refused: 'the model refused to answer',
  refused_operation: 'a check refused what the model proposed',
  // The one SDK that is not a dependency.
  not_installed: 'its package is missing or too old; run npm install @anthropic-ai/sdk',
  run_timeout: 'the run took longer than its time limit',
  circuit_open: 'the circuit is open',
  failed: 'the provider failed',
} as const;

/** What went wrong in particular, where a reason has several forms. */
const PROBLEMS = {
  connection_refused: 'the connection was refused; check the base URL',
  connection_closed: 'the connection was closed before the answer was complete',
  name_not_resolved: 'the host name could not be resolved; check the base URL',
  proxy_unreachable: 'the proxy could not be reached; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
  proxy_auth:
    'the proxy wants a user and a password; add them to HTTPS_PROXY, as in http://user:password@proxy:3128',
  proxy_refused: 'the proxy refused to connect; check its rules, or add the host to NO_PROXY',
  no_route: 'no network route leads to the provider',
  tls: 'no TLS connection could be made; check its certificate',
  not_http: 'the answer was not HTTP; check the base URL',
  not_json: 'the answer was not JSON',
  too_complex: 'the answer is nested too deeply, or has too many parts',
  not_unpacked: 'the answer could not be unpacked',
  other_dimensions: 'the vectors have another length; check the dimensions of the embedder',
  other_count: 'the answer has not one vector for each text',
  same_vectors: 'different texts have the same vector; check the model of the embedder',
  no_transformers: 'its package is missing or too old; run npm install @huggingface/transformers',
  no_download:
    'the model could not be downloaded; check the network, or give the folder of a model',
  no_such_model: 'there is no such model with ONNX files; check the name of the embedder',
  damaged_model:
    'the files of the model are damaged; delete them from the cache, and they are downloaded again',
  downloading: 'the model is being downloaded',
  other_model:
    'the model gives other vectors than those stored under its name; run memory-service reindex --embeddings',
} as const;

const HINTS: Readonly<Record<number, string>> = {
  401: 'check the API key',
  403: 'check what the API key may use',
  404: 'check the base URL and the name of the model',
  429: 'it allows no more requests for now',
};

export type FailureReason = keyof typeof REASONS;
export type FailureProblem = keyof typeof PROBLEMS;

/** Reasons that concern one request or reply: the provider itself answers. */
export const REFUSALS: ReadonlySet<string> = new Set<FailureReason>([
  'rejected',
  'malformed',
  'empty',
  'too_large',
  'cut_off',
  'refused',
]);

/** A failed call of a model or an embedder: codes and numbers alone, as `details` of its error. */
export interface ProviderFailure {
  reason: FailureReason;
  problem?: FailureProblem;
  /** Of `other_dimensions`: the length that the vectors have. */
  vectorLength?: number;
  /** Of `downloading`: how much has arrived. */
  percent?: number;
  /** The HTTP status of the answer. */
  providerStatus?: number;
  /** What the provider calls the failure: `model_not_found`. */
  providerCode?: string;
  /** Its own words, without any that the request has: nothing of a prompt, of memory or of a key. */
  providerMessage?: string;
  /** Of a `timeout`. */
  limitMs?: number;
  /** Failures in a row that opened the circuit, and the last of them. */
  failures?: number;
  lastFailure?: ProviderFailure;
}

/** `Retry-After` of a date far away, in seconds. */
const MOST_SECONDS = 1e10;

type ProviderCode = Extract<ErrorCode, 'MODEL_FAILED' | 'MODEL_TIMEOUT' | 'EMBEDDING_FAILED'>;

/**
 * The error of a failed call. Its message is made here: a provider's own words may repeat prompts, keys
 * or memory, so that only `providerMessage` is shown of them.
 */
export function createProviderError(
  code: ProviderCode,
  failure: ProviderFailure,
  options: {
    /** The provider's name, as in the configuration. */
    provider?: string | undefined;
    cause?: unknown;
    retryAfterSeconds?: number | undefined;
  } = {},
): MemoryError {
  const { provider, cause, retryAfterSeconds } = options;
  const kind = code === 'EMBEDDING_FAILED' ? 'embedding' : 'model';
  const named = provider === undefined ? '' : ` ${provider}`;
  return new MemoryError(code, `The ${kind} provider${named} failed: ${toPhrase(failure)}.`, {
    details: { ...(provider === undefined ? {} : { provider }), ...failure },
    cause,
    retryAfterSeconds,
  });
}

/**
 * Turns what a provider threw into an error of these codes, the first one unless it has another. Of
 * an error that the provider made itself only known reasons and numbers are taken over.
 */
export function toProviderError(
  thrown: unknown,
  codes: readonly [ProviderCode, ...ProviderCode[]],
  provider: string,
): MemoryError {
  const error = toMemoryError(thrown);
  const code = codes.find((each) => each === error.code);
  if (code === undefined) {
    return createProviderError(codes[0], { reason: 'failed' }, { provider, cause: thrown });
  }
  const reason = code === 'MODEL_TIMEOUT' ? 'timeout' : 'failed';
  return createProviderError(code, readFailure(error.details) ?? { reason }, {
    provider,
    cause: error.cause ?? error,
    retryAfterSeconds: isWhole(error.retryAfterSeconds, MOST_SECONDS)
      ? error.retryAfterSeconds
      : undefined,
  });
}

/** Whether an error is one of a model or an embedder. */
export function isProviderError(error: unknown): error is MemoryError & { code: ProviderCode } {
  return error instanceof MemoryError && CODES.has(error.code);
}

const CODES: ReadonlySet<string> = new Set<ProviderCode>([
  'MODEL_FAILED',
  'MODEL_TIMEOUT',
  'EMBEDDING_FAILED',
]);

/** Why a call of a model or an embedder failed, in words that are safe to show; `null` for other errors. */
export function explainProviderError(error: unknown): string | null {
  if (!isProviderError(error)) return null;
  const reason = error.code === 'MODEL_TIMEOUT' ? 'timeout' : 'failed';
  return toPhrase(readFailure(error.details) ?? { reason });
}

/** The known parts of an error's details, whoever made them; `null` where the reason is none. */
export function readFailure(details: unknown): ProviderFailure | null {
  const given = (details ?? {}) as Record<string, unknown>;
  const { reason, problem, vectorLength, percent, providerStatus, limitMs } = given;
  const { failures, lastFailure, providerCode, providerMessage } = given;
  if (!isKeyOf(REASONS, reason)) return null;
  const last = reason === 'circuit_open' ? readFailure(lastFailure) : null;
  return {
    reason,
    ...(isKeyOf(PROBLEMS, problem) ? { problem } : {}),
    ...(isWhole(vectorLength, 1e9) ? { vectorLength } : {}),
    ...(isWhole(percent, 100) ? { percent } : {}),
    ...(isWhole(providerStatus, 999) ? { providerStatus } : {}),
    ...(isCode(providerCode) ? { providerCode } : {}),
    ...(isPhrase(providerMessage) ? { providerMessage } : {}),
    ...(isWhole(limitMs, 86_400_000) ? { limitMs } : {}),
    ...(isWhole(failures, Number.MAX_SAFE_INTEGER) ? { failures } : {}),
    ...(last === null || last.reason === 'circuit_open' ? {} : { lastFailure: last }),
  };
}

/** The same without the provider's own words: they are for the caller whose request failed. */
export function withoutMessage(failure: ProviderFailure): ProviderFailure {
  const { providerMessage: _, ...rest } = failure;
  return rest;
}

function toPhrase(failure: ProviderFailure): string {
  const { providerMessage, providerCode } = failure;
  const said = [providerCode, providerMessage].filter((part) => part !== undefined).join(': ');
  return said === '' ? toOwnPhrase(failure) : `${toOwnPhrase(failure)} (${said})`;
}

function toOwnPhrase(failure: ProviderFailure): string {
  const { reason, problem, providerStatus, limitMs, failures, lastFailure } = failure;
  if (reason === 'circuit_open') {
    const after =
      failures === undefined ? '' : ` after ${failures} failure${failures === 1 ? '' : 's'}`;
    return `${REASONS[reason]}${after}${lastFailure === undefined ? '' : `: ${toPhrase(lastFailure)}`}`;
  }
  if (providerStatus !== undefined) {
    const isRedirect = providerStatus >= 300 && providerStatus < 400;
    const hint = isRedirect
      ? 'redirects are not followed, check the base URL'
      : reason === 'no_credit'
        ? REASONS.no_credit
        : HINTS[providerStatus];
    return `the provider answered ${providerStatus}${hint === undefined ? '' : `; ${hint}`}`;
  }
  if (reason === 'timeout' && limitMs !== undefined) {
    return `the provider did not answer in ${limitMs / 1_000} s`;
  }
  if (problem === 'other_dimensions' && failure.vectorLength !== undefined) {
    const length = failure.vectorLength;
    return `the vectors have ${length} numbers; set the dimensions of the embedder to ${length}`;
  }
  if (problem === 'downloading' && failure.percent !== undefined) {
    return `${PROBLEMS[problem]}, ${failure.percent} %`;
  }
  return problem === undefined ? REASONS[reason] : PROBLEMS[problem];
}

function isKeyOf<T extends object>(table: T, key: unknown): key is keyof T {
  return typeof key === 'string' && Object.hasOwn(table, key);
}

/** The most characters of a provider's own words. */
export const PROVIDER_MESSAGE_CHARS = 200;

function isPhrase(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > PROVIDER_MESSAGE_CHARS) return false;
  return value !== '' && value.isWellFormed() && !/\p{C}/u.test(value);
}

function isCode(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z][A-Za-z_.-]{1,63}$/.test(value);
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}
