import type { Knex } from 'knex';
import type { FileListing, ScopeKey } from '../../contracts/records.ts';
import type { FileFilter, FileSort, PageRequest, PageResult } from '../../contracts/storage.ts';
import type { Row } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import type { Filter, KeysetQuery } from './page.ts';
import {
  checkLimit,
  containsText,
  EXAMINED_ROWS,
  parsePageKey,
  readPage,
  startsWith,
  walkIndex,
} from './page.ts';
import { type PrefixRange, physicalPathSql } from '../../files/paths.ts';
import { toScopedRange } from './physical-prefix.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { AFTER_ALL, compareText } from './text-range.ts';
import { FILE_LISTINGS, FILES } from '../schema/records.ts';

/** How each sort walks. `path` goes scope by scope and has its own function below. */
const SORTS = {
  updatedAt: { column: 'updated_at', index: 'svc_file_updated' },
  size: { column: 'size', index: null },
  writes: { column: 'writes', index: null },
} as const satisfies Partial<Record<FileSort, { column: string; index: string | null }>>;

/** Lists the files of all scopes in one of the sorts. */
export async function listAllFiles(
  connection: KnexConnection,
  filter: FileFilter,
  page: PageRequest & { sort: FileSort },
): Promise<PageResult<FileListing>> {
  checkLimit(page.limit);
  const range = toScopedRange(filter.scope ?? null, filter.prefix ?? '');
  if (range.kind === 'none') return { items: [], next: null };
  const filters = containsText(connection, physicalPathSql('s.scope', 'f.path'), filter.contains);
  const list = { range, filters, page };
  switch (page.sort) {
    case 'path':
      return await listByPath(connection, list);
    case 'reads':
      return await readPage(connection, byReads(connection, list));
    default:
      return await readPage(connection, byColumn(connection, list, SORTS[page.sort]));
  }
}

type ScopeRange = Extract<PrefixRange, { kind: 'scope' }>;

/** A query for the files of a range that pass the filters. */
interface FileQuery<Range = PrefixRange> {
  range: Range;
  filters: readonly Filter[];
  page: PageRequest;
}

/**
 * Lists by scope, then path: first the rest of the scope where the last page ended, then the scopes
 * after it. Each part is one walk over an index.
 */
async function listByPath(
  connection: KnexConnection,
  list: FileQuery,
): Promise<PageResult<FileListing>> {
  const { range, page } = list;
  const after = parsePageKey(page.after, ['string', 'string']);
  const [scopeAfter, pathAfter] = (after ?? [null, null]) as [ScopeKey | null, string | null];
  if (range.kind === 'scope') {
    if (scopeAfter !== null && !isAhead(range.scope, scopeAfter, page.order)) {
      if (scopeAfter !== range.scope) return { items: [], next: null };
      return await readPage(connection, byPathIn(connection, { ...list, range }, pathAfter));
    }
    return await readPage(connection, byPathIn(connection, { ...list, range }, null));
  }
  const head: PageResult<FileListing> =
    scopeAfter === null
      ? { items: [], next: null }
      : await readPage(
          connection,
          byPathIn(
            connection,
            { ...list, range: { kind: 'scope', scope: scopeAfter, pathPrefix: '' } },
            pathAfter,
          ),
        );
  if (head.next !== null) return head;
  const limit = page.limit - head.items.length;
  if (limit === 0) {
    const last = head.items.at(-1) as FileListing;
    return { items: head.items, next: [last.scope, last.path] };
  }
  const rest = { ...list, page: { ...page, limit } };
  const scopes = await readScopesAhead(connection, rest, scopeAfter);
  if (scopes === null) return head;
  const tail = await readPage(
    connection,
    byPathAcross(connection, rest, { scopeAfter, last: scopes.last }),
  );
  const { isEnd, last } = scopes;
  const next = tail.next ?? (isEnd ? null : [last, page.order === 'asc' ? AFTER_ALL : '']);
  return { items: [...head.items, ...tail.items], next };
}

/** The most scopes that one page walks. */
const SCOPES_AT_ONCE = 5_000;

/**
 * The last of the next scopes that a page needs, and whether others follow; `null` if there is none.
 * Without it, MariaDB would sort the files of all scopes for each page.
 */
async function readScopesAhead(
  connection: KnexConnection,
  { range, filters, page }: FileQuery,
  scopeAfter: ScopeKey | null,
): Promise<{ last: ScopeKey; isEnd: boolean } | null> {
  const most = filters.length === 0 ? page.limit + 1 : SCOPES_AT_ONCE;
  const query = walkIndex(connection, 'svc_scope', { as: 's', index: 'svc_scope_scope' });
  if (scopeAfter !== null) query.where('s.scope', page.order === 'asc' ? '>' : '<', scopeAfter);
  const rows = (await inScopeRange(query, range)
    .where('s.files', '>', 0)
    .orderBy('s.scope', page.order)
    .limit(most)
    .select('s.scope', 's.files')) as Row[];
  let wanted = filters.length === 0 ? page.limit + 1 : EXAMINED_ROWS;
  const enough = rows.findIndex((row) => (wanted -= toInteger(row['files'])) <= 0);
  const last = enough === -1 ? rows.at(-1) : rows[enough];
  if (last === undefined) return null;
  const isEnd = rows.length < most && last === rows.at(-1);
  return { last: toText(last['scope']) as ScopeKey, isEnd };
}

function isAhead(scope: string, after: string, order: 'asc' | 'desc'): boolean {
  return order === 'asc' ? compareText(scope, after) > 0 : compareText(scope, after) < 0;
}

function byPathIn(
  connection: KnexConnection,
  list: FileQuery<ScopeRange>,
  pathAfter: string | null,
): KeysetQuery<FileListing> {
  const { range } = list;
  return {
    ...filesOf(list),
    pick: { scope_id: 'f.scope_id', path: 'f.path' },
    key: ['path'],
    after: pathAfter === null ? null : [pathAfter],
    isOrdered: true,
    walk: () => walkScope(connection, range),
    bounds: (query) => void startsWith(query, 'f.path', range.pathPrefix),
    toPageKey: (row) => [range.scope, toText(row['path'])],
  };
}

function byPathAcross(
  connection: KnexConnection,
  list: FileQuery,
  { scopeAfter, last }: { scopeAfter: ScopeKey | null; last: ScopeKey },
): KeysetQuery<FileListing> {
  const { range, filters, page } = list;
  const [ahead, upTo] = page.order === 'asc' ? ['>', '<='] : ['<', '>='];
  return {
    ...filesOf(list),
    // The range already bounds the walk, so no row is tested for it.
    filters,
    pick: { scope: 's.scope', scope_id: 'f.scope_id', path: 'f.path' },
    key: ['scope', 'path'],
    after: null,
    isOrdered: true,
    walk: () => {
      const query = walkIndex(connection, 'svc_scope', { as: 's', index: 'svc_scope_scope' })
        .joinRaw('cross join svc_file f on f.scope_id = s.scope_id')
        .whereNull('f.deleted_at');
      if (scopeAfter !== null) query.where('s.scope', ahead, scopeAfter);
      return query.where('s.scope', upTo, last);
    },
    bounds: (query) => void inScopeRange(query, range),
    // The walk already joins the scope.
    join: () => undefined,
    toPageKey: (row) => [toText(row['scope']), toText(row['path'])],
  };
}

function byColumn(
  connection: KnexConnection,
  list: FileQuery,
  { column, index }: { column: string; index: string | null },
): KeysetQuery<FileListing> {
  const { range, page } = list;
  return {
    ...filesOf(list),
    pick: { [column]: `f.${column}`, scope_id: 'f.scope_id', path: 'f.path' },
    key: [column, 'scope_id', 'path'],
    after: parsePageKey(page.after, ['number', 'number', 'string']),
    isOrdered: index !== null && range.kind !== 'scope',
    walk: () =>
      range.kind === 'scope'
        ? startsWith(walkScope(connection, range), 'f.path', range.pathPrefix)
        : walkIndex(connection, 'svc_file', { as: 'f', index }).whereNull('f.deleted_at'),
    toPageKey: (row) => [toInteger(row[column]), toInteger(row['scope_id']), toText(row['path'])],
  };
}

function byReads(connection: KnexConnection, list: FileQuery): KeysetQuery<FileListing> {
  const { range, filters, page } = list;
  // With a filter, walks the files by path, counts those that pass and sorts them. Walking in the
  // order of reads would look each file up first.
  const isOrdered = range.kind === 'all' && filters.length === 0;
  return {
    ...filesOf(list),
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
        return walkIndex(connection, 'svc_file_stat', { as: 't', index: 'svc_file_stat_reads' })
          .where('t.file_no', '>', 0)
          .joinRaw('cross join svc_file f on f.scope_id = t.scope_id and f.file_no = t.file_no')
          .whereNull('f.deleted_at');
      }
      const query = walkIndex(connection, 'svc_file', { as: 'f', index: null })
        .joinRaw('cross join svc_scope s on s.scope_id = f.scope_id')
        .joinRaw('cross join svc_file_stat t on t.scope_id = f.scope_id and t.file_no = f.file_no')
        .whereNull('f.deleted_at');
      if (range.kind !== 'scope') return query;
      return startsWith(
        query.where('f.scope_id', toScopeId(range.scope)),
        'f.path',
        range.pathPrefix,
      );
    },
    join: () => undefined,
    toPageKey: (row) => [
      toInteger(row['reads']),
      toInteger(row['scope_id']),
      toInteger(row['file_no']),
    ],
  };
}

/** The part that all sorts share: joins the whole file and compares the scope's text. */
function filesOf({
  range,
  filters,
  page: { limit, order },
}: FileQuery): Pick<
  KeysetQuery<FileListing>,
  'limit' | 'order' | 'filters' | 'join' | 'complete' | 'toItem'
> {
  return {
    limit,
    order,
    filters:
      range.kind === 'scopes' ? [...filters, (query) => void inScopeRange(query, range)] : filters,
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

/** Limits a query over scopes, `s`, to those of a range. */
export function inScopeRange(query: Knex.QueryBuilder, range: PrefixRange): Knex.QueryBuilder {
  if (range.kind === 'scope') return query.where('s.scope', range.scope);
  if (range.kind !== 'scopes') return query;
  return query.where('s.scope', '>=', range.from).where('s.scope', '<', range.to);
}
