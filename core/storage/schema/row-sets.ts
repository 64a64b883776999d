import type { CellValue, Connection, KeySet, Row, RowSet, SqlValue } from '../dialect.ts';
import type { TableMap } from './table-map.ts';
import { type ColumnKind, kindOf } from './columns.ts';
import { toHex } from './ids.ts';
import { toInteger, toText } from './rows.ts';
import { tableOf } from './tables.ts';

/** Writes records as rows; runs no statement if there are none. */
export async function insertRecords<T>(
  connection: Connection,
  records: readonly T[],
  { into, conflict }: { into: TableMap<T>; conflict?: RowSet['conflict'] },
): Promise<void> {
  if (records.length === 0) return;
  await connection.dialect.insertRows(connection, {
    table: tableOf(into.table),
    columns: into.columns,
    rows: records.map((record) => into.toCells(record)),
    ...(conflict === undefined ? {} : { conflict }),
  });
}

/** Writes records as rows and replaces rows with the same primary key. */
export async function replaceRecords<T>(
  connection: Connection,
  into: TableMap<T>,
  records: readonly T[],
): Promise<void> {
  await insertRecords(connection, records, { into, conflict: { update: into.replaced } });
}

/** The values of some columns of a table, in the columns' order. */
export interface RowKeys {
  columns: readonly string[];
  rows: CellValue[][];
}

/** Keys to look up rows of a table. */
export function toKeySet(
  { dialect }: Connection,
  table: string,
  { columns, rows }: RowKeys,
): KeySet {
  const definition = tableOf(table);
  const kinds = columns.map((column) => [column, kindOf(definition, column)]);
  return dialect.keySet(Object.fromEntries(kinds) as Record<string, ColumnKind>, rows);
}

/** The end of a query that locks the rows of `t` until the end of the transaction. */
export const FOR_UPDATE = ' for update of t';

/**
 * Selects the rows of a table, `t`, that have one of the keys. `rest` ends the query: joins,
 * conditions, and a lock.
 */
export async function findRows(
  connection: Connection,
  table: string,
  {
    columns,
    rows,
    select,
    index,
    rest = '',
    parameters = [],
  }: RowKeys & {
    select: readonly string[];
    /** The index that finds the keys, where the database may take none. */
    index?: string;
    rest?: string;
    parameters?: readonly SqlValue[];
  },
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const keys = toKeySet(connection, table, { columns, rows });
  const match = columns.map((column) => `t.${column} = k.${column}`).join(' and ');
  const source = index === undefined ? `${table} t` : connection.dialect.byIndex(table, 't', index);
  return await connection.all(
    `select ${select.join(', ')} from ${keys.sql} k cross join ${source} on ${match}${rest}`,
    [...keys.parameters, ...parameters],
  );
}

/** Deletes rows that were read with their primary key. Returns their number. */
export async function deleteFound(
  connection: Connection,
  tableName: string,
  rows: readonly Row[],
): Promise<number> {
  const table = tableOf(tableName);
  const columns = table.primaryKey;
  return await deleteRows(connection, tableName, {
    columns,
    rows: rows.map((row) => columns.map((name) => toCell(kindOf(table, name), row[name]))),
  });
}

function toCell(kind: ColumnKind, value: unknown): CellValue {
  if (kind === 'integer') return toInteger(value);
  return kind === 'id' || kind === 'hash' ? toHex(value as Uint8Array) : toText(value);
}

/** The columns of the primary key of `t`, for a query. */
export function selectKey(table: string): string {
  return tableOf(table)
    .primaryKey.map((name) => `t.${name}`)
    .join(', ');
}

/** Deletes the rows of a table that have one of the keys. Returns their number. */
export async function deleteRows(
  connection: Connection,
  table: string,
  { columns, rows }: RowKeys,
): Promise<number> {
  if (rows.length === 0) return 0;
  const keys = toKeySet(connection, table, { columns, rows });
  const { sql, parameters } = connection.dialect.deleteKeys(table, columns, keys);
  return await connection.run(sql, parameters);
}
