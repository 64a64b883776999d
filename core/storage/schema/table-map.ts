import type { ScopeKey } from '../../contracts/records.ts';
import type { CellValue, Row } from '../dialect.ts';
import type { ColumnDefinition, ColumnKind, TableDefinition } from './columns.ts';
import { toHex, toUuid } from './ids.ts';
import { toInteger, toText } from './rows.ts';
import { toScopeId } from './scope-id.ts';
import { tableOf } from './tables.ts';
import { fromLabel, labelOf } from '../../files/paths.ts';

/**
 * The form of a value in a record. The last three are the scope, which the table stores as its number
 * alone (`scope`), with its text, or with its label.
 */
type Kind =
  | 'number'
  | 'text'
  | 'uuid'
  | 'hex'
  | 'boolean'
  | 'json'
  | 'as-is'
  | 'scope'
  | 'scope-text'
  | 'label';

/** How a property of a record is stored in a column. NULL in the column is `null` in the record. */
interface Column<T> {
  name: string;
  kind: Kind;
  /** Conversions that replace those of the kind. */
  toCell?: (value: T, record: never) => CellValue;
  fromCell?: (cell: unknown, scope: ScopeKey | undefined) => T;
}

/**
 * What is unusual about the columns of some properties: the kind, or more. A column that the table
 * does not have is read from another table of the query, and never written.
 */
export type Unusual<T> = { readonly [Name in keyof T]?: Kind | Partial<Column<T[Name]>> };

/** A table and the type of record that its rows represent. */
export interface TableMap<T> {
  readonly table: string;
  /** The columns that are written, in the order of {@link toCells}. */
  readonly columns: readonly string[];
  /** The columns that an update may change: all but the primary key and fixed columns. */
  readonly replaced: readonly string[];
  /** Makes a record with `null`, `false` or 0 in all that is not given. */
  blank: (given: Partial<T>) => T;
  /** The columns that {@link toRecord} needs, for a query: `r.id`, `r.at` … */
  select: (alias: string) => string[];
  toCells: (record: T) => CellValue[];
  /** The values of the primary key. */
  toKey: (record: T) => CellValue[];
  /** Makes a record from a row. The scope comes from the column `scope` unless it is passed. */
  toRecord: (row: Row, scope?: ScopeKey) => T;
}

/**
 * Maps the columns of a table to the properties of a record: each to its name in camel case, with the
 * usual kind of its type, and `scope_id` to `scope`. Takes all columns, those of `only`, or those
 * not in `without`. Columns in `fixed` never change. Throws for an unknown column.
 */
export function mapTable<T extends object>(
  tableName: string,
  unusual: Unusual<T> = {},
  {
    only,
    without = [],
    fixed = [],
  }: { only?: readonly string[]; without?: readonly string[]; fixed?: readonly string[] } = {},
): TableMap<T> {
  const table = tableOf(tableName);
  const listed = Object.entries(unusual).map(([property, column]) =>
    toProperty(table, property, column as Kind | Partial<Column<unknown>>),
  );
  const done = [...without, ...listed.flatMap(toWritten).map(({ name }) => name)];
  const others = (only ?? table.columns.map(({ name }) => name))
    .filter((name) => !done.includes(name))
    .map((name) =>
      name === 'scope_id'
        ? toProperty(table, 'scope', 'scope')
        : toProperty(table, toCamelCase(name), { name }),
    );
  const properties = [...listed, ...others];
  const written = properties.flatMap(toWritten);
  const names = written.map(({ name }) => name);
  const { primaryKey } = table;
  const keys = primaryKey.flatMap((key) => written.filter(({ name }) => name === key));
  const read = properties.filter(({ kind }) => kind !== 'scope');
  const scope = properties.find(({ kind }) => kind === 'scope')?.property;
  // Copying an object with the final shape is twice as fast as adding its properties one by one.
  const empty = Object.fromEntries(properties.map(({ property }) => [property, null])) as T;
  return {
    table: tableName,
    columns: names,
    replaced: names.filter((name) => !primaryKey.includes(name) && !fixed.includes(name)),
    blank(given) {
      const blank = properties.map(({ property, kind, isNullable }) => [
        property,
        isNullable ? null : kind === 'boolean' ? false : 0,
      ]);
      return { ...(Object.fromEntries(blank) as T), ...given };
    },
    select: (alias) =>
      written.filter(({ kind }) => kind !== 'scope').map(({ name }) => `${alias}.${name}`),
    toCells: (record) => written.map((column) => toCell(column, record)),
    toKey: (record) => keys.map((column) => toCell(column, record)),
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

interface Property extends Pick<Column<unknown>, 'name' | 'kind'> {
  property: string;
  toCell: Column<unknown>['toCell'] | undefined;
  fromCell: Column<unknown>['fromCell'] | undefined;
  isJoined: boolean;
  isNullable: boolean;
}

function toProperty(
  table: TableDefinition,
  property: string,
  unusual: Kind | Partial<Column<unknown>>,
): Property {
  const column: Partial<Column<unknown>> =
    typeof unusual === 'string' ? { kind: unusual } : unusual;
  const name = column.name ?? toSnakeCase(property);
  const definition = table.columns.find((one) => one.name === name);
  const kind = column.kind ?? (definition && usualKind(definition));
  if (kind === undefined) throw new Error(`${table.name} has no column ${name}.`);
  const isJoined = definition === undefined;
  const isNullable = isJoined || definition.nullable === true;
  // The same shape for all of them: every row that is read or written goes through them.
  const { toCell, fromCell } = column;
  return { property, name, kind, toCell, fromCell, isJoined, isNullable };
}

const USUAL_KINDS: Readonly<Record<ColumnKind, Kind>> = {
  integer: 'number',
  real: 'number',
  key: 'text',
  text: 'text',
  id: 'uuid',
  hash: 'hex',
  content: 'text',
  bytes: 'as-is',
};

function usualKind({ name, kind }: ColumnDefinition): Kind {
  // The id of a trace has no dashes.
  return name === 'trace_id' ? 'hex' : USUAL_KINDS[kind];
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The columns that a property is written to. */
function toWritten(column: Property): Property[] {
  const scopeId: Property = { ...column, kind: 'scope', name: 'scope_id' };
  if (column.kind === 'scope') return [scopeId];
  if (column.isJoined) return [];
  return column.kind === 'label' || column.kind === 'scope-text' ? [scopeId, column] : [column];
}

function toCell({ property, kind, toCell: convert }: Property, record: object): CellValue {
  const value = (record as Record<string, unknown>)[property] as CellValue;
  if (convert !== undefined) return convert(value, record as never);
  if (value === null) return null;
  switch (kind) {
    case 'scope':
      return toScopeId(value as ScopeKey);
    case 'label':
      return labelOf(value as ScopeKey);
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
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      return JSON.parse(toText(cell));
    case 'label':
      return fromLabel(toText(cell));
    default:
      return cell;
  }
}
