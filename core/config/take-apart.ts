import { ConfigError, type Mistakes } from './error.ts';
import { unknownKey } from './option.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';

/** Members of a configuration that are code, or name it. */
const PARTS = ['storage', 'model', 'verifier', 'embedder', 'plugins', 'exporters'] as const;
type PartName = (typeof PARTS)[number];

/** What `createMemoryService` takes beside settings and parts. */
const MEMBERS = ['log', 'now', 'configuration'];

/** A configuration object split into settings and parts, its values not checked yet. */
export interface TakenApart {
  settings: ReadonlyMap<SettingKey, unknown>;
  /** Products of imported factories, or factories by name. */
  parts: Readonly<Partial<Record<PartName, unknown>>>;
}

/**
 * Splits a configuration object into settings by key and parts. `null` and `undefined` count as
 * absent. Collects a mistake for each unknown key, with the nearest known one.
 *
 * @param origin the config file's name, or `createMemoryService()`, which takes no settings of the
 * command.
 */
export function takeApart(
  config: object,
  { origin, mistakes }: { origin: string; mistakes: Mistakes },
): TakenApart {
  const isFile = origin !== 'createMemoryService()';
  const settings = new Map<SettingKey, unknown>();
  const parts: Partial<Record<PartName, unknown>> = {};
  const keys = SETTING_KEYS.filter((key) => isFile || settingOf(key).isOfCommand !== true);
  const groups = new Set(
    keys.filter((key) => key.includes('.')).map((key) => key.split('.', 1)[0]),
  );
  // Editors check the file by it.
  const members = isFile ? ['$schema'] : MEMBERS;

  function take(key: string, value: unknown): void {
    if (value === undefined || value === null) return;
    if (keys.some((known) => known === key)) settings.set(key as SettingKey, value);
    else mistakes.collect(() => refuse(key));
  }

  function refuse(key: string): never {
    if (SETTING_KEYS.some((known) => known === key)) {
      throw new ConfigError(
        key,
        `${key} is a setting of the memory-service command, not of ${origin}.`,
      );
    }
    throw unknownKey(key, {
      origin,
      known: [...keys, ...groups, ...PARTS, ...members] as string[],
    });
  }

  for (const [name, value] of Object.entries(config)) {
    if (value === undefined || value === null || members.includes(name)) continue;
    const part = PARTS.find((known) => known === name);
    if (part !== undefined && !(isFile && isGroupOfSettings(part, value))) parts[part] = value;
    else if (!groups.has(name)) take(name, value);
    else if (typeof value === 'object' && !Array.isArray(value)) {
      for (const [leaf, inner] of Object.entries(value)) take(`${name}.${leaf}`, inner);
    } else {
      const leaves = keys.filter((key) => key.startsWith(`${name}.`));
      const names = leaves.map((key) => key.slice(name.length + 1)).join(', ');
      mistakes.collect(() => {
        throw new ConfigError(name, `${name} in ${origin} must be an object with ${names}.`);
      });
    }
  }
  return { settings, parts };
}

/** `model: { provider, … }` is a group of settings; `model: openai({ … })` is a part. */
function isGroupOfSettings(part: PartName, value: unknown): boolean {
  if (part !== 'model' && part !== 'verifier' && part !== 'embedder') return false;
  if (typeof value !== 'object' || value === null) return true;
  return !('plugin' in value || 'generate' in value || 'embed' in value);
}
