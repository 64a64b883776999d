import { onTestFinished } from 'vitest';
import { askBroker } from './broker.ts';
import { connectAsPostgres } from './postgres-server.ts';

/** The port of the PostgreSQL that all test files share; it is started when it is first asked for. */
export async function sharedPostgres(): Promise<number> {
  return Number(await askBroker('postgresBroker', 'port'));
}

/**
 * The URL of a database without rows on the shared PostgreSQL, emptied when the test ends. It may have
 * the tables of the newest schema already: to make all of them anew takes a second.
 */
export async function freshPostgres(): Promise<string> {
  const url = await askBroker('postgresBroker', 'take');
  onTestFinished(async () => {
    await emptyPostgres(url);
    await askBroker('postgresBroker', `give ${url}`);
  });
  return url;
}

/** Removes every row but the schema's version. */
async function emptyPostgres(url: string): Promise<void> {
  const { port, pathname } = new URL(url);
  const client = await connectAsPostgres(Number(port), pathname.slice(1));
  try {
    const { rows } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    const deletions = rows.map(({ name }) => {
      const kept = name === 'svc_meta' ? " where key <> 'schema_version'" : '';
      return `delete from "${name}"${kept}`;
    });
    await client.query(deletions.join('; '));
  } finally {
    await client.end();
  }
}
