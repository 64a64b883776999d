import { maskUrl } from './option.ts';
import type { Origin } from './parse.ts';
import { takeApart } from './take-apart.ts';
import { Mistakes } from './error.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';

/** A setting or a part in effect, as people may see it: secrets are masked. */
export interface ShownSetting {
  /** As in a config file, or the name of a part: `storage`, `model`, `proxy`. */
  key: string;
  /** `null` where it is not set. */
  value: string | null;
  /** `code`: the argument of `createMemoryService`. */
  source: Origin['source'] | 'code';
  /** Its name there: `SERVICE_PORT`, `--port`, `memory.config.json`; `null` where there is none. */
  origin: string | null;
}

/** A configuration as people may see it. */
export interface ShownConfiguration {
  /** The path of the config file; `null` if there is none. */
  file: string | null;
  settings: readonly ShownSetting[];
  /** Sentences about what has no effect. */
  warnings: readonly string[];
}

/** The value of a setting as text, `null` if it is not set. A secret and the password of a URL are masked. */
export function showValue(key: SettingKey, value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (settingOf(key).isSecret === true) {
    return Array.isArray(value) && value.length > 1 ? `${MASK} (${value.length})` : MASK;
  }
  if (Array.isArray(value)) return value.map((item) => maskUrl(String(item))).join(', ');
  return maskUrl(String(value));
}

/** In place of a secret. */
export const MASK = '********';

/** The name of a part; no more, because its options may contain secrets. */
export function showPart(value: unknown): string {
  if (Array.isArray(value)) return value.map(showPart).join(', ') || 'none';
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return typeof value;
  if ('plugin' in value) return String(value.plugin);
  return 'name' in value ? String(value.name) : 'an object';
}

/** Describes the argument of `createMemoryService`, whose values are checked already. */
export function describeGiven(config: object): ShownConfiguration {
  const { settings, parts } = takeApart(config, {
    origin: 'createMemoryService()',
    mistakes: new Mistakes(),
  });
  const keys = SETTING_KEYS.filter((key) => settingOf(key).isOfCommand !== true);
  return {
    file: null,
    settings: [
      ...keys.map((key): ShownSetting => {
        const given = settings.get(key);
        const source = given === undefined ? ('default' as const) : ('code' as const);
        return {
          key,
          value: showValue(key, given ?? settingOf(key).default),
          source,
          origin: null,
        };
      }),
      ...Object.entries(parts).map(([key, value]): ShownSetting => {
        return { key, value: showPart(value), source: 'code', origin: null };
      }),
    ],
    warnings: [],
  };
}
