import type { FileKey, RevisionRecord } from '../../../core/contracts/records.ts';
import type { PageRequest, PageResult, RevisionFilter } from '../../../core/contracts/storage.ts';
import { assertFileKey } from '../../../core/files/paths.ts';
import type { Connection, Row, SqlValue, KnexConnection } from '../dialects/dialect.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import type { Filter } from './page.ts';
import { checkLimit, parseIdPageKey, readPage } from './page.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { REVISIONS } from '../schema/records.ts';

const EMPTY: PageResult<RevisionRecord> = { items: [], next: null };

/**
 * Revisions by id, walked along the narrowest index that the filter has, with its other conditions
 * tested row by row.
 */
export async function listRevisions(
  connection: KnexConnection,
  filter: RevisionFilter,
  page: PageRequest,
): Promise<PageResult<RevisionRecord>> {
  checkLimit(page.limit);
  const after = parseIdPageKey(page.after);
  const filters: Filter[] = [];
  const test = (column: string, value: string | number | Buffer) =>
    filters.push((query) => void query.where(column, value));

  const ids = new Map<'tool_call_id' | 'run_id' | 'trace_id', Buffer>();
  for (const [column, id] of [
    ['tool_call_id', filter.toolCallId],
    ['run_id', filter.runId],
    ['trace_id', filter.traceId],
  ] as const) {
    if (id === null || id === undefined) continue;
    const bytes = parseIdBytes(id);
    if (bytes === null) return EMPTY;
    ids.set(column, bytes);
  }
  const scope = filter.path?.scope ?? filter.scope ?? null;
  if (typeof filter.scope === 'string' && scope !== filter.scope) return EMPTY;
  if (scope !== null && !(await hasScope(connection, scope))) return EMPTY;
  const times = withinTimes('r', await readIdSkew(connection), filter);
  filters.push(...times.filters);
  if (typeof filter.action === 'string') test('r.action', filter.action);

  const walk = chooseWalk(connection, filter, ids);
  for (const [column, bytes] of ids) if (column !== walk.by) test(`r.${column}`, bytes);
  if (typeof filter.actor === 'string' && walk.by !== 'actor') test('r.actor', filter.actor);
  if (scope !== null && walk.by !== 'scope' && walk.by !== 'path')
    test('r.scope_id', toScopeId(scope));

  let versionAfter: SqlValue[] | null = null;
  let fileNo: number | null = null;
  if (filter.path !== null && filter.path !== undefined) {
    assertFileKey(filter.path);
    fileNo = await findFileNo(connection, filter.path);
    if (fileNo === null) return EMPTY;
    if (walk.by !== 'path') test('r.file_no', fileNo);
    else if (after !== null) {
      const version = await findVersionAfter(connection, filter.path, fileNo, after, page.order);
      if (version === null) return EMPTY;
      versionAfter = [version];
    }
  }
  const byVersion = walk.by === 'path';
  return await readPage(connection, {
    limit: page.limit,
    order: page.order,
    pick: { scope_id: 'r.scope_id', file_no: 'r.file_no', version: 'r.version', id: 'r.id' },
    key: byVersion ? ['version'] : ['id'],
    isOrdered: true,
    after: byVersion ? versionAfter : after === null ? null : [after],
    walk: () => {
      const query = connection.knex.from(connection.knex.raw(walk.source));
      switch (walk.by) {
        case 'path':
          query.where({ 'r.scope_id': toScopeId(filter.path?.scope ?? 's'), 'r.file_no': fileNo });
          break;
        case 'scope':
          query.where('r.scope_id', toScopeId(scope ?? 's'));
          break;
        case 'actor':
          // The index leaves out the most common actor, so the query has to say so too.
          query.where('r.actor', filter.actor ?? '').whereRaw("r.actor <> 'agent'");
          break;
        case 'id':
          break;
        default:
          query.where(`r.${walk.by}`, ids.get(walk.by) as Buffer).whereNotNull(`r.${walk.by}`);
      }
      return query;
    },
    bounds: times.walk,
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
    toPageKey: (row) => [toUuid(row['id'] as Uint8Array)],
  });
}

interface Walk {
  by: 'tool_call_id' | 'run_id' | 'trace_id' | 'path' | 'scope' | 'actor' | 'id';
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
  if (ids.has('tool_call_id')) return along('tool_call_id', 'svc_revision_tool_call');
  if (ids.has('run_id')) return along('run_id', 'svc_revision_run');
  if (ids.has('trace_id')) return along('trace_id', 'svc_revision_trace');
  // Within a file the order of versions is that of ids, and it is the table's own.
  if (filter.path !== null && filter.path !== undefined) return along('path', null);
  if (typeof filter.scope === 'string') return along('scope', 'svc_revision_scope');
  if (typeof filter.actor === 'string' && filter.actor !== 'agent') {
    return along('actor', 'svc_revision_actor');
  }
  return along('id', 'svc_revision_id');
}

/** The version to go on after; the row of the page key may have been pruned meanwhile. */
async function findVersionAfter(
  connection: KnexConnection,
  { scope }: FileKey,
  fileNo: number,
  after: Buffer,
  order: 'asc' | 'desc',
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

/** Whether the scope stands under its number, and not another scope with the same one. */
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
