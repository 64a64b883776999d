import type { ScopeKey } from '../../core/contracts/records.ts';
import type { Storage } from '../../core/contracts/storage.ts';
import { toScopeId } from '../../core/storage/schema/scope-id.ts';
import { freshDatabase } from './mariadb.ts';
import { temporaryDatabase } from './service.ts';
import { withSnapshot } from './snapshot.ts';
import { mysql, sqlite } from './databases.ts';

/** An empty database of the project's kind, by its file name or URL. */
export async function makeDatabase(): Promise<string> {
  if (process.env['MEMORY_TEST_DATABASE'] === 'mariadb') return await freshDatabase();
  return await temporaryDatabase();
}

/** A storage of a database, not opened yet. */
export function openDatabase(database: string): Storage {
  return database.startsWith('mysql:') ? mysql({ url: database }) : sqlite({ filename: database });
}

/** A cell of a table. */
interface Cell {
  table: string;
  column: string;
  bytes: Buffer;
}

/** Every cell of every table, or of the rows of one scope, in the order of the rows. */
export async function readTables(database: string, scope?: ScopeKey): Promise<Cell[]> {
  return await withSnapshot(database, async ({ all }) => {
    const listed: { name: unknown }[] = await all(
      database.startsWith('mysql:')
        ? 'select table_name as name from information_schema.tables where table_schema = database()'
        : "select name from sqlite_master where type = 'table'",
    );
    const cells: Cell[] = [];
    for (const table of listed.map(({ name }) => String(name)).sort()) {
      const rows: Record<string, unknown>[] = await all(`select * from ${table}`);
      const wanted = rows.filter(
        (row) => scope === undefined || Number(row['scope_id']) === toScopeId(scope),
      );
      for (const [column, value] of wanted.flatMap((row) => Object.entries(row))) {
        const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
        cells.push({ table, column, bytes });
      }
    }
    return cells;
  });
}

/** The columns in which a text stands, in whatever table. */
export async function findCanary(database: string, text: string): Promise<string[]> {
  const cells = await readTables(database);
  return cells
    .filter(({ bytes }) => bytes.includes(text))
    .map(({ table, column }) => `${table}.${column}`);
}
