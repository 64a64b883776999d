/**
 * The type of a column. `key`: byte-exact text that can be indexed; `id`: 16 bytes (a UUID or a
 * trace id); `hash`: 32 bytes; `content`: long text; `bytes`: long binary data.
 */
export type ColumnKind = 'integer' | 'real' | 'key' | 'text' | 'id' | 'hash' | 'content' | 'bytes';

/** A column, in terms that every dialect can translate to a type. */
export interface ColumnDefinition {
  name: string;
  kind: ColumnKind;
  /** The most bytes of a `key`. */
  length?: number;
  nullable?: boolean;
}

/** A table of the schema. */
export interface TableDefinition {
  name: string;
  columns: readonly ColumnDefinition[];
  primaryKey: readonly string[];
  /**
   * Whether the rows are stored in the primary key's tree (SQLite: WITHOUT ROWID). For tables with
   * short rows, because a tree of long keys is deep.
   */
  clustered: boolean;
}

/** An index, by the columns that it is ordered by. */
export interface IndexDefinition {
  name: string;
  table: string;
  columns: readonly string[];
  unique?: boolean;
  /**
   * The rows that the index covers, if the database supports partial indexes. A query that uses the
   * index repeats the condition with the same literals.
   */
  where?: string;
}

/** One statement of a migration. It can be repeated: whatever exists already stays as it is. */
export type MigrationStep =
  { createTable: TableDefinition } | { addColumn: AddedColumn } | { createIndex: IndexDefinition };

/** A column added to an existing table. It is nullable, because existing rows have no value for it. */
interface AddedColumn {
  table: string;
  column: ColumnDefinition & { nullable: true };
}

/** A forward step of the schema. A released one never changes. */
export interface Migration {
  version: number;
  name: string;
  steps: readonly MigrationStep[];
}

/** The tables that the migrations create, by name, with the columns that they add. */
export function foldTables(migrations: readonly Migration[]): Map<string, TableDefinition> {
  const tables = new Map<string, TableDefinition>();
  for (const { steps } of migrations) {
    for (const step of steps) {
      if ('createTable' in step) tables.set(step.createTable.name, step.createTable);
      if ('addColumn' in step) addColumn(tables, step.addColumn);
    }
  }
  return tables;
}

function addColumn(tables: Map<string, TableDefinition>, { table, column }: AddedColumn): void {
  const definition = tables.get(table);
  if (definition === undefined) throw new Error(`No migration makes the table ${table}.`);
  tables.set(table, { ...definition, columns: [...definition.columns, column] });
}
