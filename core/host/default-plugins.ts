import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from '../contracts/plugin.ts';

/** Plugins that every service has: those that add routes of the contract, and work only when asked. */
export const DEFAULT_PLUGINS: readonly string[] = ['mcp', 'dreaming', 'memory-stores'];

/**
 * The URL of a plugin of this package; `null` where there is none of that name, as in a bundle.
 *
 * Relative to this file, which works in the sources, in dist and in an installed package. Importing
 * by the package's name would load a second copy of every module from dist.
 */
export function findOwnPlugin(name: string): string | null {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) return null;
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const url = new URL(`../../plugins/${name}/index.${extension}`, import.meta.url);
  return existsSync(fileURLToPath(url)) ? url.href : null;
}

/** The plugins of a service: those that are given, then the default ones that are not among them. */
export async function withDefaultPlugins(given: readonly Plugin[]): Promise<readonly Plugin[]> {
  const plugins = [...given];
  for (const name of DEFAULT_PLUGINS) {
    const url = findOwnPlugin(name);
    if (url === null || plugins.some((plugin) => plugin.name === name)) continue;
    const module = (await import(url)) as Record<string, () => Plugin>;
    const factory = module[name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
    if (factory !== undefined) plugins.push(factory());
  }
  return plugins;
}
