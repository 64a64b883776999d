import type { RowDataPacket } from 'mysql2/promise';
import { onTestFinished } from 'vitest';
import { askBroker } from './broker.ts';
import { connectAsRoot } from './mariadb-server.ts';

/** The port of the MariaDB that all test files share; it is started when it is first asked for. */
export async function sharedMariadb(): Promise<number> {
  return Number(await askBroker('mariadbBroker', 'port'));
}

/**
 * The URL of a database without rows on the shared MariaDB, emptied when the test ends. It may have
 * the tables of the newest schema already: to make all of them anew takes a second.
 */
export async function freshDatabase(): Promise<string> {
  const url = await askBroker('mariadbBroker', 'take');
  onTestFinished(async () => {
    await emptyDatabase(url);
    await askBroker('mariadbBroker', `give ${url}`);
  });
  return url;
}

/** Removes every row but the schema's version. */
export async function emptyDatabase(url: string): Promise<void> {
  const { port, pathname } = new URL(url);
  const root = await connectAsRoot(Number(port), pathname.slice(1));
  try {
    const [tables] = await root.query<RowDataPacket[]>(
      'select table_name as name from information_schema.tables where table_schema = database()',
    );
    const deletions = tables.map(({ name }) => {
      const kept = name === 'svc_meta' ? " where `key` <> 'schema_version'" : '';
      return `delete from ${root.escapeId(String(name))}${kept}`;
    });
    if (deletions.length > 0) await root.query(deletions.join('; '));
  } finally {
    await root.end();
  }
}
