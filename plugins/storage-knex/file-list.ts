import type { Knex } from 'knex';
import type { FileListing, ScopeKey } from '../../core/contracts/records.ts';
import type {
  FileFilter,
  FileSort,
  PageRequest,
  PageResult,
} from '../../core/contracts/storage.ts';
import type { Database } from './database.ts';
import type { Dialect, Row } from './dialect.ts';
import type { KeysetQuery } from './page.ts';
import { checkLimit, parsePageKey, readPage } from './page.ts';
import type { PrefixRange } from './physical-prefix.ts';
import { toScopedRange } from './physical-prefix.ts';
import { FILE_COLUMNS, toFileListing, toInteger, toText } from './rows.ts';
import { toScopeId } from './scope-id.ts';
import { compareText, successorOf } from './text-range.ts';

/** How each sort is walked. `path` goes scope by scope, and is written out below. */
const SORTS = {
  updatedAt: { column: 'updated_at', index: 'svc_file_updated' },
  size: { column: 'size', index: null },
  writes: { column: 'writes', index: null },
} as const satisfies Partial<Record<FileSort, { column: string; index: string | null }>>;

/** The files of all scopes that exist, by one of the sorts. */
export async function listAllFiles(
  knex: Knex,
  { dialect }: Pick<Database, 'dialect'>,
  filter: FileFilter,
  page: PageRequest & { sort: FileSort },
): Promise<PageResult<FileListing>> {
  checkLimit(page.limit);
  const range = toScopedRange(filter.scope ?? null, filter.prefix ?? '');
  if (range.kind === 'none') return { items: [], next: null };
  const contains = filter.contains ?? '';
  const filters =
    contains === ''
      ? []
      : [(query: Knex.QueryBuilder) => containsPath(knex, dialect, query, contains)];
  switch (page.sort) {
    case 'path':
      return await listByPath(knex, dialect, range, filters, page);
    case 'reads':
      return await readPage(knex, byReads(knex, dialect, range, filters, page));
    default:
      return await readPage(knex, byColumn(knex, dialect, range, filters, page, SORTS[page.sort]));
  }
}

type Filters = KeysetQuery<FileListing>['filters'];

/**
 * By scope, then path: what is left of the scope where the last page ended, and then the scopes
 * after it, so that each of the two is one walk over an index.
 */
async function listByPath(
  knex: Knex,
  dialect: Dialect,
  range: PrefixRange,
  filters: Filters,
  page: PageRequest,
): Promise<PageResult<FileListing>> {
  const after = parsePageKey(page.after, ['string', 'string']);
  const [scopeAfter, pathAfter] = (after ?? [null, null]) as [ScopeKey | null, string | null];
  if (range.kind === 'scope') {
    if (scopeAfter !== null && !isAhead(range.scope, scopeAfter, page.order)) {
      if (scopeAfter !== range.scope) return { items: [], next: null };
      return await readPage(knex, byPathIn(knex, range, filters, page, pathAfter));
    }
    return await readPage(knex, byPathIn(knex, range, filters, page, null));
  }
  const head: PageResult<FileListing> =
    scopeAfter === null
      ? { items: [], next: null }
      : await readPage(
          knex,
          byPathIn(
            knex,
            { kind: 'scope', scope: scopeAfter, pathPrefix: '' },
            filters,
            page,
            pathAfter,
          ),
        );
  if (head.next !== null) return head;
  const limit = page.limit - head.items.length;
  if (limit === 0) {
    const last = head.items.at(-1) as FileListing;
    return { items: head.items, next: [last.scope, last.path] };
  }
  const tail = await readPage(
    knex,
    byPathAcross(knex, dialect, range, filters, { ...page, limit }, scopeAfter),
  );
  return { items: [...head.items, ...tail.items], next: tail.next };
}

function isAhead(scope: string, after: string, order: 'asc' | 'desc'): boolean {
  return order === 'asc' ? compareText(scope, after) > 0 : compareText(scope, after) < 0;
}

function byPathIn(
  knex: Knex,
  range: Extract<PrefixRange, { kind: 'scope' }>,
  filters: Filters,
  page: PageRequest,
  pathAfter: string | null,
): KeysetQuery<FileListing> {
  return {
    ...pageOf(page),
    key: ['f.path'],
    after: pathAfter === null ? null : [pathAfter],
    walk: () => {
      const query = knex('svc_file as f').where('f.scope_id', toScopeId(range.scope));
      return inPathRange(query, range.pathPrefix).whereNull('f.deleted_at');
    },
    complete: (query) => {
      joinScope(query).where('s.scope', range.scope);
      joinStat(query);
    },
    filters,
    toItem: toListing,
    toPageKey: (row) => [range.scope, toText(row['path'])],
  };
}

function byPathAcross(
  knex: Knex,
  dialect: Dialect,
  range: PrefixRange,
  filters: Filters,
  page: PageRequest,
  scopeAfter: string | null,
): KeysetQuery<FileListing> {
  return {
    ...pageOf(page),
    key: ['s.scope', 'f.path'],
    after: null,
    walk: () => {
      const query = knex
        .from(knex.raw(dialect.byIndex('svc_scope', 's', 'svc_scope_scope')))
        .joinRaw('cross join svc_file f on f.scope_id = s.scope_id')
        .whereNull('f.deleted_at');
      if (scopeAfter !== null) query.where('s.scope', page.order === 'asc' ? '>' : '<', scopeAfter);
      return inScopeRange(query, range);
    },
    complete: (query) => {
      query.select('s.scope', ...FILE_COLUMNS);
      joinStat(query);
    },
    filters,
    toItem: toListing,
    toPageKey: (row) => [toText(row['scope']), toText(row['path'])],
  };
}

function byColumn(
  knex: Knex,
  dialect: Dialect,
  range: PrefixRange,
  filters: Filters,
  page: PageRequest,
  { column, index }: { column: string; index: string | null },
): KeysetQuery<FileListing> {
  const after = parsePageKey(page.after, ['number', 'number', 'string']);
  return {
    ...pageOf(page),
    key: [`f.${column}`, 'f.scope_id', 'f.path'],
    after,
    walk: () => {
      // One scope's files are few, or stand in that scope's own order already.
      const query =
        range.kind === 'scope'
          ? knex('svc_file as f').where('f.scope_id', toScopeId(range.scope))
          : knex.from(knex.raw(dialect.byIndex('svc_file', 'f', index)));
      if (range.kind === 'scope') inPathRange(query, range.pathPrefix);
      return query.whereNull('f.deleted_at');
    },
    complete: (query) => {
      inScopeRange(joinScope(query), range);
      joinStat(query);
    },
    filters: withScopeFilter(range, filters),
    toItem: toListing,
    toPageKey: (row) => [toInteger(row[column]), toInteger(row['scope_id']), toText(row['path'])],
  };
}

function byReads(
  knex: Knex,
  dialect: Dialect,
  range: PrefixRange,
  filters: Filters,
  page: PageRequest,
): KeysetQuery<FileListing> {
  return {
    ...pageOf(page),
    key: ['t.reads', 't.scope_id', 't.file_no'],
    after: parsePageKey(page.after, ['number', 'number', 'number']),
    walk: () => {
      const query =
        range.kind === 'scope'
          ? knex('svc_file_stat as t').where('t.scope_id', toScopeId(range.scope))
          : knex.from(knex.raw(dialect.byIndex('svc_file_stat', 't', 'svc_file_stat_reads')));
      return query.where('t.file_no', '>', 0);
    },
    complete: (query) => {
      query
        .joinRaw('cross join svc_file f on f.scope_id = t.scope_id and f.file_no = t.file_no')
        .whereNull('f.deleted_at')
        .select('t.reads', 't.last_read_at', 't.file_no');
      inScopeRange(joinScope(query), range);
      if (range.kind === 'scope') inPathRange(query, range.pathPrefix);
    },
    filters: withScopeFilter(range, filters),
    toItem: toListing,
    toPageKey: (row) => [
      toInteger(row['reads']),
      toInteger(row['scope_id']),
      toInteger(row['file_no']),
    ],
  };
}

/** A range of users is tested row by row when another order is walked, so the walk is bounded. */
function withScopeFilter(range: PrefixRange, filters: Filters): Filters {
  return range.kind === 'users'
    ? [...filters, (query) => void inScopeRange(query, range)]
    : filters;
}

function pageOf({ limit, order }: PageRequest): Pick<PageRequest, 'limit' | 'order'> {
  return { limit, order };
}

function joinScope(query: Knex.QueryBuilder): Knex.QueryBuilder {
  return query
    .joinRaw('cross join svc_scope s on s.scope_id = f.scope_id')
    .select('s.scope', 'f.scope_id', ...FILE_COLUMNS);
}

function joinStat(query: Knex.QueryBuilder): void {
  query
    .leftJoin('svc_file_stat as t', (join) =>
      join.on('t.scope_id', 'f.scope_id').andOn('t.file_no', 'f.file_no'),
    )
    .select('t.reads', 't.last_read_at');
}

function inScopeRange(query: Knex.QueryBuilder, range: PrefixRange): Knex.QueryBuilder {
  if (range.kind === 'scope') return query.where('s.scope', range.scope);
  if (range.kind !== 'users') return query;
  query.where('s.scope', '>=', range.scopePrefix);
  const end = successorOf(range.scopePrefix);
  return end === null ? query : query.where('s.scope', '<', end);
}

function inPathRange(query: Knex.QueryBuilder, prefix: string): Knex.QueryBuilder {
  if (prefix === '') return query;
  query.where('f.path', '>=', prefix);
  const end = successorOf(prefix);
  return end === null ? query : query.where('f.path', '<', end);
}

function containsPath(
  knex: Knex,
  dialect: Dialect,
  query: Knex.QueryBuilder,
  contains: string,
): void {
  const userPath = dialect.concat("'users/'", 'substr(s.scope, 3)', "'/'", 'f.path');
  const sharedPath = dialect.concat("'shared/'", 'f.path');
  const physical = `(case s.scope when 's' then ${sharedPath} else ${userPath} end)`;
  query.where(knex.raw(dialect.containsText(physical), [lowerAscii(contains)]));
}

/** Lower case as the databases make it: ASCII alone. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function toListing(row: Row): FileListing {
  return toFileListing(toText(row['scope']) as ScopeKey, row);
}
