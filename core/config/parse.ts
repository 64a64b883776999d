import { Check } from 'typebox/value';
import { ConfigError } from './error.ts';
import { settingOf, type SettingKey } from './settings.ts';

/** Where a value came from, as the operator wrote it. */
export interface Origin {
  source: 'default' | 'file' | '.env' | 'environment' | 'flag';
  /** `SERVICE_PORT`, `--port`, `port in memory.config.json`; empty for a default. */
  name: string;
}

/**
 * Takes a setting's value, or throws a `ConfigError` that names the key, the problem and what is
 * allowed. From the environment, `.env` and flags a value comes as text; a config file holds it as
 * what it is.
 */
export function parseSetting(key: SettingKey, given: unknown, origin: Origin): unknown {
  const { schema, check, isSecret } = settingOf(key);
  const value = origin.source === 'file' ? fromFile(key, given) : fromText(key, String(given));
  const isAllowed = value !== undefined && Check(schema, value);
  if (isAllowed && (check === undefined || check(value as string))) return value;
  const shown = isSecret === true ? 'what is set there' : show(given);
  throw new ConfigError(
    key,
    `${origin.name} must be ${describeAllowed(key)}, not ${shown}${describeSource(origin)}.`,
  );
}

/** What a setting takes, as the end of the sentence `SERVICE_PORT must be …`. */
export function describeAllowed(key: SettingKey): string {
  const { allowed, schema } = settingOf(key);
  if (allowed !== undefined) return allowed;
  const { type, minimum, maximum, enum: values } = schema as SchemaFacts;
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (type === 'boolean') return 'true or false';
  const noun = type === 'integer' ? 'a whole number' : 'a number';
  return `${noun} from ${format(minimum)} to ${format(maximum)}`;
}

interface SchemaFacts {
  type?: string;
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
}

/** `undefined` when the text is no value of that type at all. */
function fromText(key: SettingKey, text: string): unknown {
  const { type } = settingOf(key).schema as SchemaFacts;
  switch (type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
    case 'number':
      return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
    case 'boolean':
      if (/^(?:true|1|yes|on)$/i.test(text)) return true;
      return /^(?:false|0|no|off)$/i.test(text) ? false : undefined;
    case 'array':
      return split(text);
    default:
      return text;
  }
}

function fromFile(key: SettingKey, value: unknown): unknown {
  const { type } = settingOf(key).schema as SchemaFacts;
  return type === 'array' && typeof value === 'string' ? split(value) : value;
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Short, on one line, and without what a database URL may hold. */
function show(value: unknown): string {
  const text = typeof value === 'string' ? maskUrl(value) : value;
  const json = typeof text === 'function' ? 'a function' : (JSON.stringify(text) ?? String(text));
  return json.length > 100 ? `${json.slice(0, 97)}…` : json;
}

/** The text with the password of a URL hidden. */
export function maskUrl(text: string): string {
  // The last @ before the path: a password that is not percent-encoded may hold one itself.
  const scheme = text.indexOf('://');
  if (scheme < 0) return text;
  const authority = text.slice(scheme + 3).split(/[/?#]/, 1)[0] ?? '';
  const at = Math.max(authority.lastIndexOf('@'), text.slice(scheme + 3).lastIndexOf('@'));
  if (at < 0) return text;
  const user = text.slice(scheme + 3, scheme + 3 + at).split(':', 1)[0] ?? '';
  return `${text.slice(0, scheme + 3)}${user}:********${text.slice(scheme + 3 + at)}`;
}

function describeSource({ source }: Origin): string {
  if (source === '.env') return ' (in .env)';
  return source === 'environment' ? ' (in the environment)' : '';
}

function format(value: number | undefined): string {
  return (value ?? 0).toLocaleString('en-US');
}
