import type { Knex } from 'knex';
import type { AccessRecord, ScopeKey } from '../../contracts/records.ts';
import type { AccessFilter, PageRequest, PageResult } from '../../contracts/storage.ts';
import { assertFileKey } from '../../files/paths.ts';
import type { KnexConnection, Row } from '../dialect.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import type { Filter } from './page.ts';
import { matches, parseIds, readPage, startsWith, toIdPage, walkIndex } from './page.ts';
import type { PrefixRange } from './physical-prefix.ts';
import { toScopedRange } from './physical-prefix.ts';
import { findFileNo, hasScope } from './revision-list.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { ACCESS_ROWS } from '../schema/records.ts';

const EMPTY: PageResult<AccessRecord> = { items: [], next: null };

type IdColumn = 'tool_call_id' | 'revision_id' | 'trace_id' | 'run_id';

/** Access rows by id, walked along the narrowest index that the filter has. */
export async function listAccess(
  connection: KnexConnection,
  filter: AccessFilter,
  page: PageRequest,
): Promise<PageResult<AccessRecord>> {
  const idPage = toIdPage(page);
  const path = filter.path ?? null;
  if (path !== null) assertFileKey(path);
  if (path !== null && typeof filter.scope === 'string' && path.scope !== filter.scope)
    return EMPTY;
  const range = toScopedRange(path?.scope ?? filter.scope ?? null, filter.prefix ?? '');
  if (range.kind === 'none') return EMPTY;
  if (range.kind === 'scope' && !(await hasScope(connection, range.scope))) return EMPTY;

  const ids = parseIds({
    tool_call_id: filter.toolCallId,
    revision_id: filter.revisionId,
    trace_id: filter.traceId,
    run_id: filter.runId,
  });
  if (ids === null) return EMPTY;
  const times = withinTimes('a', await readIdSkew(connection), filter);
  const filters: Filter[] = [
    ...times.filters,
    ...matches({ 'a.actor': filter.actor, 'a.tool': filter.tool, 'a.action': filter.action }),
  ];
  const { actions } = filter;
  if (Array.isArray(actions)) filters.push((query) => void query.whereIn('a.action', actions));

  const userId = filter.userId ?? null;
  if (userId !== null) filters.push((query) => isFor(query, userId));

  const by = chooseWalk(filter, ids, range);
  for (const [column, bytes] of ids)
    if (column !== by) filters.push(...matches({ [`a.${column}`]: bytes }));
  if (by !== 'outcome') filters.push(...matches({ 'a.outcome': filter.outcome }));
  if (range.kind !== 'all') filters.push((query) => inRange(query, range));

  const walkOf = (
    narrow: Filter,
    more: readonly Filter[],
    index: keyof typeof INDEXES = by === 'revision_id' ? 'path' : by,
  ) =>
    readPage(connection, {
      ...idPage,
      pick: { scope_id: 'a.scope_id', id: 'a.id' },
      walk: () => {
        const query = walkIndex(connection, 'svc_access_log', { as: 'a', index: INDEXES[index] });
        narrow(query);
        return query;
      },
      bounds: times.walk,
      join: (query) => {
        if (range.kind !== 'all' || userId !== null)
          query.joinRaw('cross join svc_scope s on s.scope_id = a.scope_id');
      },
      complete: (query) => {
        query
          .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
          .joinRaw('cross join svc_access_log a on a.scope_id = k.scope_id and a.id = k.id')
          .select('s.scope', ...ACCESS_ROWS.select('a'));
      },
      filters: [...filters, ...more],
      toItem: (row) => ACCESS_ROWS.toRecord(row),
    });

  switch (by) {
    case 'path': {
      // The rows of the file, and rows of its path from before the file existed.
      const key = path as NonNullable<typeof path>;
      const fileNo = await findFileNo(connection, key);
      const scopeId = toScopeId(key.scope);
      const without = await walkOf(
        (query) => void query.where('a.scope_id', scopeId).whereNull('a.file_no'),
        [(query) => void query.where('a.path', key.path)],
      );
      if (fileNo === null) return without;
      const of = await walkOf(
        (query) => void query.where({ 'a.scope_id': scopeId, 'a.file_no': fileNo }),
        [],
      );
      return mergePages(of, without, page);
    }
    case 'user': {
      const own = await walkOf(
        (query) => void query.where('a.scope_id', toScopeId(toUserScope(userId ?? ''))),
        [],
      );
      const shared = await walkOf(
        (query) => void query.where('a.user_id', userId ?? ''),
        [],
        'shared',
      );
      return mergePages(own, shared, page);
    }
    case 'revision_id': {
      // The revision belongs to one file, whose index finds the rows. If the revision was pruned,
      // the file is unknown and all rows are walked.
      const revisionId = ids.get(by) as Buffer;
      const file = await findFileOfRevision(connection, revisionId);
      const ofRevision: Filter = (query) => void query.where('a.revision_id', revisionId);
      return file === null
        ? await walkOf(() => undefined, [ofRevision], 'id')
        : await walkOf((query) => void query.where(file), [ofRevision]);
    }
    case 'scope':
      return await walkOf((query) => void query.where('a.scope_id', scopeIdOf(range)), []);
    case 'outcome':
      return await walkOf(
        (query) =>
          void query.where('a.outcome', filter.outcome ?? '').whereRaw("a.outcome <> 'ok'"),
        [],
      );
    case 'id':
      return await walkOf(() => undefined, []);
    default:
      return await walkOf(
        (query) => void query.where(`a.${by}`, ids.get(by) as Buffer).whereNotNull(`a.${by}`),
        [],
      );
  }
}

const INDEXES = {
  tool_call_id: 'svc_access_log_tool_call',
  trace_id: 'svc_access_log_trace',
  run_id: 'svc_access_log_run',
  path: 'svc_access_log_file',
  // No index: the table is ordered by scope.
  scope: null,
  user: null,
  shared: 'svc_access_log_user',
  outcome: 'svc_access_log_outcome',
  id: 'svc_access_log_id',
} as const;

function chooseWalk(
  filter: AccessFilter,
  ids: ReadonlyMap<IdColumn, Buffer>,
  range: PrefixRange,
): Exclude<keyof typeof INDEXES, 'shared'> | 'revision_id' {
  if (ids.has('tool_call_id')) return 'tool_call_id';
  if (ids.has('trace_id')) return 'trace_id';
  if (ids.has('run_id')) return 'run_id';
  if (filter.path !== null && filter.path !== undefined && !ids.has('revision_id')) return 'path';
  if (ids.has('revision_id')) return 'revision_id';
  if (range.kind === 'scope') return 'scope';
  if (range.kind === 'all' && typeof filter.userId === 'string') return 'user';
  if (typeof filter.outcome === 'string' && filter.outcome !== 'ok') return 'outcome';
  return 'id';
}

async function findFileOfRevision(
  connection: KnexConnection,
  id: Buffer,
): Promise<{ 'a.scope_id': number; 'a.file_no': number } | null> {
  const row = (await connection.knex('svc_revision').where({ id }).first('scope_id', 'file_no')) as
    Row | undefined;
  if (row === undefined) return null;
  return { 'a.scope_id': toInteger(row['scope_id']), 'a.file_no': toInteger(row['file_no']) };
}

function toUserScope(userId: string): ScopeKey {
  return `u:${userId}`;
}

/** Accesses for a user: in the user's own memory and in shared memory. */
function isFor(query: Knex.QueryBuilder, userId: string): void {
  const scope = toUserScope(userId);
  query.where((either) =>
    either.where({ 'a.scope_id': toScopeId(scope), 's.scope': scope }).orWhere('a.user_id', userId),
  );
}

function scopeIdOf(range: PrefixRange): number {
  return range.kind === 'scope' ? toScopeId(range.scope) : 0;
}

function inRange(query: Knex.QueryBuilder, range: PrefixRange): void {
  if (range.kind === 'scope') {
    query.where('a.scope_id', toScopeId(range.scope)).where('s.scope', range.scope);
    startsWith(query, 'a.path', range.pathPrefix);
  } else if (range.kind === 'users') {
    startsWith(query, 's.scope', range.scopePrefix);
  }
}

/** Merges two pages in the same order, up to where both are known. */
function mergePages(
  left: PageResult<AccessRecord>,
  right: PageResult<AccessRecord>,
  page: PageRequest,
): PageResult<AccessRecord> {
  // Ids have one length and alphabet, so they sort as text.
  const isBefore = (one: string, other: string) =>
    page.order === 'asc' ? one < other : one > other;
  const ends = [left.next, right.next].flatMap((next) => (next === null ? [] : [String(next[0])]));
  const end = ends.reduce<string | null>(
    (nearest, each) => (nearest === null || isBefore(each, nearest) ? each : nearest),
    null,
  );
  const items = [...left.items, ...right.items]
    .filter(({ id }) => end === null || !isBefore(end, id))
    .sort((one, other) => (one.id === other.id ? 0 : isBefore(one.id, other.id) ? -1 : 1));
  const shown = items.slice(0, page.limit);
  const last = shown.at(-1);
  const isCut = items.length > shown.length;
  return {
    items: shown,
    next: isCut && last !== undefined ? [last.id] : end === null ? null : [end],
  };
}
