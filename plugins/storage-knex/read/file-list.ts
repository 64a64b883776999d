import type { Knex } from 'knex';
import type { FileListing, ScopeKey } from '../../../core/contracts/records.ts';
import type {
  FileFilter,
  FileSort,
  PageRequest,
  PageResult,
} from '../../../core/contracts/storage.ts';
import type { KnexConnection } from '../dialects/dialect.ts';
import type { Filter, KeysetQuery } from './page.ts';
import { checkLimit, parsePageKey, readPage } from './page.ts';
import type { PrefixRange } from './physical-prefix.ts';
import { toScopedRange } from './physical-prefix.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { compareText, successorOf } from './text-range.ts';
import { FILE_LISTINGS, FILES } from '../schema/records.ts';

/** How each sort is walked. `path` goes scope by scope, and is written out below. */
const SORTS = {
  updatedAt: { column: 'updated_at', index: 'svc_file_updated' },
  size: { column: 'size', index: null },
  writes: { column: 'writes', index: null },
} as const satisfies Partial<Record<FileSort, { column: string; index: string | null }>>;

/** The files of all scopes that exist, by one of the sorts. */
export async function listAllFiles(
  connection: KnexConnection,
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
      : [(query: Knex.QueryBuilder) => containsPath(connection, query, contains)];
  switch (page.sort) {
    case 'path':
      return await listByPath(connection, range, filters, page);
    case 'reads':
      return await readPage(connection, byReads(connection, range, filters, page));
    default:
      return await readPage(
        connection,
        byColumn(connection, range, filters, page, SORTS[page.sort]),
      );
  }
}

type ScopeRange = Extract<PrefixRange, { kind: 'scope' }>;

/**
 * By scope, then path: what is left of the scope where the last page ended, and then the scopes
 * after it, so that each of the two is one walk over an index.
 */
async function listByPath(
  connection: KnexConnection,
  range: PrefixRange,
  filters: readonly Filter[],
  page: PageRequest,
): Promise<PageResult<FileListing>> {
  const after = parsePageKey(page.after, ['string', 'string']);
  const [scopeAfter, pathAfter] = (after ?? [null, null]) as [ScopeKey | null, string | null];
  if (range.kind === 'scope') {
    if (scopeAfter !== null && !isAhead(range.scope, scopeAfter, page.order)) {
      if (scopeAfter !== range.scope) return { items: [], next: null };
      return await readPage(connection, byPathIn(connection, range, filters, page, pathAfter));
    }
    return await readPage(connection, byPathIn(connection, range, filters, page, null));
  }
  const head: PageResult<FileListing> =
    scopeAfter === null
      ? { items: [], next: null }
      : await readPage(
          connection,
          byPathIn(
            connection,
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
    connection,
    byPathAcross(connection, range, filters, { ...page, limit }, scopeAfter),
  );
  return { items: [...head.items, ...tail.items], next: tail.next };
}

function isAhead(scope: string, after: string, order: 'asc' | 'desc'): boolean {
  return order === 'asc' ? compareText(scope, after) > 0 : compareText(scope, after) < 0;
}

function byPathIn(
  connection: KnexConnection,
  range: ScopeRange,
  filters: readonly Filter[],
  page: PageRequest,
  pathAfter: string | null,
): KeysetQuery<FileListing> {
  return {
    ...filesOf(page, range, filters),
    pick: { scope_id: 'f.scope_id', path: 'f.path' },
    key: ['path'],
    after: pathAfter === null ? null : [pathAfter],
    isOrdered: true,
    walk: () => walkScope(connection, range),
    bounds: (query) => void inPathRange(query, range.pathPrefix),
    toPageKey: (row) => [range.scope, toText(row['path'])],
  };
}

function byPathAcross(
  connection: KnexConnection,
  range: PrefixRange,
  filters: readonly Filter[],
  page: PageRequest,
  scopeAfter: string | null,
): KeysetQuery<FileListing> {
  return {
    ...filesOf(page, range, filters),
    // The bounds are the range's: no row is tested for it.
    filters,
    pick: { scope: 's.scope', scope_id: 'f.scope_id', path: 'f.path' },
    key: ['scope', 'path'],
    after: null,
    isOrdered: true,
    walk: () => {
      const query = connection.knex
        .from(connection.knex.raw(connection.dialect.byIndex('svc_scope', 's', 'svc_scope_scope')))
        .joinRaw('cross join svc_file f on f.scope_id = s.scope_id')
        .whereNull('f.deleted_at');
      if (scopeAfter !== null) query.where('s.scope', page.order === 'asc' ? '>' : '<', scopeAfter);
      return query;
    },
    bounds: (query) => void inScopeRange(query, range),
    // The walk has the scope already.
    join: () => undefined,
    toPageKey: (row) => [toText(row['scope']), toText(row['path'])],
  };
}

function byColumn(
  connection: KnexConnection,
  range: PrefixRange,
  filters: readonly Filter[],
  page: PageRequest,
  { column, index }: { column: string; index: string | null },
): KeysetQuery<FileListing> {
  return {
    ...filesOf(page, range, filters),
    pick: { [column]: `f.${column}`, scope_id: 'f.scope_id', path: 'f.path' },
    key: [column, 'scope_id', 'path'],
    after: parsePageKey(page.after, ['number', 'number', 'string']),
    isOrdered: index !== null && range.kind !== 'scope',
    walk: () =>
      range.kind === 'scope'
        ? inPathRange(walkScope(connection, range), range.pathPrefix)
        : connection.knex
            .from(connection.knex.raw(connection.dialect.byIndex('svc_file', 'f', index)))
            .whereNull('f.deleted_at'),
    toPageKey: (row) => [toInteger(row[column]), toInteger(row['scope_id']), toText(row['path'])],
  };
}

function byReads(
  connection: KnexConnection,
  range: PrefixRange,
  filters: readonly Filter[],
  page: PageRequest,
): KeysetQuery<FileListing> {
  // With a filter the files are walked in their own order, and what passes is counted and sorted:
  // in the order of reads each of them would have to be looked up first.
  const isOrdered = range.kind === 'all' && filters.length === 0;
  return {
    ...filesOf(page, range, filters),
    pick: {
      reads: 't.reads',
      scope_id: 't.scope_id',
      file_no: 't.file_no',
      path: 'f.path',
    },
    key: ['reads', 'scope_id', 'file_no'],
    after: parsePageKey(page.after, ['number', 'number', 'number']),
    isOrdered,
    walk: () => {
      if (isOrdered) {
        return connection.knex
          .from(
            connection.knex.raw(
              connection.dialect.byIndex('svc_file_stat', 't', 'svc_file_stat_reads'),
            ),
          )
          .where('t.file_no', '>', 0)
          .joinRaw('cross join svc_file f on f.scope_id = t.scope_id and f.file_no = t.file_no')
          .whereNull('f.deleted_at');
      }
      const query = connection.knex
        .from(connection.knex.raw(connection.dialect.byIndex('svc_file', 'f', null)))
        .joinRaw('cross join svc_scope s on s.scope_id = f.scope_id')
        .joinRaw('cross join svc_file_stat t on t.scope_id = f.scope_id and t.file_no = f.file_no')
        .whereNull('f.deleted_at');
      if (range.kind !== 'scope') return query;
      return inPathRange(query.where('f.scope_id', toScopeId(range.scope)), range.pathPrefix);
    },
    join: () => undefined,
    toPageKey: (row) => [
      toInteger(row['reads']),
      toInteger(row['scope_id']),
      toInteger(row['file_no']),
    ],
  };
}

/** What all sorts have in common: whole files, and the scope's text compared. */
function filesOf(
  { limit, order }: PageRequest,
  range: PrefixRange,
  filters: readonly Filter[],
): Pick<KeysetQuery<FileListing>, 'limit' | 'order' | 'filters' | 'join' | 'complete' | 'toItem'> {
  return {
    limit,
    order,
    filters:
      range.kind === 'users' ? [...filters, (query) => void inScopeRange(query, range)] : filters,
    join: (query) => void query.joinRaw('cross join svc_scope s on s.scope_id = f.scope_id'),
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('cross join svc_file f on f.scope_id = k.scope_id and f.path = k.path')
        .joinRaw('left join svc_file_stat t on t.scope_id = f.scope_id and t.file_no = f.file_no')
        .select('s.scope', ...FILES.select('f'), 't.reads', 't.last_read_at');
      if (range.kind === 'scope') query.where('s.scope', range.scope);
    },
    toItem: (row) => FILE_LISTINGS.toRecord(row),
  };
}

function walkScope(connection: KnexConnection, range: ScopeRange): Knex.QueryBuilder {
  return connection
    .knex('svc_file as f')
    .where('f.scope_id', toScopeId(range.scope))
    .whereNull('f.deleted_at');
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
  connection: KnexConnection,
  query: Knex.QueryBuilder,
  contains: string,
): void {
  const userPath = connection.dialect.concat("'users/'", 'substr(s.scope, 3)', "'/'", 'f.path');
  const sharedPath = connection.dialect.concat("'shared/'", 'f.path');
  const physical = `(case s.scope when 's' then ${sharedPath} else ${userPath} end)`;
  query.where(
    connection.knex.raw(connection.dialect.containsText(physical), [lowerAscii(contains)]),
  );
}

/** Lower case as the databases make it: ASCII alone. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
