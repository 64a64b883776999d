import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from './contracts/plugin.ts';

/** Plugins that every service has: those that add routes of the contract, and work only when asked. */
export const DEFAULT_PLUGINS: readonly string[] = ['mcp', 'dreaming'];

/**
 * The plugins of a service: those that are given, then the default ones that are not among them.
 * They are loaded by their place in the package; where that has none of them (in a bundle), the
 * service is without.
 */
export async function withDefaultPlugins(given: readonly Plugin[]): Promise<readonly Plugin[]> {
  const plugins = [...given];
  for (const name of DEFAULT_PLUGINS) {
    // Beside this very file: in the sources, in dist, and wherever the package is installed.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const url = new URL(`../plugins/${name}/index.${extension}`, import.meta.url);
    if (plugins.some((plugin) => plugin.name === name) || !existsSync(fileURLToPath(url))) continue;
    const module = (await import(url.href)) as Record<string, () => Plugin>;
    const factory = module[name];
    if (factory !== undefined) plugins.push(factory());
  }
  return plugins;
}
