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

/** The type of a column. Throws for a name that the table does not have. */
export function kindOf(table: TableDefinition, column: string): ColumnKind {
  const definition = table.columns.find(({ name }) => name === column);
  if (definition === undefined) throw new Error(`${table.name} has no column ${column}.`);
  return definition.kind;
}
