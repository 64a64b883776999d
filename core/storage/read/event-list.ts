import type { CallRecord, EventRecord } from '../../contracts/records.ts';
import type {
  EventFilter,
  ObservationStore,
  PageRequest,
  PageResult,
} from '../../contracts/storage.ts';
import { assertScope } from '../../files/paths.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { parseIdBytes, toLeastIdBytes } from '../schema/ids.ts';
import type { Filter } from './page.ts';
import { matches, readPage, toIdPage, walkIndex } from './page.ts';
import { hasScope } from './revision-list.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { EVENTS } from '../schema/records.ts';
import { mapTable } from '../schema/table-map.ts';

/** Calls at least this slow have an index of their own (migration 3). */
const SLOW_MS = 100;

const EMPTY: PageResult<EventRecord> = { items: [], next: null };

/** Events by id, walked along the narrowest index that the filter has. */
export async function listEvents(
  connection: KnexConnection,
  filter: EventFilter,
  page: PageRequest,
): Promise<PageResult<EventRecord>> {
  const { scope = null, since, until, minDurationMs, errorCodes, exceptErrorCodes } = filter;
  const idPage = toIdPage(page);
  if (scope !== null && !(await hasScope(connection, scope))) return EMPTY;
  const filters = matches({
    'e.tool': filter.tool,
    'e.kind': filter.kind,
    'e.actor': filter.actor,
  });
  if (Array.isArray(errorCodes))
    filters.push((query) => void query.whereIn('e.error_code', errorCodes));
  if (Array.isArray(exceptErrorCodes))
    filters.push(
      (query) =>
        void query.where((either) =>
          either.whereNull('e.error_code').orWhereNotIn('e.error_code', exceptErrorCodes),
        ),
    );
  if (typeof minDurationMs === 'number')
    filters.push((query) => void query.where('e.duration_ms', '>=', minDurationMs));
  const { index, narrow } = chooseWalk(filter);
  if (index !== 'svc_event_status') filters.push(...matches({ 'e.status': filter.status }));

  return await readPage(connection, {
    ...idPage,
    pick: { scope_id: 'e.scope_id', id: 'e.id' },
    walk: () => {
      const query = walkIndex(connection, 'svc_event', { as: 'e', index });
      narrow(query);
      return query;
    },
    bounds: (query) => {
      // An event's time is the time of its id.
      if (typeof since === 'number') query.where('e.id', '>=', toLeastIdBytes(since));
      if (typeof until === 'number') query.where('e.id', '<', toLeastIdBytes(until));
    },
    filters,
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('cross join svc_event e on e.scope_id = k.scope_id and e.id = k.id')
        .select('s.scope', ...EVENTS.select('e'));
    },
    toItem: (row) => EVENTS.toRecord(row),
  });
}

function chooseWalk({ scope, status, minDurationMs }: EventFilter): {
  index: string | null;
  narrow: Filter;
} {
  if (typeof scope === 'string') {
    const scopeId = toScopeId(scope);
    return { index: null, narrow: (query) => void query.where('e.scope_id', scopeId) };
  }
  if (status === 'error') {
    const narrow: Filter = (query) =>
      void query.where('e.status', status).whereRaw("e.status <> 'ok'");
    return { index: 'svc_event_status', narrow };
  }
  if (typeof minDurationMs === 'number' && minDurationMs >= SLOW_MS) {
    const narrow: Filter = (query) => void query.whereRaw('e.duration_ms >= 100');
    return { index: 'svc_event_slow', narrow };
  }
  return { index: 'svc_event_id', narrow: () => undefined };
}

/** Short forms of tool calls, by id. */
export async function readCalls(
  connection: Connection,
  filter: Parameters<ObservationStore['calls']>[0],
  page: Parameters<ObservationStore['calls']>[1],
): Promise<CallRecord[]> {
  const { scope = null, tool, since, until } = filter;
  if (scope !== null) assertScope(scope);
  const after = page.after === null ? null : parseIdBytes(page.after);
  // A single lower bound: with two, SQLite walks each page from the first one.
  const least = toLeastIdBytes(since);
  const begin = after === null || after.compare(least) < 0 ? null : after;
  const conditions = ["e.kind = 'tool'", begin === null ? 'e.id >= ?' : 'e.id > ?', 'e.id < ?'];
  const parameters: SqlValue[] = [begin ?? least, toLeastIdBytes(until)];
  const add = (condition: string, value: SqlValue) => {
    conditions.push(condition);
    parameters.push(value);
  };
  if (scope !== null) add('e.scope_id = ?', toScopeId(scope));
  if (typeof tool === 'string') add('e.tool = ?', tool);
  parameters.push(page.limit);
  const source = connection.dialect.byIndex(
    'svc_event',
    'e',
    scope === null ? 'svc_event_id' : null,
  );
  const columns = CALLS.select('e').join(', ');
  const rows = await connection.all(
    // Compares the scope by name, because rows of a calling user often have no scope number.
    (scope === null
      ? `select ${columns}, s.scope from ${source} cross join svc_scope s on s.scope_id = e.scope_id`
      : `select ${columns} from ${source}`) +
      ` where ${conditions.join(' and ')} order by e.id limit ?`,
    parameters,
  );
  return rows.map((row) => CALLS.toRecord(row, scope ?? undefined));
}

const CALLS = mapTable<CallRecord>(
  'svc_event',
  {},
  { only: ['scope_id', 'id', 'tool', 'status', 'error_code', 'duration_ms'] },
);
