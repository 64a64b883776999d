import type { Connection } from '../../core/storage/dialect.ts';
import { Connections } from '../../plugins/storage-mysql/connections.ts';
import { parseMysqlOptions } from '../../plugins/storage-mysql/options.ts';
import { bindDialect } from '../../plugins/storage-sqlite/connection.ts';
import { createSqliteDialect } from '../../plugins/storage-sqlite/dialect.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';

/** A connection to a SQLite file whose tables nobody has made or migrated. */
export async function onSqliteFile<T>(
  filename: string,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const native = await loadSqliteModule('better-sqlite3');
  const opened = await native.open(filename, { busyTimeoutMs: 2_000 });
  try {
    return await run(bindDialect(opened, createSqliteDialect('3.51.3')));
  } finally {
    await opened.close();
  }
}

/** The same on a MySQL or MariaDB. */
export async function onMysql<T>(
  url: string,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connections = new Connections(parseMysqlOptions({ url }), { limit: 1, setup: [] });
  try {
    return await connections.use(run);
  } finally {
    await connections.close();
  }
}
