import type { MigrationPlan, StorageExamination } from '../../core/contracts/storage.ts';
import { MYSQL_DIALECT, translateMysqlError } from './dialect.ts';
import { planMigration } from '../../core/storage/schema/migrate.ts';
import { Connections } from './connections.ts';
import type { MysqlSettings } from './options.ts';
import { readSchemaVersion } from './schema.ts';
import { assertSupportedServer } from './server.ts';
import { toText } from '../../core/storage/schema/rows.ts';

/** Lists the steps that a start would run on the schema, and runs none of them. */
export async function planMysqlMigration(settings: MysqlSettings): Promise<MigrationPlan> {
  return await read(settings, async (connections) =>
    planMigration(await readSchemaVersion(connections)),
  );
}

/** Says which server it is and what its clock shows. Throws `STORAGE_UNAVAILABLE` for one that is too old. */
export async function examineMysql(settings: MysqlSettings): Promise<StorageExamination> {
  return await read(settings, (connections) =>
    connections.use(async (session) => {
      const [row] = await session.all(
        `select version() as version, ${MYSQL_DIALECT.nowMs} as now_ms`,
        [],
      );
      const version = toText(row?.['version'] ?? '');
      assertSupportedServer(version);
      return { version, now: Number(row?.['now_ms']) };
    }),
  );
}

async function read<T>(
  settings: MysqlSettings,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  // Reads single values, which no session setting affects.
  const connections = new Connections(settings, { limit: 1, setup: [] });
  try {
    return await work(connections);
  } catch (error) {
    throw translateMysqlError(error);
  } finally {
    await connections.close();
  }
}
