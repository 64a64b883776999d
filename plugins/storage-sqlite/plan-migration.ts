import { existsSync } from 'node:fs';
import type { MigrationPlan } from '../../core/contracts/storage.ts';
import { translateSqliteError } from '../storage-knex/dialects/sqlite.ts';
import { planMigration, SCHEMA_VERSION_KEY } from '../storage-knex/schema/migrate.ts';
import { loadSqliteModule } from './connection.ts';
import { resolveOnlyName } from './database-path.ts';
import type { SqliteSettings } from './options.ts';

/** What opening the file would do to its schema; nothing is made or changed. */
export async function planSqliteMigration({
  filename,
  driver,
}: Pick<SqliteSettings, 'filename' | 'driver'>): Promise<MigrationPlan> {
  if (filename === ':memory:') return planMigration(0);
  const path = await resolveOnlyName(filename);
  if (!existsSync(path)) return planMigration(0);
  const native = typeof driver === 'string' ? await loadSqliteModule(driver) : driver;
  try {
    const connection = await native.open(path, { busyTimeoutMs: 2_000 });
    try {
      await connection.exec('pragma query_only = on');
      const table = await connection.get("select 1 from sqlite_master where name = 'svc_meta'", []);
      if (table === null) return planMigration(0);
      const sql = 'select value from svc_meta where key = ?';
      const row = await connection.get(sql, [SCHEMA_VERSION_KEY]);
      return planMigration(row === null ? 0 : Number(row['value']));
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw translateSqliteError(error);
  }
}
