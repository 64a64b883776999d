import type { Embedder } from '../contracts/embedder.ts';
import type { ModelProvider } from '../contracts/model-provider.ts';
import type { Logger, Plugin } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import type { SqlDatabase } from '../storage/sql-database.ts';
import { ConfigError, Mistakes } from './error.ts';
import { parseSetting } from './parse.ts';
import {
  nestSettings,
  SETTING_KEYS,
  type ServiceSettings,
  type Settings,
  settingOf,
} from './settings.ts';
import type { ShownConfiguration } from './shown.ts';
import { takeApart } from './take-apart.ts';

/**
 * The argument of `createMemoryService`: its parts and the settings of `settings.ts`. Only
 * `storage` is required. Nothing is read from the environment.
 */
export interface MemoryServiceConfig extends ServiceSettings {
  storage: SqlDatabase;
  model?: ModelProvider | null;
  /** Judges edits that the model proposes; by default the model itself does. */
  verifier?: ModelProvider | null;
  embedder?: Embedder | null;
  exporters?: readonly TraceExporter[];
  plugins?: readonly Plugin[];
  log?: Logger;
  /** What `GET /v1/admin/configuration` shows; default what is given here. The command says where it read it. */
  configuration?: ShownConfiguration;
  /** The clock, milliseconds since 1970; for tests. */
  now?: () => number;
}

/** A configuration whose database may have its stores already. */
export interface CoreConfig extends Omit<MemoryServiceConfig, 'storage'> {
  storage: SqlDatabase | Storage;
}

/**
 * Checks a configuration and fills in the defaults. An absent or `null` value and a blank secret
 * get the default. Throws a `ConfigError` that lists every mistake, including unknown keys.
 */
export function toSettings(config: object): Settings {
  // JavaScript callers may pass anything.
  const storage: unknown = (config as Partial<MemoryServiceConfig> | undefined)?.storage;
  if (typeof storage !== 'object' || storage === null) {
    throw new ConfigError(
      'storage',
      'storage is missing: pass a database, as in createMemoryService({ storage: sqlite({ filename }) }).',
    );
  }
  const mistakes = new Mistakes();
  const { settings } = takeApart(config, { origin: 'createMemoryService()', mistakes });
  const values: Record<string, unknown> = {};
  for (const key of SETTING_KEYS) {
    const { isOfCommand, isSecret, default: byDefault } = settingOf(key);
    if (isOfCommand === true) continue;
    const given = isSecret === true ? withoutBlanks(settings.get(key)) : settings.get(key);
    // A default may be a value that can't be set: the default base path is empty.
    values[key] =
      given === undefined || given === byDefault
        ? byDefault
        : mistakes.collect(() => parseSetting(key, given, { source: 'file', name: key }));
  }
  mistakes.throwIfAny();
  return nestSettings(values) as Settings;
}

/** Trims a secret; a blank one counts as absent, also within a list. */
function withoutBlanks(secret: unknown): unknown {
  if (Array.isArray(secret)) {
    const secrets = secret.map(withoutBlanks).filter((item) => item !== undefined);
    return secrets.length === 0 ? undefined : secrets;
  }
  if (typeof secret !== 'string') return secret;
  return secret.trim() === '' ? undefined : secret.trim();
}
