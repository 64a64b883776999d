import { type Examined, toText } from '../../core/plugin.ts';
import { Connections } from './connections.ts';
import { translateMysqlError } from './dialect.ts';
import type { MysqlSettings } from './options.ts';
import { assertSupportedServer } from './server.ts';

/** Implements `SqlDatabase.examine`. */
export async function examineServer<T>(
  settings: MysqlSettings,
  run: (found: Examined) => Promise<T>,
): Promise<T> {
  // Reads single values, which no session setting affects.
  const connections = new Connections(settings, { limit: 1, setup: [] });
  try {
    return await connections.use(async (connection) => {
      const [row] = await connection.all('select version() as version', []);
      const version = toText(row?.['version'] ?? '');
      assertSupportedServer(version);
      return await run({ version, connection });
    });
  } catch (error) {
    throw translateMysqlError(error);
  } finally {
    await connections.close();
  }
}
