import type { ColumnKind, TableDefinition } from './schema/columns.ts';

/** A value that a statement takes or returns. */
export type SqlValue = string | number | null | Uint8Array;
/** A row from a driver. Nothing is known about it until a `to…` function has read it. */
export type Row = Record<string, unknown>;

/** The text of a statement and its bound values. */
export interface Statement {
  sql: string;
  parameters: readonly SqlValue[];
}

/**
 * One connection, as the stores see it. They write one subset of SQL, which the connection translates
 * and prepares once for each text: the texts come from a small fixed set, and values are always bound.
 * See `translateOnce`, and "The statements" in docs/guides/a-database-of-your-own.md.
 */
export interface Connection {
  /** The dialect of its database. */
  readonly dialect: Dialect;
  all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]>;
  /** Returns the number of changed rows. */
  run(sql: string, parameters: readonly SqlValue[]): Promise<number>;
}

/** A value of a row to write. Text of an `id` or `hash` column is hex, with or without dashes. */
export type CellValue = string | number | null | Uint8Array;

/** Rows to write in as few statements as the database allows. */
export interface RowSet {
  table: TableDefinition;
  columns: readonly string[];
  rows: readonly (readonly CellValue[])[];
  /**
   * What to do with a row whose primary key exists: skip it, or replace its `update` columns and
   * add to its `add` columns. Without this, such a row is an error.
   */
  conflict?:
    | 'skip'
    | {
        update?: readonly string[];
        add?: readonly string[];
        /** Columns that keep the greater value; either value may be absent. */
        greatest?: readonly string[];
      };
}

/** Keys to look rows up by: a derived table with the named columns. */
export type KeySet = Statement;

/** The differences between the databases. All raw SQL that only one of them understands is here. */
export interface Dialect {
  /** The column type for schema definitions. */
  columnType(kind: ColumnKind, length: number | undefined): string;
  /**
   * The statement that lets a column hold longer keys, which rewrites no row; absent where a column
   * has no greatest length. The column is its definition, and takes no NULL.
   */
  widenColumn?(table: string, column: string): string;
  /** The text after the closing bracket of `create table`. */
  tableSuffix(table: TableDefinition): string;
  /**
   * The columns and indexes of a table, a row each: `kind` is `column` or `index`. No rows if there is
   * no such table.
   */
  tableParts(table: string): Statement;

  /** Writes rows. A set has each file, scope or id at most once. */
  insertRows(connection: Connection, set: RowSet): Promise<void>;
  keySet(columns: Readonly<Record<string, ColumnKind>>, rows: CellValue[][]): KeySet;
  /** Deletes the rows of a table that match one of the keys. */
  deleteKeys(table: string, columns: readonly string[], keys: KeySet): Statement;
  /**
   * The SQL that returns the rows of these columns as one JSON text, an array for each row, which
   * saves carrying every value into JavaScript one by one. `null` if the driver's own rows are as
   * fast.
   */
  rowsAsJson: ((columns: readonly string[]) => string) | null;
  /** Whether nobody else can insert a row that a query with `for update` did not find. */
  readonly locksAbsentRows: boolean;
  /** The database's clock in milliseconds, as an SQL expression. */
  readonly nowMs: string;
  /**
   * A condition with one bound parameter: `text` contains it, ignoring the case of ASCII letters.
   */
  containsText(text: string): string;
  /** `table as alias`, read by this index; by its primary key if `null`. */
  byIndex(table: string, alias: string, index: string | null): string;
  /**
   * A condition for keyset paging: the columns, compared as one key, come before or after these
   * values.
   */
  isBeyond(
    columns: readonly string[],
    operator: '<' | '>' | '<=' | '>=',
    values: readonly SqlValue[],
  ): Statement;
  /**
   * The entries directly below a folder of a scope, one row each. `entry` is relative to the folder
   * and ends in `/` for a folder; `files`, `bytes` and `updated_at` cover everything inside.
   */
  folderEntries(query: FolderQuery): Statement;
}

/** The entries to read of a folder. */
export interface FolderQuery {
  scopeId: number;
  /** The path within the scope: empty, or with a `/` at the end. */
  folder: string;
  /** The last entry of the page before. */
  after: string | null;
  order: 'asc' | 'desc';
  limit: number;
}
