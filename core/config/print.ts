import type { LoadedConfig } from './index.ts';
import { maskUrl } from './option.ts';
import { SETTING_KEYS, flagOf, settingOf, type SettingKey } from './settings.ts';

/** The output of `--print-config`: each key with its value and origin. Secrets are masked. */
export function printConfig(loaded: LoadedConfig): string {
  const rows = SETTING_KEYS.map((key) => [key, showValue(loaded, key), showOrigin(loaded, key)]);
  const { file } = loaded;
  for (const [part, value] of Object.entries(file?.parts ?? {})) {
    rows.push([part, showPart(value), `file ${file?.name ?? ''}`]);
  }
  const lines = alignColumns([['key', 'value', 'origin'], ...rows]);
  const where = file === null ? 'No config file.' : `Config file: ${file.path}`;
  const warnings = loaded.warnings.map(
    (warning) => `Warning: ${warning}${warning.endsWith('?') ? '' : '.'}`,
  );
  return [...lines, '', where, ...warnings].join('\n');
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

function showValue({ values }: LoadedConfig, key: SettingKey): string {
  const value: unknown = values[key];
  if (value === null || value === '') return 'unset';
  if (settingOf(key).isSecret === true) {
    return Array.isArray(value) && value.length > 1 ? `******** (${value.length})` : '********';
  }
  if (Array.isArray(value)) return value.join(', ');
  return maskUrl(String(value));
}

function showOrigin({ origins, file }: LoadedConfig, key: SettingKey): string {
  const { source, name } = origins[key];
  if (source === 'default') return 'default';
  return `${source} ${source === 'file' ? (file?.name ?? '') : name}`;
}

/** Prints only names, because options may contain secrets. */
function showPart(value: unknown): string {
  if (Array.isArray(value)) return value.map(showPart).join(', ') || 'none';
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return typeof value;
  if ('plugin' in value) return String(value.plugin);
  return 'name' in value ? String(value.name) : 'an object';
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
