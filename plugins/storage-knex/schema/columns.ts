/**
 * The type of a column. `key` is byte-exact text that can stand in an index, `id` 16
 * bytes (a UUID or a trace id), `hash` 32 bytes, `content` long text and `bytes` long binary data.
 */
export type ColumnKind = 'integer' | 'real' | 'key' | 'text' | 'id' | 'hash' | 'content' | 'bytes';

/** A column, in words that each dialect has a type for. */
export interface ColumnDefinition {
  name: string;
  kind: ColumnKind;
  /** Bytes that a `key` has at most. */
  length?: number;
  nullable?: boolean;
}

/** A table of the schema. */
export interface TableDefinition {
  name: string;
  columns: readonly ColumnDefinition[];
  primaryKey: readonly string[];
  /**
   * Rows stand in the primary key's own tree (SQLite: WITHOUT ROWID). For tables of short rows:
   * a tree of long keys is deep.
   */
  clustered: boolean;
}

/** An index, by the columns that it is walked along. */
export interface IndexDefinition {
  name: string;
  table: string;
  columns: readonly string[];
  unique?: boolean;
  /**
   * Rows that the index is needed for, where the database can leave the others out. A query that
   * uses the index states the same condition, with the same literals.
   */
  where?: string;
}
