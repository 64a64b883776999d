import { MemoryError } from '../../core/errors.ts';
import type { PageRequest } from '../../core/contracts/storage.ts';

/** The part of a list's query that pages it. */
export interface PageQuery {
  limit?: number;
  cursor?: string;
  order?: 'asc' | 'desc';
}

const DEFAULT_LIMIT = 50;
const MAX_CURSOR = 4_096;

/** Turns a query into a page request; throws `INVALID_CURSOR` for a cursor of another list or filter. */
export function parsePage(
  query: PageQuery,
  { tag, defaultOrder }: { tag: string; defaultOrder: 'asc' | 'desc' },
): PageRequest {
  const order = query.order ?? defaultOrder;
  const after = query.cursor === undefined ? null : decode(query.cursor, `${tag} ${order}`);
  return { limit: query.limit ?? DEFAULT_LIMIT, order, after };
}

/** The cursor of the next page; `null` at the end. */
export function toCursor(next: PageRequest['after'], tag: string, order: string): string | null {
  return next === null ? null : encode(`${tag} ${order}`, next);
}

function encode(tag: string, key: NonNullable<PageRequest['after']>): string {
  return Buffer.from(JSON.stringify([tag, ...key])).toString('base64url');
}

function decode(cursor: string, tag: string): NonNullable<PageRequest['after']> {
  if (cursor.length > MAX_CURSOR) throw new MemoryError('INVALID_CURSOR');
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch (cause) {
    throw new MemoryError('INVALID_CURSOR', undefined, { cause });
  }
  const key: unknown[] = Array.isArray(decoded) ? decoded.slice(1) : [];
  const isKey = key.length > 0 && key.every((part) => typeof part === 'string');
  if (!isKey || encode(tag, key as string[]) !== cursor) throw new MemoryError('INVALID_CURSOR');
  return key as string[];
}
