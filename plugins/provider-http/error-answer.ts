import { parseForeignJson } from '../../core/encoding/foreign-json.ts';
import type { FailureReason } from '../../core/providers/provider-failure.ts';
import { ProviderFault, readRetryAfter } from './fault.ts';
import { isSafeCode, toSafeWords } from './safe-words.ts';

/** The answer around an error, and the body of the request. */
interface Exchange {
  headers: Headers;
  sent: string | null;
}

/** What a provider says of a failure, in whatever form. */
interface SaidError {
  /** Codes, types and names of fields: `insufficient_quota`, `encoding_format`. */
  names: string[];
  status: number | null;
  words: string;
}

/** An error is short; what is longer is a page. */
const ERROR_CHARS = 65_536;

/** The fault of an answer with a status of 400 and above. */
export function toStatusFault(
  status: number,
  { text, ...exchange }: Exchange & { text: string },
): ProviderFault {
  const isPage = text.length > ERROR_CHARS || /^\s*</.test(text);
  return toFault(status, isPage ? NOTHING : readErrorText(text), exchange);
}

/** The fault of an answer that has the status of a success and an error in it; `null` where it has none. */
export function findErrorFault(value: unknown, exchange: Exchange): ProviderFault | null {
  const error = findError(value);
  if (error === null) return null;
  const said = readError(error);
  return toFault(said.status, said, exchange);
}

const NOTHING: SaidError = { names: [], status: null, words: '' };

function readErrorText(text: string): SaidError {
  try {
    return readError(parseForeignJson(text, { depth: 16, containers: 1_000 }));
  } catch {
    return { ...NOTHING, words: text };
  }
}

function findError(value: unknown): unknown {
  if (!isFields(value)) return null;
  const { error, object, type, choices } = value;
  if (object === 'error' || type === 'error') return value;
  if (error) return error;
  // A router puts it into the choice that failed.
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : [];
  return isFields(first) && first['error'] ? first['error'] : null;
}

/**
 * Reads an error of any provider: `{ error: { message, type, code } }`, `{ error: "…" }`, a list with
 * one of them, `{ object: "error", message }`, `{ detail: "…" }`, `{ detail: [{ msg, loc }] }`.
 */
function readError(value: unknown, depth = 0): SaidError {
  if (typeof value === 'string') return { ...NOTHING, words: value };
  if (typeof value !== 'object' || value === null || depth > 4) return NOTHING;
  if (Array.isArray(value)) {
    const all = value.slice(0, 10).map((item) => readError(item, depth + 1));
    return {
      names: all.flatMap(({ names }) => names),
      status: all.find(({ status }) => status !== null)?.status ?? null,
      words: all.map(({ words }) => words).join('; '),
    };
  }
  const fields = value as Record<string, unknown>;
  const inner = [fields['error'], fields['detail']].find(
    (part) => typeof part === 'object' && part !== null,
  );
  if (inner !== undefined) return readError(inner, depth + 1);
  const { code, type, status, error_type: kind, param, loc } = fields;
  const place: unknown[] = Array.isArray(loc) ? loc : [];
  const { message, msg, detail, error, title } = fields;
  return {
    names: [code, type, status, kind, param, ...place].filter((name) => typeof name === 'string'),
    status: [code, status].map(Number).find((number) => number >= 400 && number <= 599) ?? null,
    words: [message, msg, detail, error, title].find((part) => typeof part === 'string') ?? '',
  };
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toFault(
  status: number | null,
  said: SaidError,
  { headers, sent }: Exchange,
): ProviderFault {
  const code = said.names.find(isSafeCode);
  const words = toSafeWords(said.words, sent);
  return new ProviderFault(classify(status, said), {
    ...(status === null ? {} : { status }),
    ...(code === undefined ? {} : { providerCode: code }),
    ...(words === null ? {} : { providerMessage: words }),
    ...(headers.get('x-should-retry') === 'false' ? { isTransient: false } : {}),
    said: [...said.names, said.words].join(' '),
    retryAfterMs: readRetryAfter(headers),
  });
}

/** Reasons by the words of codes and messages, for an answer whose status says nothing. */
const BY_WORDS: readonly (readonly [RegExp, FailureReason])[] = [
  [/rate.?limit|too.?many.?requests|resource_exhausted|throttl/i, 'rate_limited'],
  [/overload|unavailable|server_error|internal|loading|busy|capacity|temporar/i, 'unavailable'],
  [/try again|timed? ?out/i, 'unavailable'],
  [/authent|authoriz|unauth|api.?key|permission|forbidden/i, 'unauthorized'],
  [/invalid|not.?found|supported|unexpected|context.?length|too.?(?:long|large)/i, 'rejected'],
];
const NO_CREDIT = /insufficient_(?:quota|credit|balance|fund)|billing|payment_required/i;
const FILTERED = /content_?filter|content_policy|moderation/i;
/** Some servers answer a text that is too long with 500: llama.cpp, and Ollama where a sum overflows. */
const TOO_LONG = /too (?:long|large)|exceeds? the (?:context|available)|unsupported value: nan/i;

function classify(status: number | null, { names, words }: SaidError): FailureReason {
  const codes = names.join(' ');
  if (status === 402 || NO_CREDIT.test(codes)) return 'no_credit';
  if (FILTERED.test(codes)) return 'refused';
  if (status === null) {
    for (const text of [codes, words]) {
      const found = BY_WORDS.find(([pattern]) => pattern.test(text));
      if (found !== undefined) return found[1];
    }
    return 'unavailable';
  }
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'rate_limited';
  if (status === 500 && TOO_LONG.test(words)) return 'rejected';
  // What a server can't do at all, it can't do later.
  if (status === 501 || status === 505) return 'rejected';
  const isPassing = status >= 500 || [408, 409, 425].includes(status);
  return isPassing ? 'unavailable' : 'rejected';
}
