import type { PageRequest, PageResult } from './contracts/storage.ts';
import { MemoryError } from './errors.ts';
import { hashText } from './files/content.ts';

/** Limits of a page. */
export const PAGE_LIMITS = { default: 50, max: 500 } as const;

/** Room for the longest key, a scope and a path, several times over. */
const CURSOR_LENGTH = 4096;

type PageKey = readonly (string | number)[];

/** The part of a list request that pages it. */
export interface PageQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
  order?: 'asc' | 'desc' | undefined;
}

/** What a cursor belongs to: with another list, sort, order or filter it is refused. */
export interface ListIdentity {
  list: string;
  /** Default `id`. */
  sort?: string;
  /** The order without `?order`; default `desc`. */
  defaultOrder?: 'asc' | 'desc';
  filters: Record<string, unknown>;
}

/**
 * Answers one page of a list: `read` gets the parsed page, `toItem` turns a row into an item. Throws
 * `INVALID_CURSOR`.
 */
export async function listPage<Row, Item>(
  query: PageQuery,
  list: ListIdentity & {
    read: (page: PageRequest) => Promise<PageResult<Row>>;
    toItem: (row: Row) => Item;
  },
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { items, next } = await list.read(parsePage(query, list));
  return { items: items.map((row) => list.toItem(row)), nextCursor: toCursor(next, query, list) };
}

/** The members that are there, for a store's filter. */
export function given<T extends object>(filters: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(filters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** The parsed value of a filter, `null` when it is absent. */
export function parseGiven<T, R>(value: T | undefined, parse: (value: T) => R): R | null {
  return value === undefined ? null : parse(value);
}

/**
 * Turns `limit`, `order` and `cursor` into a page request; throws `INVALID_CURSOR` for a cursor of
 * another list, sort, order or filter, or one that no list made.
 */
export function parsePage(query: PageQuery, identity: ListIdentity): PageRequest {
  const order = orderOf(query, identity);
  return {
    limit: query.limit ?? PAGE_LIMITS.default,
    order,
    after: query.cursor === undefined ? null : decodeCursor(query.cursor, tagOf(identity, order)),
  };
}

/** The cursor of the next page; `null` at the end. */
export function toCursor(
  next: PageKey | null,
  query: PageQuery,
  identity: ListIdentity,
): string | null {
  if (next === null) return null;
  return encodeCursor(tagOf(identity, orderOf(query, identity)), next);
}

function encodeCursor(tag: string, key: PageKey): string {
  return Buffer.from(JSON.stringify([tag, ...key])).toString('base64url');
}

function decodeCursor(cursor: string, tag: string): PageKey {
  if (cursor.length > CURSOR_LENGTH) throw new MemoryError('INVALID_CURSOR');
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch (cause) {
    throw new MemoryError('INVALID_CURSOR', undefined, { cause });
  }
  const key: unknown[] = Array.isArray(decoded) ? decoded.slice(1) : [];
  // Written again it must be the same: that holds for this list's tag alone, and both decoders are
  // lenient with what no list writes.
  if (key.length === 0 || !key.every(isKeyPart) || encodeCursor(tag, key) !== cursor) {
    throw new MemoryError('INVALID_CURSOR');
  }
  return key;
}

/** Keys are text, and sizes, counts and times: whole numbers. */
function isKeyPart(part: unknown): part is string | number {
  return typeof part === 'string' ? part.isWellFormed() : Number.isSafeInteger(part);
}

function orderOf(query: PageQuery, { defaultOrder = 'desc' }: ListIdentity): 'asc' | 'desc' {
  return query.order ?? defaultOrder;
}

function tagOf({ list, sort = 'id', filters }: ListIdentity, order: string): string {
  const named = Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return hashText(JSON.stringify([list, sort, order, named])).slice(0, 12);
}
