import { importPlugin } from './factories.ts';
import { describeDatabase, type LoadedConfig, storageOfFile } from './index.ts';
import { maskUrl } from './option.ts';
import { SETTING_KEYS, flagOf, settingOf, type SettingKey } from './settings.ts';
import { type ShownConfiguration, type ShownSetting, showPart, showValue } from './shown.ts';

/**
 * The output of `--print-config`: each key in use with its value and origin, and the database with its
 * driver and file. Secrets are masked.
 */
export async function printConfig(loaded: LoadedConfig): Promise<string> {
  const { file, settings, warnings } = await describeConfig(loaded);
  const rows = settings.map(({ key, value, source, origin }) => [
    key,
    value ?? 'unset',
    origin === null ? source : `${source} ${origin}`,
  ]);
  const lines = alignColumns([['key', 'value', 'origin'], ...rows]);
  const where = file === null ? 'No config file.' : `Config file: ${file}`;
  return [...lines, '', where, ...warnings.map((warning) => `Warning: ${warning}`)].join('\n');
}

/** Each key in use with its value and origin, and the database with its driver and file. */
export async function describeConfig(loaded: LoadedConfig): Promise<ShownConfiguration> {
  const { file } = loaded;
  const storage = await showStorage(loaded);
  const parts = Object.entries(file?.parts ?? {}).filter(([part]) => isPartInUse(loaded, part));
  const replaced = new Set(parts.map(([part]) => part));
  const settings: ShownSetting[] = SETTING_KEYS.filter((key) => !replaced.has(partOf(key))).map(
    (key) => ({ key, value: showValue(key, loaded.values[key]), ...showOrigin(loaded, key) }),
  );
  if (!replaced.has('storage')) {
    settings.push({ key: 'storage', value: storage, ...showOrigin(loaded, 'databaseUrl') });
  }
  for (const [key, part] of parts) {
    const value = key === 'storage' ? storage : showPart(part);
    settings.push({ key, value, source: 'file', origin: file?.name ?? null });
  }
  const { http, https, except } = loaded.proxies;
  for (const [origin, proxy] of [
    ['HTTPS_PROXY', https],
    ['HTTP_PROXY', http],
  ] as const) {
    if (proxy === null) continue;
    settings.push({ key: 'proxy', value: maskUrl(proxy.href), source: 'environment', origin });
  }
  if (except.length > 0) {
    const value = except.join(', ');
    settings.push({ key: 'no proxy', value, source: 'environment', origin: 'NO_PROXY' });
  }
  const warnings = loaded.warnings.map((one) => `${one}${one.endsWith('?') ? '' : '.'}`);
  return { file: file?.path ?? null, settings, warnings };
}

/** The flags for `memory-service --help`, one per line. */
export function printFlags(): readonly string[] {
  const keys = SETTING_KEYS.filter((key) => settingOf(key).isSecret !== true);
  return alignColumns(
    keys.map((key) => {
      const { type } = settingOf(key).schema as { type?: string };
      const { default: byDefault, description } = settingOf(key);
      const isShown = byDefault !== null && byDefault !== '' && type !== 'boolean';
      const note = isShown ? ` Default ${String(byDefault)}.` : '';
      return [`  --${flagOf(key)}`, `${description}${note}`];
    }),
  );
}

function showOrigin(
  { origins, file }: LoadedConfig,
  key: SettingKey,
): Pick<ShownSetting, 'source' | 'origin'> {
  const { source, name } = origins[key];
  if (source === 'default') return { source, origin: null };
  return { source, origin: source === 'file' ? (file?.name ?? '') : name };
}

/** A stronger source than the config file replaces some of its parts. */
function isPartInUse(loaded: LoadedConfig, part: string): boolean {
  if (part === 'storage') return storageOfFile(loaded) !== undefined;
  if (part === 'model' || part === 'embedder') return loaded.values[`${part}.provider`] === null;
  return true;
}

/** The part of a config file that is used instead of the setting. */
function partOf(key: SettingKey): string {
  return key === 'databaseUrl' ? 'storage' : (key.split('.', 1)[0] ?? key);
}

async function showStorage(loaded: LoadedConfig): Promise<string> {
  const { name, filename, driver = await findDriver(name, loaded.cwd) } = describeDatabase(loaded);
  const driverName = typeof driver === 'string' ? driver : Object(driver).name;
  return [
    name,
    ...(typeof driverName === 'string' ? [`driver ${driverName}`] : []),
    ...(filename === null ? [] : [filename]),
  ].join(', ');
}

/** The packages of the databases that have no choice of them. */
const DRIVERS: Readonly<Record<string, string>> = { mysql: 'mysql2', postgres: 'pg' };

/** The driver that a database uses unless the configuration chooses one. */
async function findDriver(name: string, directory: string): Promise<string | undefined> {
  if (name !== 'sqlite') return DRIVERS[name];
  // Imported by name, like every plugin.
  const plugin = await importPlugin('storage-sqlite', { directory, origin: 'storage' });
  const { findSqliteDriver } = plugin as { findSqliteDriver: () => Promise<string | null> };
  return (await findSqliteDriver()) ?? 'not found';
}

/** Rows as aligned columns, a line each; the last column is not padded. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
