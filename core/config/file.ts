import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { ConfigError } from './error.ts';
import { nearest } from './nearest.ts';
import { SETTING_KEYS, type SettingKey } from './settings.ts';

/** A config file, read and taken apart, its values still unchecked. */
export interface ReadFile {
  /** Absolute. */
  path: string;
  /** `memory.config.ts`. */
  name: string;
  /** Where the names of plugins in it are looked up from. */
  directory: string;
  settings: ReadonlyMap<SettingKey, unknown>;
  /** What is no plain setting: imported factories, or factories by name. */
  parts: Readonly<Partial<Record<PartName, unknown>>>;
  warnings: readonly string[];
}

/** Members of a config file that hold code, or name it. */
export type PartName = 'storage' | 'model' | 'embedder' | 'plugins' | 'exporters';

const NAMES = ['ts', 'mjs', 'js', 'json'].map((extension) => `memory.config.${extension}`);
const PARTS: readonly PartName[] = ['storage', 'model', 'embedder', 'plugins', 'exporters'];

/**
 * Reads the config file: the one that was chosen, or the first `memory.config.*` in the directory;
 * `null` when there is none.
 */
export async function readConfigFile(
  cwd: string,
  chosen: { path: string; name: string } | null,
): Promise<ReadFile | null> {
  const found = NAMES.map((name) => join(cwd, name)).filter((path) => existsSync(path));
  const path = chosen === null ? found[0] : resolve(cwd, chosen.path);
  if (path === undefined) return null;
  if (chosen !== null && !existsSync(path)) {
    throw new ConfigError(null, `${chosen.name} names ${path}, and there is no such file.`);
  }
  const config = extname(path) === '.json' ? await readJson(path) : await runModule(path);
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new ConfigError(
      null,
      `${path} must hold one object: export default defineConfig({ … }).`,
    );
  }
  const warnings =
    chosen === null && found.length > 1
      ? [
          `${found
            .slice(1)
            .map((other) => basename(other))
            .join(', ')} is not read: ${basename(path)} comes first`,
        ]
      : [];
  const name = basename(path);
  return { path, name, directory: dirname(path), ...takeApart(config, name), warnings };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new ConfigError(null, `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function runModule(path: string): Promise<unknown> {
  // Late: most starts have no config file, and the loader of TypeScript is large.
  const { loadConfig } = await import('c12');
  try {
    const { config } = await loadConfig<Record<string, unknown>>({
      cwd: dirname(path),
      configFile: path,
      // The file itself and nothing else: no rc files, no layers, no downloads, no $production.
      rcFile: false,
      globalRc: false,
      packageJson: false,
      dotenv: false,
      extend: false,
      giget: false,
      envName: false,
      // Factories are kept as they are; merging would copy them.
      merger: (...sources) =>
        sources.find((source) => source !== null && source !== undefined) as Record<
          string,
          unknown
        >,
      // Natively where Node can: what the file imports from this package is then the very module
      // that runs, so that its errors are instances of the same class.
      jitiOptions: { tryNative: true, fsCache: false, moduleCache: true },
    });
    return config;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(null, `${path} failed: ${(error as Error).message}`, { cause: error });
  }
}

function takeApart(
  config: object,
  file: string,
): { settings: Map<SettingKey, unknown>; parts: Partial<Record<PartName, unknown>> } {
  const settings = new Map<SettingKey, unknown>();
  const parts: Partial<Record<PartName, unknown>> = {};
  for (const [name, value] of Object.entries(config)) {
    // JSON can't leave out; JavaScript says it with undefined.
    if (value === undefined || value === null) continue;
    const part = PARTS.find((known) => known === name);
    if (part !== undefined && !isGroupOfSettings(part, value)) parts[part] = value;
    else if (isKey(name)) settings.set(name, value);
    else if (SETTING_KEYS.some((key) => key.startsWith(`${name}.`))) {
      takeGroup(name, value, file, settings);
    } else throw unknownKey(name, file);
  }
  return { settings, parts };
}

/** `model: { provider, … }` is a group of settings; `model: openai({ … })` is a factory's product. */
function isGroupOfSettings(part: PartName, value: unknown): boolean {
  if (part !== 'model' && part !== 'embedder') return false;
  if (typeof value !== 'object' || value === null) return true;
  return !('plugin' in value || 'generate' in value || 'embed' in value);
}

function takeGroup(
  group: string,
  value: unknown,
  file: string,
  settings: Map<SettingKey, unknown>,
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const leaves = SETTING_KEYS.filter((key) => key.startsWith(`${group}.`));
    const names = leaves.map((key) => key.slice(group.length + 1)).join(', ');
    throw new ConfigError(group, `${group} in ${file} must be an object with ${names}.`);
  }
  for (const [name, leaf] of Object.entries(value)) {
    if (leaf === undefined || leaf === null) continue;
    const key = `${group}.${name}`;
    if (!isKey(key)) throw unknownKey(key, file);
    settings.set(key, leaf);
  }
}

function isKey(name: string): name is SettingKey {
  return (SETTING_KEYS as readonly string[]).includes(name);
}

function unknownKey(name: string, file: string): ConfigError {
  const meant = nearest(name, [...SETTING_KEYS, ...PARTS]);
  return new ConfigError(
    name,
    `${name} in ${file} is not known${meant === null ? '' : `; did you mean ${meant}?`}`,
  );
}
