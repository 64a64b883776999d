import type { Knex } from 'knex';
import type { AccessRecord, FileKey } from '../../contracts/records.ts';
import type { AccessFilter, PageRequest, PageResult } from '../../contracts/storage.ts';
import { assertFileKey, physicalPathSql, type PrefixRange, toScope } from '../../files/paths.ts';
import type { Row } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import type { Filter } from './page.ts';
import {
  containsText,
  matches,
  parseIds,
  readPage,
  startsWith,
  toIdPage,
  walkIndex,
} from './page.ts';
import { toScopedRange } from './physical-prefix.ts';
import { findFileNo, hasScope } from './revision-list.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { ACCESS_ROWS } from '../schema/records.ts';

const EMPTY: PageResult<AccessRecord> = { items: [], next: null };

/** What a walk goes along. */
type WalkKind = Exclude<keyof typeof INDEXES, 'elsewhere'> | 'revision_id';

type IdColumn = 'tool_call_id' | 'revision_id' | 'trace_id' | 'run_id';

/** The rows of a page that `narrow` finds on an index, and that `more` and the whole filter keep. */
type Walk = (
  narrow: Filter,
  options?: { more?: readonly Filter[]; index?: keyof typeof INDEXES },
) => Promise<PageResult<AccessRecord>>;

/** The parts of a filter that choose the walk. */
interface AccessKeys {
  path: FileKey | null;
  range: PrefixRange;
  ids: ReadonlyMap<IdColumn, Buffer>;
  userId: string | null;
}

/**
 * Access rows by id, walked along the narrowest index that the filter has:
 *
 * 1. `toKeys` finds scope, path and ids; where no row can match, nothing is read.
 * 2. `chooseWalk` chooses the index.
 * 3. What the index can't decide is left to `toFilters`.
 * 4. The rows are read in one walk, or in two whose pages are merged.
 */
export async function listAccess(
  connection: KnexConnection,
  filter: AccessFilter,
  page: PageRequest,
): Promise<PageResult<AccessRecord>> {
  const idPage = toIdPage(page);
  const keys = await toKeys(connection, filter);
  if (keys === null) return EMPTY;
  const { range, ids, userId } = keys;
  const by = chooseWalk(filter, ids, range);
  const times = withinTimes('a', await readIdSkew(connection), filter);
  const contains = containsText(connection, physicalPathSql('s.scope', 'a.path'), filter.contains);
  const filters = [...times.filters, ...toFilters(filter, { ...keys, by }), ...contains];
  const isScopeRead = range.kind !== 'all' || userId !== null || contains.length > 0;

  const walk: Walk = (
    narrow,
    { more = [], index = by === 'revision_id' ? 'path' : by }: Parameters<Walk>[1] = {},
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
        if (isScopeRead) query.joinRaw('cross join svc_scope s on s.scope_id = a.scope_id');
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
      const [of, without] = await walkFile(connection, walk, keys.path as FileKey);
      return of === null ? without : mergePages(of, without, page);
    }
    case 'user': {
      const elsewhere = await walk((query) => void query.where('a.user_id', userId), {
        index: 'elsewhere',
      });
      if (filter.isElsewhere === true) return elsewhere;
      const ownId = toScopeId(toScope({ userId }));
      const own = await walk((query) => void query.where('a.scope_id', ownId));
      return mergePages(own, elsewhere, page);
    }
    case 'revision_id':
      return await walkRevision(connection, walk, ids.get(by) as Buffer);
    case 'scope':
      return await walk((query) => void query.where('a.scope_id', scopeIdOf(range)));
    case 'outcome':
      return await walk(
        (query) =>
          void query.where('a.outcome', filter.outcome ?? '').whereRaw("a.outcome <> 'ok'"),
      );
    case 'id':
      return await walk(() => undefined);
    default:
      return await walk(
        (query) => void query.where(`a.${by}`, ids.get(by) as Buffer).whereNotNull(`a.${by}`),
      );
  }
}

/** `null` where no row can match: another scope than the path's, an unknown scope, a malformed id. */
async function toKeys(
  connection: KnexConnection,
  filter: AccessFilter,
): Promise<AccessKeys | null> {
  const path = filter.path ?? null;
  if (path !== null) assertFileKey(path);
  if (path !== null && typeof filter.scope === 'string' && path.scope !== filter.scope) return null;
  const range = toScopedRange(path?.scope ?? filter.scope ?? null, filter.prefix ?? '');
  if (range.kind === 'none') return null;
  if (range.kind === 'scope' && !(await hasScope(connection, range.scope))) return null;
  const ids = parseIds({
    tool_call_id: filter.toolCallId,
    revision_id: filter.revisionId,
    trace_id: filter.traceId,
    run_id: filter.runId,
  });
  return ids === null ? null : { path, range, ids, userId: filter.userId ?? null };
}

/** What each row is compared with, except what the walk `by` finds alone. */
function toFilters(
  filter: AccessFilter,
  { range, ids, userId, by }: AccessKeys & { by: WalkKind },
): Filter[] {
  const { actions } = filter;
  const filters = matches({
    'a.actor': filter.actor,
    'a.key_name': filter.key,
    'a.tool': filter.tool,
    'a.action': filter.action,
  });
  if (Array.isArray(actions)) filters.push((query) => void query.whereIn('a.action', actions));
  if (userId !== null && filter.isElsewhere === true) {
    filters.push((query) => void query.where('a.user_id', userId));
  } else if (userId !== null) filters.push((query) => isFor(query, userId));
  for (const [column, bytes] of ids)
    if (column !== by) filters.push(...matches({ [`a.${column}`]: bytes }));
  if (by !== 'outcome') filters.push(...matches({ 'a.outcome': filter.outcome }));
  if (range.kind !== 'all') filters.push((query) => inRange(query, range));
  return filters;
}

/** The rows of the file, if there is one, and rows of its path from before the file existed. */
async function walkFile(
  connection: KnexConnection,
  walk: Walk,
  { scope, path }: FileKey,
): Promise<[of: PageResult<AccessRecord> | null, without: PageResult<AccessRecord>]> {
  const fileNo = await findFileNo(connection, { scope, path });
  const scopeId = toScopeId(scope);
  const without = await walk(
    (query) => void query.where('a.scope_id', scopeId).whereNull('a.file_no'),
    { more: [(query) => void query.where('a.path', path)] },
  );
  if (fileNo === null) return [null, without];
  const of = await walk(
    (query) => void query.where({ 'a.scope_id': scopeId, 'a.file_no': fileNo }),
  );
  return [of, without];
}

/**
 * The revision belongs to one file, whose index finds the rows. If the revision was pruned, the file
 * is unknown and all rows are walked.
 */
async function walkRevision(
  connection: KnexConnection,
  walk: Walk,
  revisionId: Buffer,
): Promise<PageResult<AccessRecord>> {
  const file = await findFileOfRevision(connection, revisionId);
  const more: Filter[] = [(query) => void query.where('a.revision_id', revisionId)];
  return file === null
    ? await walk(() => undefined, { more, index: 'id' })
    : await walk((query) => void query.where(file), { more });
}

const INDEXES = {
  tool_call_id: 'svc_access_log_tool_call',
  trace_id: 'svc_access_log_trace',
  run_id: 'svc_access_log_run',
  path: 'svc_access_log_file',
  // No index: the table is ordered by scope.
  scope: null,
  user: null,
  elsewhere: 'svc_access_log_user',
  outcome: 'svc_access_log_outcome',
  id: 'svc_access_log_id',
} as const;

function chooseWalk(
  filter: AccessFilter,
  ids: ReadonlyMap<IdColumn, Buffer>,
  range: PrefixRange,
): WalkKind {
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

/** Accesses for a user: in the user's own memory, in shared memory and in spaces. */
function isFor(query: Knex.QueryBuilder, userId: string): void {
  const scope = toScope({ userId });
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
  } else if (range.kind === 'scopes') {
    query.where('s.scope', '>=', range.from).where('s.scope', '<', range.to);
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
