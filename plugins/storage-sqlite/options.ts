import Type from 'typebox';
import type { OptionsOf, OptionTable, ReadOptions } from '../../core/plugin.ts';
import { SQLITE_DRIVERS, type SqliteDriver, type SqliteModule } from './connection.ts';

/** The options of the SQLite plugin. */
export const SQLITE_OPTIONS = {
  filename: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isRequired: true,
    description:
      'The database file, made with its directory when absent; `:memory:` for a temporary one.',
  },
  driver: {
    schema: Type.Unsafe<SqliteDriver | SqliteModule>(
      Type.Union([Type.Enum([...SQLITE_DRIVERS]), Type.Object({ open: Type.Any() })]),
    ),
    default: null,
    allowed: 'sqlite3, better-sqlite3 or node:sqlite',
    description:
      '`sqlite3`, `better-sqlite3` (which you install yourself) or `node:sqlite` (of Node 22.23 and newer). Unset: the first of them that can be used.',
  },
  readers: {
    schema: Type.Integer({ minimum: 1, maximum: 16 }),
    default: 4,
    description: 'Connections for reads.',
  },
  synchronous: {
    schema: Type.Enum(['full', 'normal']),
    default: 'full',
    description:
      '`full` survives a power loss; with `normal` the last writes before one may be gone.',
  },
  lockTimeoutMs: {
    schema: Type.Integer({ minimum: 0, maximum: 600_000 }),
    default: 2_000,
    description: "Milliseconds that a write waits for another process's lock.",
  },
  groupSize: {
    schema: Type.Integer({ minimum: 1, maximum: 1_000 }),
    default: 64,
    description: 'Writes that share one transaction at most.',
  },
} as const satisfies OptionTable;

/** The options of `sqlite()`; only `filename` is required. */
export type SqliteOptions = OptionsOf<typeof SQLITE_OPTIONS>;

/** The options with their defaults filled in. */
export type SqliteSettings = ReadOptions<typeof SQLITE_OPTIONS>;
