import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resolveModulePath } from 'exsolve';
import type { Embedder } from '../contracts/embedder.ts';
import type { ModelProvider } from '../contracts/model-provider.ts';
import type { Plugin } from '../contracts/plugin.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import type { SqlDatabase } from '../storage/sql-database.ts';
import { findOwnPlugin } from '../host/default-plugins.ts';
import { ConfigError } from './error.ts';
import { refuseExported } from './exported-folder.ts';

/**
 * A factory by name, for JSON and the environment: one of this package's plugins (`storage-sqlite`,
 * or in full `memory-service/plugins/storage-sqlite`), a package, or a file (`./my-plugin.mjs`).
 * Its module has a default export, a single function, or a function of the same name.
 */
export interface NamedFactory {
  plugin: string;
  options?: unknown;
}

/** What a factory can create, and how to recognise it. */
export interface Products {
  storage: SqlDatabase;
  model: ModelProvider;
  verifier: ModelProvider;
  embedder: Embedder;
  plugin: Plugin;
  exporter: TraceExporter;
}

const MARKS: { [K in keyof Products]: { member: string; noun: string } } = {
  storage: { member: 'describe', noun: 'a database' },
  model: { member: 'generate', noun: 'a model provider' },
  verifier: { member: 'generate', noun: 'a model provider' },
  embedder: { member: 'embed', noun: 'an embedder' },
  plugin: { member: 'setup', noun: 'a plugin' },
  exporter: { member: 'export', noun: 'a trace exporter' },
};

const OWN_PREFIX = 'memory-service/plugins/';

/** Where to look up a name, and how messages call the place that it came from. */
export interface Lookup {
  directory: string;
  origin: string;
}

/**
 * Returns the product of an imported factory as it is, or imports a factory by name and calls it.
 * Throws a `ConfigError`.
 */
export async function produce<K extends keyof Products>(
  kind: K,
  given: unknown,
  lookup: Lookup,
): Promise<Products[K]> {
  const named = toNamedFactory(given);
  const product: unknown =
    named === null
      ? given
      : await callFactory(named, await importPlugin(named.plugin, lookup), lookup);
  const { member, noun } = MARKS[kind];
  if (typeof product === 'object' && product !== null && member in product) {
    return product as Products[K];
  }
  const subject = named === null ? 'what is given' : `what ${named.plugin} makes`;
  throw new ConfigError(kind, `${lookup.origin} must be ${noun}, and ${subject} is none.`);
}

/** Imports a plugin by name. Throws a `ConfigError` if it can't be imported. */
export async function importPlugin(
  name: string,
  lookup: Lookup,
): Promise<Readonly<Record<string, unknown>>> {
  const url = findPlugin(name, lookup.directory);
  if (url === null) {
    throw new ConfigError(
      null,
      `${lookup.origin} names the plugin ${name}, and there is none: give a plugin of memory-service, an installed package, or a file as in ./my-plugin.mjs.`,
    );
  }
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (error) {
    const missing = /Cannot find package '([^']+)'/.exec((error as Error).message)?.[1];
    throw new ConfigError(
      null,
      missing === undefined
        ? `${lookup.origin} names the plugin ${name}, and it cannot be loaded: ${(error as Error).message}`
        : `The plugin ${name} needs the package ${missing}: npm install ${missing}`,
      { cause: error },
    );
  }
}

function toNamedFactory(given: unknown): NamedFactory | null {
  if (typeof given === 'string') return { plugin: given };
  if (typeof given !== 'object' || given === null || !('plugin' in given)) return null;
  return typeof given.plugin === 'string' ? (given as NamedFactory) : null;
}

function findPlugin(name: string, directory: string): string | null {
  const own = name.startsWith(OWN_PREFIX) ? name.slice(OWN_PREFIX.length) : name;
  const ownUrl = findOwnPlugin(own);
  if (ownUrl !== null) return ownUrl;
  if (name.startsWith('./') || name.startsWith('../') || isAbsolute(name)) {
    const path = resolve(directory, name);
    return existsSync(path) ? toCodeUrl(path) : null;
  }
  const from = pathToFileURL(resolve(directory, 'package.json'));
  const path = resolveModulePath(name, { from, try: true, conditions: ['node', 'import'] });
  return path === undefined ? null : toCodeUrl(path);
}

function toCodeUrl(path: string): string {
  refuseExported(path);
  return pathToFileURL(path).href;
}

async function callFactory(
  { plugin, options }: NamedFactory,
  module: Readonly<Record<string, unknown>>,
  { origin }: Lookup,
): Promise<unknown> {
  const factory = findFactory(plugin, module);
  if (factory === null) {
    throw new ConfigError(
      null,
      `The plugin ${plugin} exports no factory: a default export is one.`,
    );
  }
  try {
    return await (factory as (options?: unknown) => unknown)(options);
  } catch (error) {
    throw new ConfigError(null, `${origin}: ${plugin} refuses: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function findFactory(name: string, module: Readonly<Record<string, unknown>>): unknown {
  if (typeof module['default'] === 'function') return module['default'];
  // storage-sqlite exports sqlite, model-openai exports openai, dreaming exports dreaming.
  const base = (name.split('/').at(-1) ?? name).replace(/\.[a-z]+$/, '');
  const candidates = [base, base.slice(base.indexOf('-') + 1)].map(toCamelCase);
  const named = candidates
    .map((candidate) => module[candidate])
    .find((it) => typeof it === 'function');
  if (named !== undefined) return named;
  const functions = Object.values(module).filter((it) => typeof it === 'function');
  return functions.length === 1 ? functions[0] : null;
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
