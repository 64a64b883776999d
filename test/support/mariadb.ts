import { connect } from 'node:net';
import type { RowDataPacket } from 'mysql2/promise';
import { inject, onTestFinished } from 'vitest';
import { connectAsRoot } from './mariadb-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The port of whoever starts and lends what the tests share (mariadb-setup.ts). */
    mariadbBroker: number;
  }
}

/** The port of the MariaDB that all test files share; it is started when it is first asked for. */
export async function sharedMariadb(): Promise<number> {
  return Number(await askBroker('port'));
}

/** Asks for `port`, `take` (a database's URL) or `give <url>`, and gives the answer. */
async function askBroker(question: string): Promise<string> {
  const socket = connect(inject('mariadbBroker'), '127.0.0.1');
  socket.write(question);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  const { answer, error } = JSON.parse(text) as { answer?: string; error?: string };
  if (answer === undefined) throw new Error(`The MariaDB of the tests: ${error ?? text}`);
  return answer;
}

/**
 * The URL of a database without rows on the shared MariaDB, emptied when the test ends. It may have
 * the tables of the newest schema already: to make all of them anew takes a second.
 */
export async function freshDatabase(): Promise<string> {
  const url = await askBroker('take');
  onTestFinished(async () => {
    await emptyDatabase(url);
    await askBroker(`give ${url}`);
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
