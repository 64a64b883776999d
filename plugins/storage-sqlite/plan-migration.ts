import { existsSync } from 'node:fs';
import type { MigrationPlan } from '../../core/contracts/storage.ts';
import { translateSqliteError } from '../storage-knex/dialects/sqlite.ts';
import { planMigration } from '../storage-knex/schema/migrate.ts';
import { loadSqliteModule } from './drivers/load.ts';
import { resolveOnlyName } from './database-path.ts';
import { readSchemaVersion } from './sqlite-database.ts';
import type { SqliteSettings } from './options.ts';

/** Lists the steps that opening the file would run on its schema, and runs none of them. */
export async function planSqliteMigration({
  filename,
  driver,
}: Pick<SqliteSettings, 'filename' | 'driver'>): Promise<MigrationPlan> {
  if (filename === ':memory:') return planMigration(0);
  const path = await resolveOnlyName(filename);
  if (!existsSync(path)) return planMigration(0);
  const native = await loadSqliteModule(driver);
  try {
    const connection = await native.open(path, { busyTimeoutMs: 2_000 });
    try {
      await connection.exec('pragma query_only = on');
      return planMigration(await readSchemaVersion(connection));
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw translateSqliteError(error);
  }
}
