import { existsSync } from 'node:fs';
import type { Examined } from '../../core/plugin.ts';
import { bindDialect } from './connection.ts';
import { resolveOnlyName } from './database-path.ts';
import { createSqliteDialect, translateSqliteError } from './dialect.ts';
import { loadSqliteModule } from './drivers/load.ts';
import type { SqliteSettings } from './options.ts';

/** How long a look waits inside SQLite for the lock of another process. */
const LOCKED_MS = 2_000;

/** Implements `SqlDatabase.examine`: it writes nothing, and makes no file. */
export async function examineFile<T>(
  { filename, driver }: Pick<SqliteSettings, 'filename' | 'driver'>,
  run: (found: Examined | null) => Promise<T>,
): Promise<T> {
  if (filename === ':memory:') return await run(null);
  const path = await resolveOnlyName(filename);
  if (!existsSync(path)) return await run(null);
  const native = await loadSqliteModule(driver);
  try {
    const connection = await native.open(path, { busyTimeoutMs: LOCKED_MS });
    try {
      await connection.exec('pragma query_only = on');
      const row = await connection.get('select sqlite_version() as version', []);
      const version = String(row?.['version']);
      const dialect = createSqliteDialect(version);
      return await run({ version, connection: bindDialect(connection, dialect) });
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw translateSqliteError(error);
  }
}
