import type { MigrationPlan } from '../../core/contracts/storage.ts';
import { translateMysqlError } from '../storage-knex/dialects/mysql.ts';
import { planMigration } from '../storage-knex/schema/migrate.ts';
import { Connections } from './connections.ts';
import type { MysqlSettings } from './options.ts';
import { readSchemaVersion } from './schema.ts';

/** What a start would do to the schema of the database; it is asked once, and nothing is changed. */
export async function planMysqlMigration(settings: MysqlSettings): Promise<MigrationPlan> {
  // One value is read, whatever the session's settings are.
  const connections = new Connections(settings, { limit: 1, setup: [] });
  try {
    return planMigration(await readSchemaVersion(connections));
  } catch (error) {
    throw translateMysqlError(error);
  } finally {
    await connections.close();
  }
}
