import type { Knex } from 'knex';
import type { ScopeKey } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import type { Dialect, Row, SqlValue } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import { toText } from '../schema/rows.ts';
import { successorOf } from './text-range.ts';
import { ownerOf, scopesFrom } from '../../files/paths.ts';

/**
 * The most rows that one page examines, so that every page takes less than 100 ms. If few rows pass
 * the filters, a page can have fewer rows than its limit.
 */
export const EXAMINED_ROWS = 20_000;

export interface KeysetQuery<T> {
  limit: number;
  order: 'asc' | 'desc';
  /**
   * Columns of the walk by the names that the query gives them: the row keys and the columns to
   * sort by.
   */
  pick: Readonly<Record<string, string>>;
  /** The names in `pick` to sort by, all in one direction; unique together. */
  key: readonly string[];
  /** The key of the last row of the page before. */
  after: readonly SqlValue[] | null;
  /** The rows to walk: a table by one index, limited by the conditions that the index can check. */
  walk: () => Knex.QueryBuilder;
  /**
   * Bounds of the walk on the key's own column. They come after the page's bound: of two bounds on
   * one side, SQLite seeks to the first and tests every row between it and the second.
   */
  bounds?: Filter;
  /**
   * Whether the walk is already in the list's order. If not, all of it is read and sorted, and is
   * never cut short.
   */
  isOrdered: boolean;
  /** Joins that the filters need. */
  join?: (query: Knex.QueryBuilder) => void;
  /** Conditions tested on each row of the walk. */
  filters: readonly Filter[];
  /** Joins whole rows to the page's keys (`k`). */
  complete: (query: Knex.QueryBuilder) => void;
  toItem: (row: Row) => T;
  /** Makes a row's page key from the columns of `pick`. */
  toPageKey: (row: Row) => readonly (string | number)[];
}

export type Filter = (query: Knex.QueryBuilder) => void;

/**
 * Reads one page of a list by keyset: first the keys, then their rows, so that walking, testing and
 * sorting handle only narrow rows.
 */
export async function readPage<T>(
  connection: KnexConnection,
  query: KeysetQuery<T>,
): Promise<PageResult<T>> {
  const { limit, order, pick, filters } = query;
  const key = query.key.map((name) => pick[name] as string);
  const narrow = (
    builder: Knex.QueryBuilder,
    operator: Parameters<Dialect['isBeyond']>[1],
    values: readonly SqlValue[],
  ) => {
    const { sql, parameters } = connection.dialect.isBeyond(key, operator, values);
    builder.whereRaw(sql, parameters as readonly Knex.RawBinding[]);
  };
  const walk = (end: Row | null) => {
    const builder = query.walk();
    if (query.after !== null) narrow(builder, order === 'asc' ? '>' : '<', query.after);
    if (end !== null) {
      const last = query.key.map((name) => end[name] as SqlValue);
      narrow(builder, order === 'asc' ? '<=' : '>=', last);
    }
    query.bounds?.(builder);
    return builder.orderBy(key.map((column) => ({ column, order }))).select(pick);
  };
  // If rows are tested, finds the end of the walk first, in the index alone; this takes about 1 ms.
  const end =
    filters.length === 0 || !query.isOrdered
      ? undefined
      : ((await walk(null)
          .offset(EXAMINED_ROWS - 1)
          .first()) as Row | undefined);
  const keys = walk(end ?? null);
  if (filters.length > 0) query.join?.(keys);
  for (const filter of filters) filter(keys);
  const page = connection.knex
    .from(keys.limit(limit + 1).as('k'))
    .select('k.*')
    .orderBy(query.key.map((name) => ({ column: `k.${name}`, order })));
  query.complete(page);
  const rows = (await page) as Row[];
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : end;
  return {
    items: shown.map((row) => query.toItem(row)),
    next: last === undefined ? null : query.toPageKey(last),
  };
}

/** Checks the shape of a page key, which comes from a cursor. Throws `INVALID_CURSOR`. */
export function parsePageKey(
  after: PageRequest['after'],
  types: readonly ('string' | 'number')[],
): (string | number)[] | null {
  if (after === null) return null;
  if (after.length !== types.length || after.some((value, at) => typeof value !== types[at])) {
    throw new MemoryError('INVALID_CURSOR');
  }
  return [...after];
}

/** Reads the page key `[id]` as bytes. Throws `INVALID_CURSOR`. */
function parseIdPageKey(after: PageRequest['after']): Buffer | null {
  const key = parsePageKey(after, ['string']);
  if (key === null) return null;
  const bytes = parseIdBytes(key[0] as string);
  if (bytes === null) throw new MemoryError('INVALID_CURSOR');
  return bytes;
}

/** The parts that all lists by id share; the page key is the id. Throws `INVALID_CURSOR`. */
export function toIdPage({ limit, order, after }: PageRequest) {
  const id = parseIdPageKey(after);
  return {
    limit: checkLimit(limit),
    order,
    key: ['id'],
    after: id === null ? null : [id],
    isOrdered: true,
    toPageKey: (row: Row) => [toUuid(row['id'] as Uint8Array)],
  };
}

/**
 * The parts that all lists of users, or of spaces, share; the page key is the id. Throws `INVALID_CURSOR`.
 */
export function toOwnerPage({ limit, order, after }: PageRequest, owners: 'users' | 'spaces') {
  const key = parsePageKey(after, ['string']);
  const { from, to } = scopesFrom(owners);
  return {
    limit: checkLimit(limit),
    order,
    pick: { scope: 's.scope', scope_id: 's.scope_id' },
    key: ['scope'],
    after: key === null ? null : [scopesFrom(owners, `${key[0]}`).from],
    bounds: (query: Knex.QueryBuilder) =>
      void query.where('s.scope', '>=', from).where('s.scope', '<', to),
    isOrdered: true,
    toPageKey: (row: Row) => [ownerOf(toText(row['scope']) as ScopeKey)],
  };
}

/** A query that reads a table by one index; by its primary key if `null`. */
export function walkIndex(
  { knex, dialect }: KnexConnection,
  table: string,
  { as, index }: { as: string; index: string | null },
): Knex.QueryBuilder {
  return knex.from(knex.raw(dialect.byIndex(table, as, index)));
}

/** Filters for each column with a requested value. */
export function matches(values: Readonly<Record<string, SqlValue | undefined>>): Filter[] {
  return Object.entries(values).flatMap(([column, value]) =>
    value === null || value === undefined
      ? []
      : [(query: Knex.QueryBuilder) => void query.where(column, value as Knex.Value)],
  );
}

/** A filter for SQL text that contains a text, without regard to ASCII case; none for no text. */
export function containsText(
  { knex, dialect }: KnexConnection,
  sql: string,
  text: string | null | undefined,
): Filter[] {
  if (text === null || text === undefined || text === '') return [];
  // Lower case as the databases do it: ASCII only.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [(query) => void query.where(knex.raw(dialect.containsText(sql), [lower]))];
}

/** The requested ids as bytes, by column; `null` if one is not an id. */
export function parseIds<Name extends string>(
  ids: Readonly<Record<Name, string | null | undefined>>,
): Map<Name, Buffer> | null {
  const found = new Map<Name, Buffer>();
  for (const [name, id] of Object.entries(ids) as [Name, string | null | undefined][]) {
    if (id === null || id === undefined) continue;
    const bytes = parseIdBytes(id);
    if (bytes === null) return null;
    found.set(name, bytes);
  }
  return found;
}

/** Narrows a query to texts that start with a prefix. */
export function startsWith(
  query: Knex.QueryBuilder,
  column: string,
  prefix: string,
): Knex.QueryBuilder {
  if (prefix === '') return query;
  return query.where(column, '>=', prefix).where(column, '<', successorOf(prefix));
}

/** Checks the limit of a page: 1 to 500. Throws `INVALID_REQUEST`. */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= 500) return limit;
  throw new MemoryError('INVALID_REQUEST', 'A page has 1 to 500 rows.');
}
