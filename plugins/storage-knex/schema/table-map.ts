import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { CellValue, Row } from '../dialects/dialect.ts';
import { toHex, toUuid } from './ids.ts';
import { type RowWriter, toInteger, toText } from './rows.ts';
import { toScopeId } from './scope-id.ts';
import { tableOf } from './tables.ts';

/** How a table stores the scope: its number alone, with its text, or with the user's id. */
type Scope = 'scope' | 'scope-text' | 'user';

/** How a property of a record is stored in a column. NULL in the column is `null` in the record. */
export interface Column<T> {
  name: string;
  kind: 'number' | 'text' | 'uuid' | 'hex' | 'boolean' | 'json' | 'as-is' | Scope;
  /** Read from another table of the query, and never written. */
  isJoined?: boolean;
  /** Conversions that replace those of the kind. */
  toCell?: (value: T, record: never) => CellValue;
  fromCell?: (cell: unknown, scope: ScopeKey | undefined) => T;
}

/** The columns by the record's properties. */
export type Columns<T> = { readonly [Name in keyof T]-?: Column<T[Name]> };

/** A table and the type of record that its rows represent. */
export interface TableMap<T> extends RowWriter<T> {
  /** The columns that an update may change: all but the primary key and fixed columns. */
  readonly replaced: readonly string[];
  /** The columns that {@link toRecord} needs, for a query: `r.id`, `r.at` … */
  select: (alias: string) => string[];
  /** The values of the primary key. */
  toKey: (record: T) => CellValue[];
  /** Makes a record from a row. The scope comes from the column `scope` unless it is passed. */
  toRecord: (row: Row, scope?: ScopeKey) => T;
}

/** Maps the properties of a record to the columns of a table. Throws for an unknown column. */
export function mapTable<T extends object>(
  table: string,
  columns: Columns<T>,
  { fixed = [] }: { fixed?: readonly string[] } = {},
): TableMap<T> {
  const { primaryKey, columns: definitions } = tableOf(table);
  const properties = (Object.entries(columns) as [keyof T & string, Column<unknown>][]).map(
    ([property, column]) => ({ property, ...column }),
  );
  const written = properties.filter(({ isJoined }) => isJoined !== true).flatMap(toWritten);
  const names = written.map(({ name }) => name);
  const unknown = names.find((name) => definitions.every((column) => column.name !== name));
  if (unknown !== undefined) throw new Error(`${table} has no column ${unknown}.`);
  const keys = primaryKey.flatMap((key) => written.filter(({ name }) => name === key));
  const read = properties.filter(({ kind }) => kind !== 'scope');
  const scope = properties.find(({ kind }) => kind === 'scope')?.property;
  // Copying an object with the final shape is twice as fast as adding its properties one by one.
  const empty = Object.fromEntries(properties.map(({ property }) => [property, null])) as T;
  return {
    table,
    columns: names,
    replaced: names.filter((name) => !primaryKey.includes(name) && !fixed.includes(name)),
    select: (alias) =>
      names.filter((name) => name !== 'scope_id').map((name) => `${alias}.${name}`),
    toKey: (record) => keys.map((column) => toCell(column, record)),
    toCells: (record) => written.map((column) => toCell(column, record)),
    toRecord(row, given) {
      const record = { ...empty } as Record<string, unknown>;
      const own = scope === undefined ? given : (given ?? (toText(row['scope']) as ScopeKey));
      if (scope !== undefined) record[scope] = own;
      for (const { property, name, kind, fromCell } of read) {
        const cell = row[name];
        if (fromCell !== undefined) record[property] = fromCell(cell, own);
        else if (cell !== null) record[property] = fromKind(kind, cell);
      }
      return record as T;
    },
  };
}

type Property = Column<unknown> & { property: string };

function toWritten(column: Property): Property[] {
  const scopeId: Property = { ...column, kind: 'scope', name: 'scope_id' };
  if (column.kind === 'scope') return [scopeId];
  return column.kind === 'user' || column.kind === 'scope-text' ? [scopeId, column] : [column];
}

function toCell({ property, kind, toCell: convert }: Property, record: object): CellValue {
  const value = (record as Record<string, unknown>)[property] as CellValue;
  if (convert !== undefined) return convert(value, record as never);
  if (value === null) return null;
  switch (kind) {
    case 'scope':
      return toScopeId(value as ScopeKey);
    case 'user':
      return (value as ScopeKey).slice(2);
    case 'boolean':
      return Number(value);
    case 'json':
      return JSON.stringify(value);
    default:
      return value;
  }
}

function fromKind(kind: Column<unknown>['kind'], cell: unknown): unknown {
  switch (kind) {
    case 'number':
      return toInteger(cell);
    case 'text':
    case 'scope-text':
      return toText(cell);
    case 'uuid':
      return toUuid(cell as Uint8Array);
    case 'hex':
      return toHex(cell as Uint8Array);
    case 'boolean':
      return toInteger(cell) === 1;
    case 'json':
      return JSON.parse(toText(cell));
    case 'user':
      return `u:${toText(cell)}`;
    default:
      return cell;
  }
}

export function number<T extends number | null>(name: string): Column<T> {
  return { name, kind: 'number' };
}

export function text<T extends string | null>(name: string): Column<T> {
  return { name, kind: 'text' };
}

/** An id with dashes in the record. */
export function uuid<T extends string | null>(name: string): Column<T> {
  return { name, kind: 'uuid' };
}

/** A hash, or an id without dashes in the record. */
export function hex<T extends string | null>(name: string): Column<T> {
  return { name, kind: 'hex' };
}

export function flag(name: string): Column<boolean> {
  return { name, kind: 'boolean' };
}

export function json<T>(name: string): Column<T> {
  return { name, kind: 'json' };
}

export function bytes<T extends Uint8Array | null>(name: string): Column<T> {
  return { name, kind: 'as-is' };
}

/** The scope, stored as its number; its text is joined from `svc_scope` as `scope`. */
export const scope: Column<ScopeKey> = { name: 'scope', kind: 'scope' };

/** The scope, stored as its number and its text. */
export const scopeText: Column<ScopeKey> = { name: 'scope', kind: 'scope-text' };

/** The scope of a user, stored as its number and the user's id. */
export const userScope: Column<ScopeKey> = { name: 'user_id', kind: 'user' };

/** A column of another table in the query. */
export function joined<T>(column: Column<T>): Column<T> {
  return { ...column, isJoined: true };
}
