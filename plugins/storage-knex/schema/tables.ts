import { foldTables } from './migration.ts';
import type { TableDefinition } from './columns.ts';
import { MIGRATIONS } from './migrations/list.ts';

const tables = foldTables(MIGRATIONS);

/** A table of the newest schema. */
export function tableOf(name: string): TableDefinition {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`No migration makes the table ${name}.`);
  return table;
}
