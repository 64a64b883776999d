import type { CellValue, Connection } from '../../core/storage/dialect.ts';
import type { ColumnDefinition } from '../../core/storage/schema/columns.ts';
import { foldTables } from '../../core/storage/schema/migration.ts';
import { MIGRATIONS } from '../../core/storage/schema/migrations/list.ts';

const ROWS = 4_000;
const SCOPES = 50;
/** Columns with few values. */
const KINDS = new Set(
  'action actor epoch grain kind latest_actor mode origin outcome state status tool'.split(' '),
);
/** In milliseconds: later than any test, so that nothing has expired. */
const FUTURE = 4e12;

/** The tables of the newest schema, by name. */
export const TABLES = foldTables(MIGRATIONS);

/** Fills every table with rows of many scopes. */
export async function seedTables(connection: Connection, count = ROWS): Promise<void> {
  for (const table of TABLES.values()) {
    const { columns, primaryKey } = table;
    // One row of each scope, or many of each.
    const hasMany = columns.some(({ name }) => name === 'scope_id') && primaryKey.length > 1;
    const rows = Array.from({ length: count }, (_, row) => {
      const place = hasMany ? { scope: row % SCOPES, number: Math.floor(row / SCOPES) } : null;
      return columns.map((column) => toCell(column, place ?? { scope: row, number: row }));
    });
    const names = columns.map(({ name }) => name);
    await connection.dialect.insertRows(connection, {
      table,
      columns: names,
      rows,
      conflict: 'skip',
    });
  }
}

/**
 * The value of a column in a row that every table has, or in one that is so many rows away from it;
 * `undefined` if no table has the column.
 */
export function seededValue(name: string, distance = 0): CellValue | undefined {
  for (const { columns } of TABLES.values()) {
    const column = columns.find((one) => one.name === name);
    if (column === undefined) continue;
    const value = toCell(column, { scope: 7 + distance, number: 7 + distance });
    const isBinary = column.kind === 'id' || column.kind === 'hash';
    return isBinary ? Buffer.from(String(value), 'hex') : value;
  }
  return undefined;
}

/** Every second row lacks what is optional. */
function toCell(
  { name, kind, nullable, length }: ColumnDefinition,
  { scope, number }: { scope: number; number: number },
): CellValue {
  if (name === 'scope_id') return scope;
  if (name === 'scope') return `u:user-${String(scope).padStart(4, '0')}`;
  if (name === 'user_id') return `user-${scope}`;
  // The row of every table is there.
  if (name === 'deleted_at' && number % 2 === 1) return null;
  if (name !== 'deleted_at' && nullable === true && number % 2 === 0) return null;
  const value = toNumber(name, number);
  switch (kind) {
    case 'integer':
    case 'real':
      return value;
    case 'id':
      return (number * SCOPES + scope).toString(16).padStart(32, '0');
    case 'hash':
      return (number * SCOPES + scope).toString(16).padStart(64, '0');
    case 'bytes':
      return Buffer.alloc(16, 1);
    default:
      return `${value}-${name}`.slice(0, length);
  }
}

function toNumber(name: string, number: number): number {
  if (name === 'is_waiting') return number % 40 === 7 ? 1 : 0;
  if (name.endsWith('_at')) return FUTURE + number;
  return KINDS.has(name) ? number % 5 : number;
}
