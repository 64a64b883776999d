import type { Knex } from 'knex';
import type { PageRequest, PageResult } from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import type { Row, SqlValue } from './dialect.ts';
import { parseIdBytes } from './ids.ts';

/** Rows that one page examines at most: with filters that few rows pass it comes short. */
export const EXAMINED_ROWS = 50_000;

export interface KeysetQuery<T> {
  limit: number;
  order: 'asc' | 'desc';
  /** The columns that the list is ordered by, all in one direction; together unique. */
  key: readonly string[];
  /** Values of the key's columns to go on after. */
  after: readonly SqlValue[] | null;
  /** The rows that are walked: a table by one index, narrowed by what that index can tell. */
  walk: () => Knex.QueryBuilder;
  /** Adds joins and columns to the walk. */
  complete: (query: Knex.QueryBuilder) => void;
  /** Conditions that each row walked is tested for. */
  filters: readonly ((query: Knex.QueryBuilder) => void)[];
  toItem: (row: Row) => T;
  /** The page key of a row, from the columns of `key` (without their table) and `carry`. */
  toPageKey: (row: Row) => readonly (string | number)[];
  /** More columns of the walked table that `toPageKey` needs. */
  carry?: readonly string[];
}

/** Reads one page of a list by keyset. */
export async function readPage<T>(knex: Knex, query: KeysetQuery<T>): Promise<PageResult<T>> {
  const { limit, order, key } = query;
  const ordered = () => {
    const builder = query.walk();
    if (query.after !== null) beyond(knex, builder, key, order, query.after);
    return builder.orderBy(key.map((column) => ({ column, order })));
  };
  // Where rows are tested, the walk's end is fixed first: by a key alone, it is a seek over an index.
  const end =
    query.filters.length === 0
      ? undefined
      : ((await ordered()
          .select([...key, ...(query.carry ?? [])])
          .offset(EXAMINED_ROWS - 1)
          .first()) as Row | undefined);
  const builder = ordered();
  query.complete(builder);
  if (end !== undefined) {
    upTo(
      knex,
      builder,
      key,
      order,
      key.map((column) => end[unqualified(column)] as SqlValue),
    );
  }
  for (const filter of query.filters) filter(builder);
  const rows = (await builder.limit(limit + 1)) as Row[];
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit;
  return {
    items: page.map((row) => query.toItem(row)),
    next:
      hasMore && last !== undefined
        ? query.toPageKey(last)
        : end === undefined
          ? null
          : query.toPageKey(end),
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

function beyond(
  knex: Knex,
  builder: Knex.QueryBuilder,
  key: readonly string[],
  order: 'asc' | 'desc',
  values: readonly SqlValue[],
): void {
  compareKey(knex, builder, key, order === 'asc' ? '>' : '<', values);
}

function upTo(
  knex: Knex,
  builder: Knex.QueryBuilder,
  key: readonly string[],
  order: 'asc' | 'desc',
  values: readonly SqlValue[],
): void {
  compareKey(knex, builder, key, order === 'asc' ? '<=' : '>=', values);
}

function compareKey(
  knex: Knex,
  builder: Knex.QueryBuilder,
  key: readonly string[],
  operator: '<' | '>' | '<=' | '>=',
  values: readonly SqlValue[],
): void {
  const columns = key.map(() => '??').join(', ');
  const places = key.map(() => '?').join(', ');
  builder.where(
    knex.raw(`(${columns}) ${operator} (${places})`, [...key, ...values] as Knex.RawBinding[]),
  );
}

function unqualified(column: string): string {
  return column.slice(column.indexOf('.') + 1);
}
