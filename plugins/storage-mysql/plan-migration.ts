import type { MigrationPlan } from '../../core/contracts/storage.ts';
import { translateMysqlError } from '../storage-knex/dialects/mysql.ts';
import { planMigration } from '../storage-knex/schema/migrate.ts';
import { Connections } from './connections.ts';
import type { MysqlSettings } from './options.ts';
import { readSchemaVersion } from './schema.ts';

/** Lists the steps that a start would run on the schema, and runs none of them. */
export async function planMysqlMigration(settings: MysqlSettings): Promise<MigrationPlan> {
  // Reads a single value, which no session setting affects.
  const connections = new Connections(settings, { limit: 1, setup: [] });
  try {
    return planMigration(await readSchemaVersion(connections));
  } catch (error) {
    throw translateMysqlError(error);
  } finally {
    await connections.close();
  }
}
