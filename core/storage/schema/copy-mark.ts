import type { Connection } from '../dialect.ts';
import { OLDEST_SCHEMA_KEY, SCHEMA_VERSION_KEY } from './migrate.ts';
import { tableOf } from './tables.ts';

/** The key in `svc_meta` of a database that a copy is being made into. */
const COPY_KEY = 'unfinished_copy';

/** Keys in `svc_meta` that say what a database itself is, and are never copied. */
export const MARKS: readonly string[] = [SCHEMA_VERSION_KEY, OLDEST_SCHEMA_KEY, COPY_KEY];

/** Whether a copy into this database was begun and not finished. */
export async function isUnfinishedCopy(connection: Connection): Promise<boolean> {
  const sql = 'select value from svc_meta where `key` = ?';
  return (await connection.all(sql, [COPY_KEY])).length > 0;
}

/** Says that a copy into this database is not finished, or that it is. */
export async function markCopy(connection: Connection, isUnfinished: boolean): Promise<void> {
  if (!isUnfinished) {
    await connection.run('delete from svc_meta where `key` = ?', [COPY_KEY]);
    return;
  }
  await connection.dialect.insertRows(connection, {
    table: tableOf('svc_meta'),
    columns: ['key', 'value'],
    rows: [[COPY_KEY, '1']],
    conflict: 'skip',
  });
}
