import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { ConfigError, Mistakes } from './error.ts';
import { nearest } from '../values/nearest.ts';
import { takeStart } from '../encoding/take-text.ts';

/** One option. This is the only place for its schema, default and description. */
export interface Option {
  schema: TSchema;
  /** `null` if it has no default. */
  default: unknown;
  description: string;
  /** The allowed values in words, if the schema doesn't say enough. */
  allowed?: string;
  /** A rule that the schema cannot express. */
  check?: (value: string) => boolean;
  /** Never printed. */
  isSecret?: true;
  /** Has no default and must be given. */
  isRequired?: true;
}

/** The options of a plugin, by name. */
export type OptionTable = Readonly<Record<string, Option>>;

type RequiredKey<T extends OptionTable> = {
  [K in keyof T]: T[K] extends { isRequired: true } ? K : never;
}[keyof T];

/** The options that a caller may pass. */
export type OptionsOf<T extends OptionTable> = {
  [K in Exclude<keyof T, RequiredKey<T>>]?: Static<T[K]['schema']>;
} & { [K in RequiredKey<T>]: Static<T[K]['schema']> };

/** The options with their defaults filled in. */
export type ReadOptions<T extends OptionTable> = {
  [K in keyof T]: T[K] extends { default: null; isRequired?: never }
    ? Static<T[K]['schema']> | null
    : Static<T[K]['schema']>;
};

/**
 * Reads a plugin's options. `undefined` and `null` become the default. Throws a `ConfigError` that
 * lists every wrong value and every unknown name, with the nearest known one.
 *
 * @param plugin its name in messages: `storage-sqlite`.
 */
export function readOptions<T extends OptionTable>(
  table: T,
  given: unknown,
  { plugin }: { plugin: string },
): ReadOptions<T> {
  const options = given ?? {};
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw new ConfigError(null, `The options of ${plugin} must be an object.`);
  }
  const mistakes = new Mistakes();
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name)) continue;
    mistakes.collect(() => {
      throw unknownKey(name, { origin: `the options of ${plugin}`, known: Object.keys(table) });
    });
  }
  const entries = Object.entries(table).map(([name, option]) => {
    const value = (options as Record<string, unknown>)[name] ?? null;
    if (value === null && option.isRequired !== true) return [name, option.default];
    const read = mistakes.collect(() => {
      if (value !== null)
        return checkOption(option, value, { key: name, origin: `${name} of ${plugin}` });
      throw new ConfigError(name, `${name} of ${plugin} is missing: ${option.description}`);
    });
    return [name, read];
  });
  mistakes.throwIfAny();
  return Object.fromEntries(entries) as ReadOptions<T>;
}

/** Returns the value if the option allows it, else throws a `ConfigError`. */
export function checkOption(
  option: Option,
  value: unknown,
  {
    key,
    origin,
    given = value,
    place = '',
  }: { key: string; origin: string; given?: unknown; place?: string },
): unknown {
  const { schema, check, isSecret } = option;
  const isAllowed = value !== undefined && Check(schema, value);
  if (isAllowed && (check === undefined || check(value as string))) return value;
  const shown = isSecret === true ? 'what is set there' : show(given);
  throw new ConfigError(key, `${origin} must be ${describeAllowed(option)}, not ${shown}${place}.`);
}

/** Makes the `ConfigError` for an unknown name. */
export function unknownKey(
  name: string,
  { origin, known }: { origin: string; known: readonly string[] },
): ConfigError {
  const meant = nearest(name, known);
  const hint = meant === null ? '' : `; did you mean ${meant}?`;
  return new ConfigError(name, `${name} in ${origin} is not known${hint}`);
}

/** The allowed values, as the end of a sentence `SERVICE_PORT must be …`. */
export function describeAllowed({ allowed, schema }: Option): string {
  if (allowed !== undefined) return allowed;
  const { type, minimum, maximum, enum: values } = schema as SchemaFacts;
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (type === 'boolean') return 'true or false';
  if (type === 'string') return 'text';
  if (type === 'object') return 'an object';
  const noun = type === 'integer' ? 'a whole number' : 'a number';
  return `${noun} from ${format(minimum)} to ${format(maximum)}`;
}

/** The schema keywords that messages and flags need. */
export interface SchemaFacts {
  type?: string;
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
}

const MASK = '********';

/** Parameters of URLs that hold no secret; the values of all others are hidden. */
const PLAIN_PARAMETERS: ReadonlySet<string> = new Set([
  ...['api-version', 'charset', 'deployment', 'region', 'schema', 'timezone', 'version'],
  ...['ssl', 'ssl-mode', 'sslmode', 'ssl-ca', 'sslrootcert', 'connecttimeout', 'tls'],
]);

/**
 * A text with what may be secret in a URL hidden: the password (or the user, where there is no
 * password: a token), the values of its parameters, its fragment. Also for a text that is no URL yet,
 * as one with a mistake in it.
 */
export function maskUrl(text: string): string {
  const start = /^[^:/?#@]*:\/\//.exec(text)?.[0] ?? '';
  const rest = text.slice(start.length);
  const query = /[?#]/.exec(rest)?.index ?? rest.length;
  // The last @, because a password that is not escaped may contain one, and also / ? or #.
  const at = rest.lastIndexOf('@');
  const isUser = at >= 0 && (start !== '' || at < query);
  const user = isUser ? maskUser(rest.slice(0, at)) : '';
  const behind = isUser ? rest.slice(at) : rest;
  return start + user + maskParameters(behind);
}

function maskUser(user: string): string {
  const colon = user.indexOf(':');
  return colon < 0 ? MASK : `${user.slice(0, colon)}:${MASK}`;
}

function maskParameters(text: string): string {
  const hash = text.indexOf('#');
  const fragment = hash < 0 || hash === text.length - 1 ? '' : `#${MASK}`;
  const plain = hash < 0 ? text : text.slice(0, hash);
  const mark = plain.indexOf('?');
  if (mark < 0) return plain + fragment;
  const parameters = plain
    .slice(mark + 1)
    .split(/([&;])/)
    .map((part, index) => (index % 2 === 1 || part === '' ? part : maskParameter(part)));
  return `${plain.slice(0, mark)}?${parameters.join('')}${fragment}`;
}

function maskParameter(part: string): string {
  const equals = part.indexOf('=');
  if (equals < 0) return MASK;
  const name = part.slice(0, equals);
  return PLAIN_PARAMETERS.has(name.toLowerCase()) ? part : `${name}=${MASK}`;
}

/** Shortened to one line, without the secrets of a URL, also of one inside a list or an object. */
function show(value: unknown): string {
  const maskText = (_key: string, part: unknown) =>
    typeof part === 'string' && /[@?]|:\/\//.test(part) ? maskUrl(part) : part;
  const json =
    typeof value === 'function' ? 'a function' : (JSON.stringify(value, maskText) ?? String(value));
  return json.length > 100 ? `${takeStart(json, 97)}…` : json;
}

function format(value: number | undefined): string {
  return (value ?? 0).toLocaleString('en-US');
}
