import { checkOption, type SchemaFacts } from './option.ts';
import { settingOf, type SettingKey } from './settings.ts';

/** Where a value came from, in the operator's terms. */
export interface Origin {
  source: 'default' | 'file' | '.env' | 'environment' | 'flag';
  /** `SERVICE_PORT`, `--port`, `port in memory.config.json`; empty for a default. */
  name: string;
}

/**
 * Reads a setting's value, or throws a `ConfigError` that names the key, the problem and what is
 * allowed. The environment, `.env` and flags give text; a config file gives the value itself, or a
 * list as one text.
 */
export function parseSetting(key: SettingKey, given: unknown, origin: Origin): unknown {
  const setting = settingOf(key);
  const { type } = setting.schema as SchemaFacts;
  const value = origin.source === 'file' ? fromFile(type, given) : fromText(type, String(given));
  return checkOption(setting, value, {
    key,
    origin: origin.name,
    given,
    place: describePlace(origin),
  });
}

/** `undefined` if the text is not a value of that type. */
function fromText(type: string | undefined, text: string): unknown {
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

function fromFile(type: string | undefined, value: unknown): unknown {
  return type === 'array' && typeof value === 'string' ? split(value) : value;
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function describePlace({ source }: Origin): string {
  if (source === '.env') return ' (in .env)';
  return source === 'environment' ? ' (in the environment)' : '';
}
