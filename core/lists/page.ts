import { parseForeignJson } from '../encoding/foreign-json.ts';
import type { PageRequest, PageResult } from '../contracts/page.ts';
import { MemoryError } from '../errors.ts';
import { hashText } from '../files/content.ts';
import type { ListAnswer, PageQuery } from '../schemas/shapes.ts';

export type { PageQuery } from '../schemas/shapes.ts';

/** Limits of a page. */
export const PAGE_LIMITS = { default: 50, max: 500 } as const;

/** Room for the longest key, a scope and a path, several times over. */
const CURSOR_LENGTH = 4096;
/** A cursor is a list of texts and numbers. */
const CURSOR_LIMITS = { depth: 1, values: 100 };

type PageKey = readonly (string | number)[];

/** What a cursor belongs to: with another list, sort, order or filter it is refused. */
export interface ListIdentity {
  list: string;
  sort: string;
  /** The order without `?order`. */
  defaultOrder: 'asc' | 'desc';
  filters: Record<string, unknown>;
}

/**
 * Turns `limit`, `order` and `cursor` into a page request; throws `INVALID_CURSOR` for a cursor of
 * another list, sort, order or filter, or one that no list made.
 */
export function parsePage(query: PageQuery, identity: ListIdentity): PageRequest {
  const order = query.order ?? identity.defaultOrder;
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
  return encodeCursor(tagOf(identity, query.order ?? identity.defaultOrder), next);
}

/** A list over pages of rows. */
interface ListOptions<Row, Item> {
  /** Its name, and what it is sorted by; default its ids, newest first. */
  list: string;
  sort?: string;
  defaultOrder?: 'asc' | 'desc';
  /** Filters that select the rows; default every parameter of the query but those of the page. */
  filters?: Record<string, unknown>;
  read(page: PageRequest): Promise<PageResult<Row>>;
  toItem(row: Row): Item;
}

/**
 * Answers a list's query with one page. Throws `INVALID_CURSOR`, as {@link parsePage} does, before
 * anything is read.
 */
export async function answerList<Row, Item>(
  query: PageQuery,
  options: ListOptions<Row, Item>,
): Promise<ListAnswer<Item>> {
  const { list, sort = 'id', defaultOrder = 'desc', read, toItem } = options;
  const { limit: _limit, cursor: _cursor, order: _order, ...rest } = query;
  const identity = { list, sort, defaultOrder, filters: options.filters ?? rest };
  const { items, next } = await read(parsePage(query, identity));
  return { items: items.map(toItem), nextCursor: toCursor(next, query, identity) };
}

/** Reads all rows of a list, a page at a time; by default in ascending order. */
export async function* readRows<Row>(
  list: (page: PageRequest) => Promise<PageResult<Row>>,
  { limit = PAGE_LIMITS.max, order = 'asc', after = null }: Partial<PageRequest> = {},
): AsyncGenerator<Row, void> {
  for (let from = after; ;) {
    const { items, next } = await list({ limit, order, after: from });
    yield* items;
    if (next === null) return;
    from = next;
  }
}

/** Reads all rows of a list that goes on after the key of a row, until it has no more. */
export async function* readByKey<Row, Key>(
  list: (after: Key | null) => Promise<readonly Row[]>,
  { keyOf, after = null }: { keyOf: (row: Row) => Key; after?: Key | null },
): AsyncGenerator<Row, void> {
  for (let from = after; ;) {
    const rows = await list(from);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    from = keyOf(last);
  }
}

function encodeCursor(tag: string, key: PageKey): string {
  return Buffer.from(JSON.stringify([tag, ...key])).toString('base64url');
}

function decodeCursor(cursor: string, tag: string): PageKey {
  if (cursor.length > CURSOR_LENGTH) throw new MemoryError('INVALID_CURSOR');
  let decoded: unknown;
  try {
    decoded = parseForeignJson(Buffer.from(cursor, 'base64url').toString('utf8'), CURSOR_LIMITS);
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

function tagOf({ list, sort, filters }: ListIdentity, order: string): string {
  const named = Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return hashText(JSON.stringify([list, sort, order, named])).slice(0, 12);
}

/**
 * Throws `STORAGE_DAMAGED` unless `last`, the last key of a page, comes behind `after` by its bytes.
 * Only a damaged database lists such rows, and a loop that goes on from there never ends.
 */
export function assertGoesOn(after: string | null, last: string): void {
  if (after === null || Buffer.compare(Buffer.from(last), Buffer.from(after)) > 0) return;
  throw new MemoryError('STORAGE_DAMAGED');
}
