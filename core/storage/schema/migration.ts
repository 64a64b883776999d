import type { Connection } from '../dialect.ts';
import type { ColumnDefinition, IndexDefinition, TableDefinition } from './columns.ts';

/** A column that a table gets. Rows that are there have `value` in it; NULL without one. */
export interface AddedColumn {
  table: string;
  column: ColumnDefinition;
  value?: number;
}

/** A change of rows. It can be repeated, also after a part of them was changed. */
export interface RowChange {
  /** What it does, in a few words. */
  name: string;
  run(connection: Connection): Promise<void>;
}

/** One step of a migration. It can be repeated: what exists already is left as it is. */
export type MigrationStep =
  | { createTable: TableDefinition }
  | { addColumn: AddedColumn }
  | { createIndex: IndexDefinition }
  | { widenColumn: AddedColumn }
  | { changeRows: RowChange };

/** What a step does, as in `create index svc_file_path`. */
export function describeStep(step: MigrationStep): string {
  if ('createTable' in step) return `create table ${step.createTable.name}`;
  if ('createIndex' in step) return `create index ${step.createIndex.name}`;
  if ('changeRows' in step) return step.changeRows.name;
  if ('widenColumn' in step) {
    return `widen column ${step.widenColumn.table}.${step.widenColumn.column.name}`;
  }
  return `add column ${step.addColumn.table}.${step.addColumn.column.name}`;
}

/** The step that makes a table. */
export function table(
  name: string,
  primaryKey: readonly string[],
  options: { clustered: boolean },
  columns: readonly ColumnDefinition[],
): { createTable: TableDefinition } {
  return { createTable: { name, columns, primaryKey, ...options } };
}

/** The step that makes an index. */
export function index(
  name: string,
  tableName: string,
  columns: readonly string[],
  options: Pick<IndexDefinition, 'unique' | 'where'> = {},
): { createIndex: IndexDefinition } {
  return { createIndex: { name, table: tableName, columns, ...options } };
}

/** The step that adds a column. */
export function column(
  tableName: string,
  definition: ColumnDefinition,
  value?: number,
): { addColumn: AddedColumn } {
  const added = { table: tableName, column: definition };
  return { addColumn: value === undefined ? added : { ...added, value } };
}

/** The step that lets a key have more bytes. */
export function widen(
  tableName: string,
  definition: ColumnDefinition,
): { widenColumn: AddedColumn } {
  return { widenColumn: { table: tableName, column: definition } };
}

/** A column of whole numbers. */
export function integer(name: string, options: { nullable?: boolean } = {}): ColumnDefinition {
  return { name, kind: 'integer', ...options };
}

/** A step forward of the schema. A released one never changes. */
export interface Migration {
  version: number;
  name: string;
  /**
   * The oldest schema whose service may go on using the database after this migration. One that only adds names an
   * earlier schema. A later migration then removes what was replaced. Default: its own version.
   */
  runsBeside?: number;
  steps: readonly MigrationStep[];
}

/** The tables that the migrations make, by name. */
export function foldTables(migrations: readonly Migration[]): Map<string, TableDefinition> {
  const tables = new Map<string, TableDefinition>();
  for (const { steps } of migrations) {
    for (const step of steps) {
      if ('createTable' in step) tables.set(step.createTable.name, step.createTable);
      const change =
        'addColumn' in step ? step.addColumn : 'widenColumn' in step ? step.widenColumn : null;
      if (change === null) continue;
      const table = tables.get(change.table);
      if (table === undefined) throw new Error(`There is no table ${change.table}.`);
      tables.set(table.name, { ...table, columns: withColumn(table.columns, change.column) });
    }
  }
  return tables;
}

function withColumn(
  columns: readonly ColumnDefinition[],
  column: ColumnDefinition,
): readonly ColumnDefinition[] {
  const at = columns.findIndex(({ name }) => name === column.name);
  return at < 0 ? [...columns, column] : columns.with(at, column);
}
