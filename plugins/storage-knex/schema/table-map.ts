import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { CellValue, Row } from '../dialects/dialect.ts';
import { toHex, toUuid } from './ids.ts';
import { type RowWriter, toInteger, toText } from './rows.ts';
import { toScopeId } from './scope-id.ts';
import { tableOf } from './tables.ts';

/** A scope's number alone, with its text, or with the id of its user. */
type Scope = 'scope' | 'scope-text' | 'user';

/** How a property of a record is kept in a column. A cell that is NULL is `null` in the record. */
export interface Column<T> {
  name: string;
  kind: 'number' | 'text' | 'uuid' | 'hex' | 'boolean' | 'json' | 'as-is' | Scope;
  /** Comes from another table of the query, and is not written. */
  isJoined?: boolean;
  /** Conversions of its own, in place of those of the kind. */
  toCell?: (value: T, record: never) => CellValue;
  fromCell?: (cell: unknown, scope: ScopeKey | undefined) => T;
}

/** A column for each property of a record. */
export type Columns<T> = { readonly [Name in keyof T]-?: Column<T[Name]> };

/** A table with the records that its rows are. */
export interface TableMap<T> extends RowWriter<T> {
  /** All columns that an update may change: not the primary key, and none that is fixed. */
  readonly replaced: readonly string[];
  /** The columns of the table that {@link toRecord} reads, for a query: `r.id`, `r.at` … */
  select: (alias: string) => string[];
  /** The cells of the primary key. */
  toKey: (record: T) => CellValue[];
  /** A record from a row. The scope is the row's column `scope`, unless it is given. */
  toRecord: (row: Row, scope?: ScopeKey) => T;
}

/** The one definition of how records are kept in a table: all that {@link TableMap} has derives from it. */
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
  // A copy of it has the record's shape at once: property by property took twice as long.
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

/** An id that the record has with dashes. */
export function uuid<T extends string | null>(name: string): Column<T> {
  return { name, kind: 'uuid' };
}

/** A hash, or an id that the record has without dashes. */
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

/** The scope, kept as its number: the text is joined from `svc_scope` as `scope`. */
export const scope: Column<ScopeKey> = { name: 'scope', kind: 'scope' };

/** The scope, kept as its number and its text. */
export const scopeText: Column<ScopeKey> = { name: 'scope', kind: 'scope-text' };

/** The scope of a user, kept as its number and the user's id. */
export const userScope: Column<ScopeKey> = { name: 'user_id', kind: 'user' };

/** A column of another table in the query. */
export function joined<T>(column: Column<T>): Column<T> {
  return { ...column, isJoined: true };
}
