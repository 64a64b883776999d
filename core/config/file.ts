import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { ConfigError, type Mistakes } from './error.ts';
import { takeApart, type TakenApart } from './take-apart.ts';

/** A config file, read and taken apart, its values still unchecked. */
export interface ReadFile extends TakenApart {
  /** Absolute. */
  path: string;
  /** `memory.config.ts`. */
  name: string;
  /** Where the names of plugins in it are looked up from. */
  directory: string;
  warnings: readonly string[];
}

const NAMES = ['ts', 'mjs', 'js', 'json'].map((extension) => `memory.config.${extension}`);

/**
 * Reads the config file: the one that was chosen, or the first `memory.config.*` in the directory;
 * `null` when there is none.
 */
export async function readConfigFile(
  cwd: string,
  { chosen, mistakes }: { chosen: { path: string; name: string } | null; mistakes: Mistakes },
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
  return {
    path,
    name,
    directory: dirname(path),
    ...takeApart(config, { origin: name, mistakes }),
    warnings,
  };
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
