import type { Connection } from '../../core/storage/dialect.ts';
import { SCHEMA_VERSION_KEY } from '../../core/storage/schema/migrate.ts';

/** The version of the existing schema; 0 if there is none. */
export async function readSchemaVersion(connection: Pick<Connection, 'all'>): Promise<number> {
  const tables = await connection.all("select 1 from sqlite_master where name = 'svc_meta'", []);
  if (tables.length === 0) return 0;
  const [row] = await connection.all('select value from svc_meta where key = ?', [
    SCHEMA_VERSION_KEY,
  ]);
  return row === undefined ? 0 : Number(row['value']);
}
