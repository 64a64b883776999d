import { existsSync } from 'node:fs';
import type { MigrationPlan, StorageExamination } from '../../core/contracts/storage.ts';
import { translateSqliteError } from './dialect.ts';
import { planMigration } from '../../core/storage/schema/migrate.ts';
import { loadSqliteModule } from './drivers/load.ts';
import type { SqliteConnection } from './connection.ts';
import { resolveOnlyName } from './database-path.ts';
import { readSchemaVersion } from './schema-version.ts';
import type { SqliteSettings } from './options.ts';

/** Lists the steps that opening the file would run on its schema, and runs none of them. */
export async function planSqliteMigration({
  filename,
  driver,
}: Pick<SqliteSettings, 'filename' | 'driver'>): Promise<MigrationPlan> {
  const version = await readFile({ filename, driver }, readSchemaVersion);
  return planMigration(version ?? 0);
}

/** Says which SQLite it is. The clock is that of this process. */
export async function examineSqlite(
  settings: Pick<SqliteSettings, 'filename' | 'driver'>,
): Promise<StorageExamination> {
  const version = await readFile(settings, async (connection) => {
    const [row] = await connection.all('select sqlite_version() as version', []);
    return String(row?.['version']);
  });
  return { version: version ?? 'no file yet', now: null };
}

/** Reads something of the file, and writes nothing; `null` if there is no file. */
async function readFile<T>(
  { filename, driver }: Pick<SqliteSettings, 'filename' | 'driver'>,
  read: (connection: SqliteConnection) => Promise<T>,
): Promise<T | null> {
  if (filename === ':memory:') return null;
  const path = await resolveOnlyName(filename);
  if (!existsSync(path)) return null;
  const native = await loadSqliteModule(driver);
  try {
    const connection = await native.open(path, { busyTimeoutMs: 2_000 });
    try {
      await connection.exec('pragma query_only = on');
      return await read(connection);
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw translateSqliteError(error);
  }
}
