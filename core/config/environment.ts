import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { PROXY_VARIABLES } from '../network/proxy.ts';
import { ConfigError } from './error.ts';
import { refuseExported } from './exported-folder.ts';
import { nearest } from '../values/nearest.ts';
import { SETTING_KEYS, settingOf, type SettingKey } from './settings.ts';
import { readTextFile } from './text-file.ts';

/** Variables by name, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings from the environment or a `.env` file, still as text. */
interface EnvironmentSettings {
  settings: ReadonlyMap<SettingKey, string>;
  /** `SERVICE_CONFIG`. */
  config: string | null;
  /** The standard `OTEL_*` variables. */
  telemetry: Readonly<Record<string, string>>;
  /** The variables that name proxies, in both cases. */
  proxies: Readonly<Record<string, string>>;
  /** One sentence for each unknown `SERVICE_*` variable. */
  warnings: readonly string[];
}

const PREFIX = 'SERVICE_';
const PROXY_NAMES: ReadonlySet<string> = new Set(PROXY_VARIABLES);
const CONFIG = 'SERVICE_CONFIG';

/**
 * Picks the variables of the service. An empty variable counts as absent, because compose files and
 * shells pass unset ones that way.
 */
export function readEnvironment(environment: Environment): EnvironmentSettings {
  const keys = new Map(SETTING_KEYS.map((key) => [settingOf(key).env, key]));
  const settings = new Map<SettingKey, string>();
  const telemetry: Record<string, string> = {};
  const proxies: Record<string, string> = {};
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || value === '') continue;
    const key = keys.get(name);
    if (key !== undefined) settings.set(key, value);
    else if (name.startsWith('OTEL_')) telemetry[name] = value;
    else if (PROXY_NAMES.has(name.toUpperCase())) proxies[name] = value;
    else if (name.startsWith(PREFIX) && name !== CONFIG) {
      const meant = nearest(name, [...keys.keys(), CONFIG]);
      warnings.push(
        `${name} is not known and has no effect${meant === null ? '' : `; did you mean ${meant}?`}`,
      );
    }
  }
  return { settings, config: environment[CONFIG] || null, telemetry, proxies, warnings };
}

/**
 * The variables of `.env` in a directory; none without such a file. Refuses one in a folder that an
 * export made.
 */
export async function readDotEnv(directory: string): Promise<Environment> {
  const file = join(directory, '.env');
  let text: string;
  try {
    text = await readTextFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A directory named `.env` is a Python virtual environment.
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') return {};
    throw new ConfigError(null, `${file} cannot be read (${String(code)}).`, { cause: error });
  }
  refuseExported(file);
  return parseEnv(text) as Environment;
}
