import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { ConfigError, Mistakes } from './error.ts';
import { nearest } from './nearest.ts';
import { takeStart } from '../take-text.ts';

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

/** The text with the password of a URL hidden. */
export function maskUrl(text: string): string {
  // The last @ before the path, because an unescaped password may contain one.
  const scheme = text.indexOf('://');
  if (scheme < 0) return text;
  const authority = text.slice(scheme + 3).split(/[/?#]/, 1)[0] ?? '';
  const at = Math.max(authority.lastIndexOf('@'), text.slice(scheme + 3).lastIndexOf('@'));
  if (at < 0) return text;
  const user = text.slice(scheme + 3, scheme + 3 + at).split(':', 1)[0] ?? '';
  return `${text.slice(0, scheme + 3)}${user}:********${text.slice(scheme + 3 + at)}`;
}

/** Shortened to one line, without the password of a database URL. */
function show(value: unknown): string {
  const text = typeof value === 'string' ? maskUrl(value) : value;
  const json = typeof text === 'function' ? 'a function' : (JSON.stringify(text) ?? String(text));
  return json.length > 100 ? `${takeStart(json, 97)}…` : json;
}

function format(value: number | undefined): string {
  return (value ?? 0).toLocaleString('en-US');
}
