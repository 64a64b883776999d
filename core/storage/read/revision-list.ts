import type { Knex } from 'knex';
import type { FileKey, RevisionRecord, ScopeKey } from '../../contracts/records.ts';
import type { PageRequest, PageResult, RevisionFilter } from '../../contracts/storage.ts';
import { fileNoOfLineage } from '../../files/lineage.ts';
import { assertFileKey, physicalPathSql, type PrefixRange, SHARED } from '../../files/paths.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import type { Filter } from './page.ts';
import { containsText, matches, parseIds, readPage, startsWith, toIdPage } from './page.ts';
import { inScopeRange } from './file-list.ts';
import { toScopedRange } from './physical-prefix.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { REVISIONS } from '../schema/records.ts';

const EMPTY: PageResult<RevisionRecord> = { items: [], next: null };
const LEAST_ID = Buffer.alloc(16);

/**
 * Lists revisions by id, along the narrowest index that the filter allows; its other conditions are
 * tested row by row.
 */
export async function listRevisions(
  connection: KnexConnection,
  filter: RevisionFilter,
  page: PageRequest,
): Promise<PageResult<RevisionRecord>> {
  const idPage = toIdPage(page);
  const [after = null] = idPage.after ?? [];
  const ids = parseIds({
    tool_call_id: filter.toolCallId,
    run_id: filter.runId,
    lineage_id: filter.lineageId,
    trace_id: filter.traceId,
  });
  if (ids === null) return EMPTY;
  const unnamed = fileNoOfLineage(filter.lineageId ?? '');
  const lineage = ids.get('lineage_id');
  // Rows from before lineages were kept have none.
  if (unnamed !== null) ids.delete('lineage_id');
  const named = filter.path?.scope ?? filter.scope ?? null;
  if (typeof filter.scope === 'string' && named !== filter.scope) return EMPTY;
  const range = toScopedRange(named, filter.prefix ?? '');
  if (range.kind === 'none') return EMPTY;
  const scope = range.kind === 'scope' ? range.scope : null;
  if (scope !== null && !(await hasScope(connection, scope))) return EMPTY;
  const times = withinTimes('r', await readIdSkew(connection), filter);
  const walk = chooseWalk(connection, { ...filter, scope }, ids);
  const filters: Filter[] = [...times.filters, ...matches({ 'r.action': filter.action })];
  for (const [column, bytes] of ids)
    if (column !== walk.by) filters.push(...matches({ [`r.${column}`]: bytes }));
  if (unnamed !== null) filters.push(ofLineage(lineage as Buffer, unnamed));
  if (walk.by !== 'actor') filters.push(...matches({ 'r.actor': filter.actor }));
  if (scope !== null && walk.by !== 'scope' && walk.by !== 'path')
    filters.push(...matches({ 'r.scope_id': toScopeId(scope) }));
  const ofPaths = toPathFilters(connection, filter.contains, range);
  filters.push(...ofPaths);

  let versionAfter: SqlValue[] | null = null;
  let fileNo: number | null = null;
  if (filter.path !== null && filter.path !== undefined) {
    assertFileKey(filter.path);
    fileNo = await findFileNo(connection, filter.path);
    if (fileNo === null) return EMPTY;
    if (walk.by !== 'path') filters.push(...matches({ 'r.file_no': fileNo }));
    else if (after !== null) {
      const version = await findVersionAfter(
        connection,
        { scope: filter.path.scope, fileNo },
        { after, order: page.order },
      );
      if (version === null) return EMPTY;
      versionAfter = [version];
    }
  }
  const byVersion = walk.by === 'path';
  return await readPage(connection, {
    ...idPage,
    pick: { scope_id: 'r.scope_id', file_no: 'r.file_no', version: 'r.version', id: 'r.id' },
    key: byVersion ? ['version'] : ['id'],
    after: byVersion ? versionAfter : idPage.after,
    walk: () => {
      const query = connection.knex.from(connection.knex.raw(walk.source));
      switch (walk.by) {
        case 'path':
          query.where({
            'r.scope_id': toScopeId(filter.path?.scope ?? SHARED),
            'r.file_no': fileNo,
          });
          break;
        case 'scope':
          query.where('r.scope_id', toScopeId(scope ?? SHARED));
          break;
        case 'actor':
          // The index omits the most common actor, so the query has to exclude it explicitly.
          query.where('r.actor', filter.actor ?? '').whereRaw("r.actor <> 'agent'");
          break;
        case 'id':
          // Every id is above it. Without a bound, MariaDB sorts the whole table if other tables are filtered, too.
          query.where('r.id', '>=', LEAST_ID);
          break;
        default:
          query.where(`r.${walk.by}`, ids.get(walk.by) as Buffer).whereNotNull(`r.${walk.by}`);
      }
      return query;
    },
    bounds: times.walk,
    join: (query) => void (ofPaths.length > 0 && joinFiles(query)),
    complete: (query) => {
      query
        .joinRaw(
          'cross join svc_revision r on r.scope_id = k.scope_id and r.file_no = k.file_no and r.version = k.version',
        )
        .joinRaw('cross join svc_scope s on s.scope_id = r.scope_id')
        .joinRaw('cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no')
        .select('s.scope', 'f.path', ...REVISIONS.select('r'));
    },
    filters,
    toItem: (row) => REVISIONS.toRecord(row),
  });
}

/** Rows from before lineages were kept have none: their file has the number of the lineage. */
function ofLineage(lineage: Buffer, fileNo: number): Filter {
  return (query) => {
    query.whereRaw('(r.lineage_id = ? or (r.lineage_id is null and r.file_no = ?))', [
      lineage,
      fileNo,
    ]);
  };
}

/** Filters of the path of a revision's file, `s` and `f`; none where any path will do. */
function toPathFilters(
  connection: KnexConnection,
  contains: string | null | undefined,
  range: PrefixRange,
): Filter[] {
  const filters = containsText(connection, physicalPathSql('s.scope', 'f.path'), contains);
  if (range.kind === 'scope' && range.pathPrefix !== '') {
    filters.push((query) => void startsWith(query, 'f.path', range.pathPrefix));
  }
  if (range.kind === 'scopes') filters.push((query) => void inScopeRange(query, range));
  return filters;
}

function joinFiles(query: Knex.QueryBuilder): void {
  query
    .joinRaw('cross join svc_scope s on s.scope_id = r.scope_id')
    .joinRaw('cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no');
}

interface Walk {
  by: 'lineage_id' | 'tool_call_id' | 'run_id' | 'trace_id' | 'path' | 'scope' | 'actor' | 'id';
  source: string;
}

function chooseWalk(
  connection: Connection,
  filter: RevisionFilter,
  ids: ReadonlyMap<string, Buffer>,
): Walk {
  const along = (by: Walk['by'], index: string | null): Walk => ({
    by,
    source: connection.dialect.byIndex('svc_revision', 'r', index),
  });
  if (ids.has('lineage_id')) return along('lineage_id', 'svc_revision_lineage');
  if (ids.has('tool_call_id')) return along('tool_call_id', 'svc_revision_tool_call');
  if (ids.has('run_id')) return along('run_id', 'svc_revision_run');
  if (ids.has('trace_id')) return along('trace_id', 'svc_revision_trace');
  // Within a file, versions have the order of ids, and the table is sorted by them.
  if (filter.path !== null && filter.path !== undefined) return along('path', null);
  if (typeof filter.scope === 'string') return along('scope', 'svc_revision_scope');
  if (typeof filter.actor === 'string' && filter.actor !== 'agent') {
    return along('actor', 'svc_revision_actor');
  }
  return along('id', 'svc_revision_id');
}

/** The version to continue after. The row of the page key may have been pruned. */
async function findVersionAfter(
  connection: KnexConnection,
  { scope, fileNo }: { scope: ScopeKey; fileNo: number },
  { after, order }: { after: Buffer; order: 'asc' | 'desc' },
): Promise<number | null> {
  const rows = connection
    .knex('svc_revision')
    .where({ scope_id: toScopeId(scope), file_no: fileNo });
  const exact = (await rows.clone().where('id', after).first('version')) as Row | undefined;
  if (exact !== undefined) return toInteger(exact['version']);
  const next = (await rows
    .where('id', order === 'asc' ? '>' : '<', after)
    .orderBy('version', order)
    .first('version')) as Row | undefined;
  if (next === undefined) return null;
  return toInteger(next['version']) + (order === 'asc' ? -1 : 1);
}

/** Whether this scope, and not another with the same hash, has this number. */
export async function hasScope(
  connection: KnexConnection,
  scope: FileKey['scope'],
): Promise<boolean> {
  const row = (await connection
    .knex('svc_scope')
    .where({ scope_id: toScopeId(scope), scope })
    .first('scope_id')) as Row | undefined;
  return row !== undefined;
}

export async function findFileNo(
  connection: KnexConnection,
  { scope, path }: FileKey,
): Promise<number | null> {
  const row = (await connection
    .knex('svc_file')
    .where({ scope_id: toScopeId(scope), path })
    .first('file_no')) as Row | undefined;
  return row === undefined ? null : toInteger(row['file_no']);
}
