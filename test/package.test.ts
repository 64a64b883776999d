import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { DEFAULT_PLUGINS } from '../core/host/default-plugins.ts';
import type { Manifest } from './support/packed-package.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

interface LockedPackage {
  version?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  /** Needed for development, and by what is optional. */
  devOptional?: boolean;
  hasInstallScript?: boolean;
  optionalDependencies?: Record<string, string>;
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const manifest = read('package.json') as {
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  exports: Manifest['exports'];
  allowScripts: Record<string, boolean>;
};
const locked = (read('package-lock.json') as { packages: Record<string, LockedPackage> }).packages;

it.each(DEFAULT_PLUGINS)('the plugin %s is exported, and so it is in the build', (name) => {
  expect(Object.keys(manifest.exports)).toContain(`./plugins/${name}`);
});

it('the lock file names no registry', () => {
  for (const [name, { resolved }] of Object.entries(locked))
    expect([name, resolved]).toEqual([name, undefined]);
});

it('the lock file holds the optional packages of every platform, so that npm ci takes it anywhere', () => {
  const names = new Set(Object.keys(locked).map((path) => path.split('node_modules/').at(-1)));
  for (const { optionalDependencies = {} } of Object.values(locked)) {
    for (const name of Object.keys(optionalDependencies)) expect(names).toContain(name);
  }
});

it('each dependency has its purpose in the docs, and nothing else has', () => {
  const page = readFileSync(join(ROOT, 'docs/decisions/dependencies.md'), 'utf8');
  const named = [...page.matchAll(/^\| `([^`]+)` +\| (optional)?/gm)];
  const namesOf = (isOptional: boolean) =>
    named.filter(([, , word]) => (word !== undefined) === isOptional).map(([, name]) => name);
  expect(namesOf(false).sort()).toEqual(Object.keys(manifest.dependencies).sort());
  expect(namesOf(true).sort()).toEqual(Object.keys(manifest.optionalDependencies).sort());
});

it('at most 120 packages are installed with --omit=optional, this one included', () => {
  const needed = Object.values(locked).filter(
    ({ dev, optional, devOptional }) => !(dev ?? optional ?? devOptional ?? false),
  );
  expect(needed.length).toBeGreaterThan(Object.keys(manifest.dependencies).length);
  expect(needed.length).toBeLessThanOrEqual(120);
});

it('install scripts run for the SQLite drivers alone', () => {
  const scripted = Object.entries(locked)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.split('node_modules/').at(-1));
  // fsevents exists on macOS alone, and its script does nothing.
  const allowed = [...Object.keys(manifest.allowScripts), 'fsevents'];
  expect(allowed).toEqual(expect.arrayContaining(scripted));
  // Those of the console's build are refused by name: it works without them.
  const run = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed);
  expect(run.map(([name]) => name).sort()).toEqual(['better-sqlite3', 'sqlite3']);
});

it.each([
  ['koa', '3.1.2'],
  ['path-to-regexp', '8.4.0'],
  ['mysql2', '3.9.8'],
])('%s is at least %s, the first without its known holes', (name, least) => {
  const [major = 0, minor = 0, patch = 0] = versionOf(name).split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0, leastPatch = 0] = least.split('.').map(Number);
  const distance = (major - leastMajor) * 1e6 + (minor - leastMinor) * 1e3 + (patch - leastPatch);
  expect(distance).toBeGreaterThanOrEqual(0);
});

it('every entry of exports is built, with its types, and can be imported by name', async () => {
  for (const [entry, target] of Object.entries(manifest.exports)) {
    const { require = {}, ...paths } = typeof target === 'string' ? { file: target } : target;
    const files = [...Object.values(paths), ...Object.values(require)];
    for (const file of files) expect([entry, existsSync(join(ROOT, file))]).toEqual([entry, true]);
    if (typeof target === 'string') continue;
    const module = (await import(/* @vite-ignore */ `memory-service${entry.slice(1)}`)) as object;
    expect(Object.keys(module).length).toBeGreaterThan(0);
    expect(Object.keys(module)).not.toContain('default');
  }
});

function versionOf(name: string): string {
  return locked[`node_modules/${name}`]?.version ?? '0.0.0';
}
