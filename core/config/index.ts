import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readDotEnv, readEnvironment, type Environment } from './environment.ts';
import { ConfigError, Mistakes } from './error.ts';
import { produce, type Lookup, type NamedFactory, type Products } from './factories.ts';
import { readConfigFile, type ReadFile } from './file.ts';
import { readFlags } from './flags.ts';
import { parseSetting, type Origin } from './parse.ts';
import {
  SETTING_KEYS,
  settingOf,
  flagOf,
  nestSettings,
  type NestedSettings,
  type ServiceSettings,
  type SettingGroup,
  type SettingKey,
  type SettingValues,
} from './settings.ts';
import type { MemoryServiceConfig } from './service.ts';
import type { Embedder } from '../contracts/embedder.ts';
import type { ModelProvider } from '../contracts/model-provider.ts';
import type { Plugin } from '../contracts/plugin.ts';
import type { SqlDatabase } from '../storage/sql-database.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { CALL_DEADLINE_MS, LONGEST_STEP_MS } from '../time/deadline.ts';
import { DEFAULT_PLUGINS, findOwnPlugin } from '../host/default-plugins.ts';
import { type Proxies, readProxies, useProxies } from '../network/proxy.ts';

export { ConfigError } from './error.ts';
export type { NamedFactory } from './factories.ts';
export type { Origin } from './parse.ts';
export type { SettingKey, SettingValues } from './settings.ts';

/**
 * The content of a config file. Factories are imported (`storage: sqlite({ filename })`) or, as in
 * JSON, named (`storage: { plugin: 'storage-sqlite', options: { filename } }`).
 */
export interface ConfigFile extends Omit<NestedSettings, 'model' | 'embedder'> {
  storage?: SqlDatabase | NamedFactory;
  model?: ModelProvider | NamedFactory | SettingGroup<'model'>;
  embedder?: Embedder | NamedFactory | SettingGroup<'embedder'>;
  exporters?: readonly (TraceExporter | NamedFactory | string)[];
  plugins?: readonly (Plugin | NamedFactory | string)[];
}

/**
 * Types a config file, and returns it as it is.
 *
 * @example
 * // memory.config.ts
 * import { defineConfig } from 'memory-service/config';
 * import { sqlite } from 'memory-service/plugins/storage-sqlite';
 *
 * export default defineConfig({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   limits: { maxFilesPerUser: 1_000 },
 * });
 */
export function defineConfig(config: ConfigFile): ConfigFile {
  return config;
}

/** The settings in effect, each with its origin. No plugin is imported yet. */
export interface LoadedConfig {
  values: SettingValues;
  origins: Readonly<Record<SettingKey, Origin>>;
  file: ReadFile | null;
  /** The standard `OTEL_*` variables. */
  telemetry: Readonly<Record<string, string>>;
  /** Of the environment or `.env`. */
  proxies: Proxies;
  /** Sentences for the log. */
  warnings: readonly string[];
  /** The directory that relative paths start from. */
  cwd: string;
}

/**
 * Reads the configuration: default < file < `.env` < environment < flag. Throws a `ConfigError`
 * with one message that names the key, the problem and what is allowed.
 */
export async function loadConfig(options: {
  argv: readonly string[];
  env: Environment;
  cwd: string;
}): Promise<LoadedConfig> {
  const { cwd } = options;
  const mistakes = new Mistakes();
  const flags = readFlags(options.argv, mistakes);
  const environment = readEnvironment(options.env);
  const dotEnv = readEnvironment(await readDotEnv(cwd));
  const chosen = chooseFile(flags.config, environment.config, dotEnv.config);
  const file = await readConfigFile(cwd, { chosen, mistakes });

  // Strongest source first: the first one that has a key is used and checked.
  const sources: {
    source: Origin['source'];
    settings: ReadonlyMap<SettingKey, unknown>;
    name(key: SettingKey): string;
  }[] = [
    { source: 'flag', settings: flags.settings, name: (key) => `--${flagOf(key)}` },
    { source: 'environment', settings: environment.settings, name: (key) => settingOf(key).env },
    { source: '.env', settings: dotEnv.settings, name: (key) => settingOf(key).env },
    {
      source: 'file',
      settings: file?.settings ?? new Map<SettingKey, unknown>(),
      name: (key) => `${key} in ${file?.name ?? ''}`,
    },
  ];
  const values: Partial<Record<SettingKey, unknown>> = {};
  const origins: Partial<Record<SettingKey, Origin>> = {};
  for (const key of SETTING_KEYS) {
    const found = sources.find(({ settings }) => settings.has(key));
    const origin: Origin =
      found === undefined
        ? { source: 'default', name: '' }
        : { source: found.source, name: found.name(key) };
    origins[key] = origin;
    values[key] =
      found === undefined
        ? settingOf(key).default
        : mistakes.collect(() => parseSetting(key, found.settings.get(key), origin));
  }
  mistakes.throwIfAny();
  const { proxies, warnings: proxyWarnings } = readProxies({
    ...dotEnv.proxies,
    ...environment.proxies,
  });

  const loaded = {
    values: values as SettingValues,
    origins: origins as Record<SettingKey, Origin>,
    file,
    telemetry: { ...dotEnv.telemetry, ...environment.telemetry },
    proxies,
    cwd,
  };
  const warnings = [
    ...environment.warnings,
    ...dotEnv.warnings.map((warning) => `${warning} (in .env)`),
    ...(file?.warnings ?? []),
    ...proxyWarnings,
    ...findContradictions(loaded),
  ];
  return { ...loaded, warnings };
}

/** What the command has to know about the database. */
export interface Database {
  /** `sqlite`, `mysql`, `postgres`, or a third party's name. */
  name: string;
  /** Whether it runs within the service's process, so that nobody reaches it over a network. */
  isEmbedded: boolean;
  /** Absolute; `null` for a database that isn't a file, or isn't known to be one. */
  filename: string | null;
  /** The native SQLite module, if the configuration chooses one. */
  driver?: unknown;
}

/**
 * A configuration with its plugins imported: the argument of `createMemoryService`, without the
 * log.
 */
export interface OpenedConfig {
  service: MemoryServiceConfig;
  database: Database;
  /** Sentences for the log. */
  warnings: readonly string[];
}

/** Imports and creates the plugins of a configuration. Throws a `ConfigError`. */
export async function openConfig(loaded: LoadedConfig): Promise<OpenedConfig> {
  const { values, file } = loaded;
  const parts = file?.parts ?? {};
  useProxies(loaded.proxies);
  const { storage, database } = await openStorage(loaded);
  const plugins: Plugin[] = [];
  for (const [index, given] of listOf(parts.plugins, 'plugins', file).entries()) {
    plugins.push(await produce('plugin', given, toLookup(loaded, `plugins[${index}]`)));
  }
  // The configuration may contain one of them with its own options.
  for (const own of DEFAULT_PLUGINS) {
    if (findOwnPlugin(own) === null || plugins.some(({ name }) => name === own)) continue;
    plugins.push(await produce('plugin', own, toLookup(loaded, 'plugins')));
  }
  const exporters = await openExporters(loaded);
  const warnings: string[] = [];
  const telemetry = await openTelemetryExporter(loaded, warnings);
  if (telemetry !== null) exporters.push(telemetry);

  const service: MemoryServiceConfig = {
    ...(nestSettings(pickServiceSettings(values)) as ServiceSettings),
    storage,
    model: await openProvider(loaded, 'model'),
    verifier: await openVerifier(loaded),
    embedder: await openProvider(loaded, 'embedder'),
    exporters,
    plugins,
    allowedHosts: values.allowedHosts ?? defaultHosts(values.host),
    docsPath: findDocs(loaded),
  };
  return { service, database, warnings };
}

/**
 * Describes the database before anything is imported, so that secrets and file locations can be
 * decided.
 */
export function describeDatabase(loaded: LoadedConfig): Database {
  const given = storageOfFile(loaded);
  if (given === undefined) return fromUrl(loaded.values.databaseUrl, loaded.cwd);
  const { plugin, name, options, limits, ...storage } = given as {
    plugin?: unknown;
    name?: unknown;
    options?: { filename?: unknown; driver?: unknown };
    limits?: Partial<SqlDatabase['limits']>;
    filename?: unknown;
    driver?: unknown;
  };
  const named = typeof plugin === 'string' ? plugin.replace(/^.*storage-/, '') : name;
  const { filename: path, driver } = typeof plugin === 'string' ? (options ?? {}) : storage;
  return {
    name: typeof named === 'string' ? named : 'unknown',
    isEmbedded: named === EMBEDDED || limits?.writers === 'one',
    filename: typeof path === 'string' && path !== ':memory:' ? resolve(loaded.cwd, path) : null,
    ...(driver === undefined || named !== EMBEDDED ? {} : { driver }),
  };
}

function chooseFile(
  flag: string | null,
  environment: string | null,
  dotEnv: string | null,
): { path: string; name: string } | null {
  if (flag !== null) return { path: flag, name: '--config' };
  const path = environment ?? dotEnv;
  return path === null ? null : { path, name: 'SERVICE_CONFIG' };
}

function findContradictions({
  values,
  origins,
  file,
}: Pick<LoadedConfig, 'values' | 'origins' | 'file'>): string[] {
  if (file?.parts.storage !== undefined && origins.databaseUrl.source === 'file') {
    throw new ConfigError('storage', `${file.name} gives storage and databaseUrl: leave one out.`);
  }
  const warnings: string[] = [];
  for (const group of ['model', 'embedder'] as const) {
    const key = `${group}.provider` as const;
    const lost = SETTING_KEYS.find(
      (other) => other.startsWith(`${group}.`) && origins[other].source !== 'default',
    );
    if (values[key] === null && lost !== undefined && file?.parts[group] === undefined) {
      warnings.push(`${origins[lost].name} has no effect without ${settingOf(key).env}`);
    }
  }
  if (values['limits.maxBodyBytes'] < values['limits.maxFileBytes']) {
    warnings.push('SERVICE_MAX_BODY_BYTES is less than SERVICE_MAX_FILE_BYTES: it is the limit');
  }
  const embedTimeoutMs = values['search.embedTimeoutMs'];
  if (embedTimeoutMs > LONGEST_STEP_MS) {
    warnings.push(
      `${origins['search.embedTimeoutMs'].name} is ${embedTimeoutMs} and counts as ${LONGEST_STEP_MS}: a call ends after ${CALL_DEADLINE_MS}`,
    );
  }
  return warnings;
}

/** The config file's storage, unless a stronger source names a database. */
export function storageOfFile({ file, origins }: LoadedConfig): unknown {
  const { source } = origins.databaseUrl;
  return source === 'default' || source === 'file' ? file?.parts.storage : undefined;
}

/** Imports and creates the storage, without opening it. Throws a `ConfigError`. */
export async function openStorage(
  loaded: LoadedConfig,
): Promise<{ storage: SqlDatabase; database: Database }> {
  const { values, origins, cwd } = loaded;
  const database = describeDatabase(loaded);
  const given = storageOfFile(loaded);
  if (given !== undefined) {
    const storage = await produce('storage', given, toLookup(loaded, 'storage'));
    return { storage, database: { ...database, name: storage.name } };
  }
  const origin = origins.databaseUrl.name || settingOf('databaseUrl').env;
  const plugin = `storage-${database.name}`;
  if (findOwnPlugin(plugin) === null) {
    throw new ConfigError(
      'databaseUrl',
      `${origin} names a ${database.name}:// database, and its driver comes with a later version of memory-service: use sqlite:<file>.`,
    );
  }
  const options = database.isEmbedded
    ? { filename: database.filename ?? ':memory:' }
    : { url: values.databaseUrl };
  const storage = await produce('storage', { plugin, options }, { directory: cwd, origin });
  return { storage, database };
}

/** The database of this package that needs no server, by its name in URLs and plugins. */
const EMBEDDED = 'sqlite';

function fromUrl(url: string, cwd: string): Database {
  const scheme = url.slice(0, url.indexOf(':'));
  const name = scheme === 'postgresql' ? 'postgres' : scheme;
  if (name !== EMBEDDED) return { name, isEmbedded: false, filename: null };
  // sqlite:file, also with the slashes that people add: sqlite://file, sqlite:///file.
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?!\/\/)/, '');
  return { name, isEmbedded: true, filename: path === ':memory:' ? null : resolve(cwd, path) };
}

/** Imports and creates a provider; `null` if none is configured. Throws a `ConfigError`. */
export async function openProvider<K extends 'model' | 'embedder'>(
  loaded: LoadedConfig,
  kind: K,
): Promise<Products[K] | null> {
  const { values, origins, file } = loaded;
  const provider: string | null = values[`${kind}.provider`];
  if (provider === null) {
    const given = file?.parts[kind];
    return given === undefined ? null : produce(kind, given, toLookup(loaded, kind));
  }
  const { [kind]: group } = nestSettings(values) as Required<NestedSettings>;
  const options = Object.fromEntries(
    Object.entries(group ?? {}).filter(([name, value]) => name !== 'provider' && value !== null),
  );
  const own = `${kind}-${provider}`;
  const plugin = findOwnPlugin(own) === null ? provider : own;
  const lookup = { ...toLookup(loaded, kind), origin: origins[`${kind}.provider`].name };
  return produce(kind, { plugin, options }, lookup);
}

/** The model provider with another model, or the verifier of the config file; `null` if the model verifies its own edits. */
export async function openVerifier(loaded: LoadedConfig): Promise<ModelProvider | null> {
  const { values, file } = loaded;
  const given = file?.parts.verifier;
  if (given !== undefined) return produce('verifier', given, toLookup(loaded, 'verifier'));
  const name = values['verifier.name'];
  if (name === null || values['model.provider'] === null) return null;
  return openProvider({ ...loaded, values: { ...values, 'model.name': name } }, 'model');
}

/** The exporters of the config file. Throws a `ConfigError`. */
export async function openExporters(loaded: LoadedConfig): Promise<TraceExporter[]> {
  const { file } = loaded;
  const exporters: TraceExporter[] = [];
  for (const [index, given] of listOf(file?.parts.exporters, 'exporters', file).entries()) {
    exporters.push(await produce('exporter', given, toLookup(loaded, `exporters[${index}]`)));
  }
  return exporters;
}

/** The exporter that the standard variables name; `null` for none, with a warning for a wrong one. */
export async function openTelemetryExporter(
  { telemetry, cwd }: LoadedConfig,
  warnings: string[],
): Promise<TraceExporter | null> {
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const origin = names.find((name) => telemetry[name] !== undefined);
  if (origin === undefined || telemetry['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return null;
  const wanted = telemetry['OTEL_TRACES_EXPORTER']?.split(',').map((name) => name.trim());
  if (wanted !== undefined && !wanted.includes('otlp')) return null;
  const options = { environment: telemetry };
  try {
    return await produce(
      'exporter',
      { plugin: 'exporter-otlp', options },
      { directory: cwd, origin },
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // These variables are often set for all processes of a machine, so they don't prevent the
    // start.
    warnings.push(`${error.message} Traces are kept here alone.`);
    return null;
  }
}

/**
 * The loopback names, and the configured host if it is one name or address. Prevents DNS rebinding.
 */
function defaultHosts(host: string): readonly string[] {
  const isEveryAddress = ['0.0.0.0', '::', '[::]', '::ffff:0.0.0.0', '0', ''].includes(host);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(isEveryAddress ? [] : [host])])];
}

function findDocs({ values, origins, cwd }: LoadedConfig): string | null {
  if (values.docsPath === null) return null;
  const path = resolve(cwd, values.docsPath);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  const { name } = origins.docsPath;
  throw new ConfigError('docsPath', `${name} must be a directory: ${path} is not one.`);
}

function pickServiceSettings(values: SettingValues): Partial<SettingValues> {
  const keys = SETTING_KEYS.filter((key) => settingOf(key).isOfCommand !== true);
  return Object.fromEntries(keys.map((key) => [key, values[key]]));
}

/** Where a part of the config file is looked up. */
function toLookup({ file, cwd }: LoadedConfig, part: string): Lookup {
  return { directory: file?.directory ?? cwd, origin: `${part} in ${file?.name ?? ''}` };
}

function listOf(given: unknown, part: string, file: ReadFile | null): readonly unknown[] {
  if (given === undefined) return [];
  if (Array.isArray(given)) return given;
  throw new ConfigError(part, `${part} in ${file?.name ?? ''} must be a list.`);
}
