import type { Knex } from 'knex';
import type { MemoryError } from '../../../core/errors.ts';
import type { ColumnKind, IndexDefinition, TableDefinition } from '../schema/columns.ts';

/** What a statement takes and gives. */
export type SqlValue = string | number | null | Uint8Array;
/** A row as a driver gives it: nothing of it is known until a `to…` has read it. */
export type Row = Record<string, unknown>;

/** A statement's text with the values that are bound to it. */
export interface Statement {
  sql: string;
  parameters: readonly SqlValue[];
}

/**
 * One connection, as the stores see it. A statement's text is prepared once and kept, so texts come
 * from a small fixed set; values are always bound. `cross join` in it says that tables are read in
 * the order in which they stand.
 */
export interface Connection {
  /** The words of the database that it leads to. */
  readonly dialect: Dialect;
  all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]>;
  /** How many rows it changed. */
  run(sql: string, parameters: readonly SqlValue[]): Promise<number>;
}

/** A connection of the admin's lists: it reads, and its statements are built with Knex. */
export interface KnexConnection extends Connection {
  readonly knex: Knex;
}

/** A value of a row to be written: text of an `id` or `hash` is hex, with or without dashes. */
export type CellValue = string | number | null | Uint8Array;

/** Rows to be written in as few statements as the database allows. */
export interface RowSet {
  table: TableDefinition;
  columns: readonly string[];
  rows: readonly (readonly CellValue[])[];
  /**
   * What happens to a row whose primary key exists: it is left, or `update` columns are replaced
   * and `add` columns summed up. Without it such a row is an error.
   */
  conflict?:
    | 'skip'
    | {
        update?: readonly string[];
        add?: readonly string[];
        /** Keep the greater value, where one may be absent. */
        greatest?: readonly string[];
      };
}

/** Keys to look rows up by: a derived table with the columns that were named. */
export type KeySet = Statement;

/** What differs between the databases. All raw SQL that only one of them understands stands here. */
export interface Dialect {
  readonly name: 'sqlite' | 'mysql';

  /** The column type for schema definitions. */
  columnType(kind: ColumnKind, length: number | undefined): string;
  /** What follows the closing bracket of `create table`. */
  tableSuffix(table: TableDefinition): string;
  /** The whole statement that makes an index. */
  createIndex(knex: Knex, index: IndexDefinition): string;
  hasIndex(knex: Knex, index: IndexDefinition): Promise<boolean>;
  hasColumn(knex: Knex, table: string, column: string): Promise<boolean>;

  /** Writes rows; one file, scope or id stands in a set at most once. */
  insertRows(connection: Connection, set: RowSet): Promise<void>;
  keySet(columns: readonly { name: string; kind: ColumnKind }[], rows: CellValue[][]): KeySet;
  /** Removes the rows of a table that have one of the keys, and all the values of `same`. */
  deleteKeys(
    table: string,
    key: {
      columns: readonly string[];
      keys: KeySet;
      same: Readonly<Record<string, SqlValue>>;
    },
  ): Statement;
  /**
   * Rows of these columns as one JSON text, an array for each: a row and a value less to be carried
   * across to JavaScript one by one. `null` where the driver's own rows are as good.
   */
  rowsAsJson: ((columns: readonly string[]) => string) | null;
  /** What ends a query whose rows are to be locked. */
  readonly forUpdate: string;
  /** Whether nobody else can make a row that `forUpdate` did not find. */
  readonly locksAbsentRows: boolean;
  /** The database's clock in milliseconds, as an expression. */
  readonly nowMs: string;
  /**
   * Claims a lease unless another holder's lasts: name, holder, milliseconds. One statement that
   * leaves the row with its holder, or makes or takes over the lease with the next fence. A new row
   * begins with the clock: it has a greater one than any row of its name that was there before.
   */
  readonly claimLease: string;
  /** Bytes of a text or binary column, as an expression. */
  byteLength(column: string): string;

  /** A condition of one bound parameter: `text` contains it, without regard to ASCII case. */
  containsText(text: string): string;
  /** Texts joined, as an expression. */
  concat(...parts: readonly string[]): string;
  /** `table as alias`, read by this index; by its primary key when `null`. */
  byIndex(table: string, alias: string, index: string | null): string;
  /** A condition: the columns as one key come before or after these values, in a walk along them. */
  isBeyond(
    columns: readonly string[],
    operator: '<' | '>' | '<=' | '>=',
    values: readonly SqlValue[],
  ): Statement;
  /**
   * What stands directly below a folder of a scope: one row an entry, `entry` relative to the
   * folder (a folder's ends in `/`), with `files`, `bytes` and `updated_at` of what is in it.
   */
  folderEntries(knex: Knex, query: FolderQuery): Knex.Raw<Row[]>;

  /** The one place where the database's own errors become the service's. */
  translateError(error: unknown): MemoryError;
}

export interface FolderQuery {
  scopeId: number;
  /** Path inside the scope: empty, or ends in `/`. */
  folder: string;
  /** The last entry seen. */
  after: string | null;
  order: 'asc' | 'desc';
  limit: number;
}
