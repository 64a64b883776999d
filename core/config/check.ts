import type { MemoryServiceConfig } from '../contracts/config.ts';
import { ConfigError } from './error.ts';
import { parseSetting } from './parse.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';

/** Settings of the process around a service: what `createMemoryService` takes none of. */
const OF_THE_COMMAND = new Set<SettingKey>([
  'host',
  'port',
  'databaseUrl',
  'logLevel',
  // Its secrets have a form of their own here: one, several, or none.
  'apiKey',
  'adminSecret',
]);

/**
 * Checks what was given to `createMemoryService` by the same table of settings as a config file.
 * Throws a `ConfigError` that names the key, the problem and what is allowed. What is absent or
 * `null` has its default.
 */
export function checkConfig(config: MemoryServiceConfig): void {
  // From JavaScript anything may come.
  const storage = (config as Partial<MemoryServiceConfig> | undefined)?.storage;
  if (typeof storage?.mutate !== 'function') {
    throw new ConfigError(
      'storage',
      'storage is missing: pass a driver, as in createMemoryService({ storage: sqlite({ filename }) }).',
    );
  }
  for (const key of SETTING_KEYS) {
    if (OF_THE_COMMAND.has(key) || key.startsWith('model.') || key.startsWith('embedder.'))
      continue;
    const value = lookUp(config, key.split('.'));
    // A default may be outside of what can be set: no base path is an empty one.
    if (value === undefined || value === null || value === settingOf(key).default) continue;
    parseSetting(key, value, { source: 'file', name: key });
  }
}

function lookUp(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return lookUp((value as Record<string, unknown>)[key], rest);
}
