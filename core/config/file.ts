import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { ConfigError, type Mistakes } from './error.ts';
import { refuseExported } from './exported-folder.ts';
import { takeApart, type TakenApart } from './take-apart.ts';
import { readTextFile } from './text-file.ts';

/** The config file, split into settings and parts whose values are not checked yet. */
export interface ReadFile extends TakenApart {
  /** The absolute path. */
  path: string;
  /** For example `memory.config.ts`. */
  name: string;
  /** Names of plugins are resolved from here. */
  directory: string;
  warnings: readonly string[];
}

const NAMES = ['ts', 'mjs', 'js', 'json'].map((extension) => `memory.config.${extension}`);

/**
 * Reads the chosen config file, or the first `memory.config.*` in the directory; `null` if there is
 * none. Refuses one in a folder that an export made.
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
  refuseExported(path);
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
    return parseForeignJson(await readTextFile(path));
  } catch (error) {
    // The parser of JSON names the place.
    const { message, cause } = error as Error;
    const why = cause instanceof SyntaxError ? cause.message : message;
    throw new ConfigError(null, `${path} cannot be read: ${why}`, {
      cause: error,
    });
  }
}

async function runModule(path: string): Promise<unknown> {
  // Imported late: most starts have no config file, and this TypeScript loader is large.
  const { loadConfig } = await import('c12');
  try {
    const { config } = await loadConfig<Record<string, unknown>>({
      cwd: dirname(path),
      configFile: path,
      // Only this file: no rc files, layers, downloads or $production.
      rcFile: false,
      globalRc: false,
      packageJson: false,
      dotenv: false,
      extend: false,
      giget: false,
      envName: false,
      // Keeps factories as they are; merging would copy them.
      merger: (...sources) =>
        sources.find((source) => source !== null && source !== undefined) as Record<
          string,
          unknown
        >,
      // Uses Node's own loader where possible, so that imports from this package give the running
      // modules and their errors are instances of the same class.
      jitiOptions: { tryNative: true, fsCache: false, moduleCache: true },
    });
    return config;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(null, `${path} failed: ${(error as Error).message}`, { cause: error });
  }
}
