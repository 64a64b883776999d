import type { ScopeKey } from '../../core/contracts/records.ts';
import type { Storage } from '../../core/contracts/storage.ts';
import { toScopeId } from '../../core/storage/schema/scope-id.ts';
import { createStorage } from '../../core/storage/storage.ts';
import { freshDatabase } from './mariadb.ts';
import { freshPostgres } from './postgres.ts';
import { temporaryDatabase } from './service.ts';
import { withSnapshot } from './snapshot.ts';
import { openSqlDatabase } from './sql-database.ts';

/** The database that the project of the run names (vitest.config.ts). */
export const DATABASE = process.env['MEMORY_TEST_DATABASE'] as 'mariadb' | 'postgres' | undefined;

/** An empty database of the project's kind, by its file name or URL. */
export async function makeDatabase(): Promise<string> {
  if (DATABASE === 'mariadb') return await freshDatabase();
  if (DATABASE === 'postgres') return await freshPostgres();
  return await temporaryDatabase();
}

/** A storage of a database, not opened yet. */
export function openDatabase(database: string): Storage {
  return createStorage(openSqlDatabase(database));
}

/** A cell of a table. */
interface Cell {
  table: string;
  column: string;
  bytes: Buffer;
}

/** Every cell of every table, or of the rows of one scope, in the order of the rows. */
export async function readTables(database: string, scope?: ScopeKey): Promise<Cell[]> {
  return await withSnapshot(database, async ({ all, listTables }) => {
    const listed: { name: unknown }[] = await all(listTables);
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
