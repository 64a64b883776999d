import type { Knex } from 'knex';
import type { PageRequest, PageResult } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Dialect, KnexConnection, Row, SqlValue } from '../dialects/dialect.ts';
import { parseIdBytes } from '../schema/ids.ts';

/**
 * Rows that one page examines at most: with filters that few rows pass it comes short. So a page
 * takes less than 100 ms whatever is asked for.
 */
export const EXAMINED_ROWS = 20_000;

export interface KeysetQuery<T> {
  limit: number;
  order: 'asc' | 'desc';
  /** Columns of the walk by the names that they get: the rows' own keys, and those of the order. */
  pick: Readonly<Record<string, string>>;
  /** Names of `pick` that the list is ordered by, all in one direction; together unique. */
  key: readonly string[];
  /** Values of the key to go on after. */
  after: readonly SqlValue[] | null;
  /** The rows that are walked: a table by one index, narrowed by what that index can tell. */
  walk: () => Knex.QueryBuilder;
  /**
   * Bounds of the walk on the key's own column. They come after the page's: of two bounds on one
   * side SQLite goes to the first and tests the second, row by row, from there to the page.
   */
  bounds?: Filter;
  /** Whether the walk has the list's order: else all of it is read, sorted, and never cut short. */
  isOrdered: boolean;
  /** Joins that the filters need. */
  join?: (query: Knex.QueryBuilder) => void;
  /** Conditions that each row walked is tested for. */
  filters: readonly Filter[];
  /** Joins whole rows to the page's keys, which stand in `k`. */
  complete: (query: Knex.QueryBuilder) => void;
  toItem: (row: Row) => T;
  /** The page key of a row, from what `pick` names. */
  toPageKey: (row: Row) => readonly (string | number)[];
}

export type Filter = (query: Knex.QueryBuilder) => void;

/**
 * Reads one page of a list by keyset: first the keys of its rows, then those rows, so that what is
 * walked, tested and sorted is narrow.
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
  // Where rows are tested, the walk's end is fixed first: over the index alone, a matter of 1 ms.
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

/** Checks a page key's shape: it comes from a cursor. Throws `INVALID_CURSOR`. */
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

/** The page key `[id]` as bytes. Throws `INVALID_CURSOR`. */
export function parseIdPageKey(after: PageRequest['after']): Buffer | null {
  const key = parsePageKey(after, ['string']);
  if (key === null) return null;
  const bytes = parseIdBytes(key[0] as string);
  if (bytes === null) throw new MemoryError('INVALID_CURSOR');
  return bytes;
}

/** Checks the limit of a page: 1 to 500. Throws `INVALID_REQUEST`. */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= 500) return limit;
  throw new MemoryError('INVALID_REQUEST', 'A page has 1 to 500 rows.');
}
