import type { AccessRecord, EventRecord, ScopeKey } from '../../contracts/records.ts';
import { changeTexts } from './record-texts.ts';
import type { LogBatch, LogStore } from '../../contracts/storage.ts';
import { assertScope, toScope } from '../../files/paths.ts';
import { isServiceActor } from '../../files/service-actors.ts';
import { listAccess } from '../read/access-list.ts';
import { type NewCheckRun, removeOldCheckRuns } from './check-runs.ts';
import type { LogDatabase } from '../store-database.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import type { IdSkewKeeper } from './id-skew.ts';
import { leastIdBeyond, leastIdSince, readIdSkew } from './id-skew.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import { keepRollups } from './rollup.ts';
import { deleteFound, findRows, insertRecords, selectKey } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import {
  newScopeState,
  ACCESS_ROWS,
  CHECK_RESULTS,
  CHECK_RUNS,
  EVENTS,
  FILE_STATS,
  NEW_AUDIT_ROWS,
  SCOPES,
  type FileStat,
} from '../schema/records.ts';

/** The most root events of one trace that are read. */
const EVENTS_OF_TRACE = 200;
const EVENTS_A_STATEMENT = 128;
const RESULTS_A_STATEMENT = 256;
/** Access rows written before other work gets its turn. */
const ACCESS_A_PART = 512;

/** Makes the store of access rows and events. */
export function createLogStore(database: LogDatabase): LogStore {
  const { skew } = database;
  const readEvents = async (column: string, id: string, limit: number): Promise<EventRecord[]> => {
    const bytes = parseIdBytes(id);
    if (bytes === null) return [];
    const rows = await database.read((connection) =>
      connection.all(`${GET_EVENTS} where e.${column} = ? order by e.id limit ?`, [bytes, limit]),
    );
    return rows.map((row) => EVENTS.toRecord(row));
  };
  return {
    changeTexts: (scope, options) => changeTexts(database, scope, options),
    async append(batch) {
      const { access, events, audit = [] } = batch;
      for (const { scope } of [...access, ...events, ...audit]) assertScope(scope);
      if (access.length + events.length + audit.length === 0) return;
      await database.writeAll(
        cutBatch(batch).map((part) => (connection) => appendBatch(connection, skew, part)),
      );
    },
    addCheckRun: (run, options) =>
      database.write((connection) => addCheckRun(connection, skew, { run, ...options })),
    listAccess: (filter, page) =>
      database.list((connection) => listAccess(connection, filter, page)),
    eventsOfTrace: (traceId) => readEvents('trace_id', traceId, EVENTS_OF_TRACE),
    async eventOfToolCall(toolCallId) {
      const [event = null] = await readEvents('tool_call_id', toolCallId, 1);
      return event;
    },
    expire: (what, before, limit, scope = null) =>
      database.write((connection) => expireRows(connection, what, { before, limit, scope })),
    measureAccess: (options) => database.read((connection) => measureAccess(connection, options)),
    countOlder: (what, before, scope = null) =>
      database.read(async (connection) => {
        const { from, parameters } = await findOlder(connection, what, { before, scope });
        const [row] = await connection.all(`select count(*) as older ${from}`, parameters);
        return row === undefined ? 0 : toInteger(row['older']);
      }),
  };
}

async function addCheckRun(
  connection: Connection,
  skew: IdSkewKeeper,
  { run, results, knownErasure, keep }: NewCheckRun,
): Promise<void> {
  const owned = results.map((result) => ({ ...result, userId: null, knownErasure }));
  const numbers = await ensureScopes(connection, owned);
  await insertRecords(connection, [run], { into: CHECK_RUNS });
  const kept = owned.filter(isKeptAfter(numbers));
  for (let from = 0; from < kept.length; from += RESULTS_A_STATEMENT) {
    const part = kept.slice(from, from + RESULTS_A_STATEMENT);
    await insertRecords(connection, part, { into: CHECK_RESULTS });
  }
  await skew.cover(connection, [run]);
  await removeOldCheckRuns(connection, keep);
}

/** Rows that tell how long texts are. */
const ROWS_MEASURED = 200;

async function measureAccess(
  connection: Connection,
  { since, limit }: { since: number; limit: number },
): ReturnType<LogStore['measureAccess']> {
  const source = connection.dialect.byIndex('svc_access_log', 't', 'svc_access_log_id');
  const countFrom = async (least: Buffer): Promise<number> => {
    const [row] = await connection.all(
      `select count(*) as row_count from (select t.id from ${source} where t.id >= ? limit ?) c`,
      [least, limit],
    );
    return row === undefined ? 0 : toInteger(row['row_count']);
  };
  const newest = await connection.all(
    `select t.path, t.actor, t.user_id, t.tool from ${source} order by t.id desc limit ?`,
    [ROWS_MEASURED],
  );
  const bytes = newest
    .flatMap((row) => Object.values(row))
    .reduce<number>((sum, cell) => sum + (cell === null ? 0 : Buffer.byteLength(toText(cell))), 0);
  return {
    rows: await countFrom(Buffer.alloc(16)),
    recent: await countFrom(leastIdSince(since, await readIdSkew(connection))),
    textBytes: newest.length === 0 ? 0 : bytes / newest.length,
  };
}

/** The tables whose rows expire, with the column that tells their age. */
const AGED = {
  events: { table: 'svc_event', time: 'started_at' },
  access: { table: 'svc_access_log', time: 'at' },
  idempotency: { table: 'svc_idempotency', time: 'created_at' },
} as const;

const GET_EVENTS =
  `select s.scope, ${EVENTS.select('e').join(', ')}` +
  ' from svc_event e cross join svc_scope s on s.scope_id = e.scope_id';

/** Splits the access rows into batches. The events stay together in the last one. */
function cutBatch(batch: LogBatch): LogBatch[] {
  const { access, isRepeated = false } = batch;
  const parts: LogBatch[] = [];
  let from = 0;
  for (; access.length - from > ACCESS_A_PART; from += ACCESS_A_PART) {
    parts.push({ access: access.slice(from, from + ACCESS_A_PART), events: [], isRepeated });
  }
  return [...parts, { ...batch, access: access.slice(from) }];
}

async function appendBatch(
  connection: Connection,
  skew: IdSkewKeeper,
  batch: LogBatch,
): Promise<void> {
  const given = withoutErased(
    batch,
    await ensureScopes(connection, [...batch.access, ...batch.events]),
  );
  let { access, events } = given;
  if (batch.isRepeated === true) {
    // If an earlier commit got no answer, its rows may exist already and must not be counted twice.
    access = await withoutKnown(connection, 'svc_access_log', access);
    events = await withoutKnown(connection, 'svc_event', events);
  }
  await insertRecords(connection, access, { into: ACCESS_ROWS });
  for (let from = 0; from < events.length; from += EVENTS_A_STATEMENT) {
    // Split, because packing them blocks the event loop.
    await insertRecords(connection, events.slice(from, from + EVENTS_A_STATEMENT), {
      into: EVENTS,
    });
  }
  if (batch.rollUp !== undefined) await keepRollups(connection, batch.rollUp, events);
  await insertRecords(connection, countReads(access), {
    into: FILE_STATS,
    conflict: { add: ['reads'], greatest: ['last_read_at', 'last_shown_at'] },
  });
  const { audit = [] } = batch;
  await insertRecords(
    connection,
    audit.map(({ scope, ...row }) => ({ ...row, scopeId: toScopeId(scope) })),
    { into: NEW_AUDIT_ROWS, conflict: 'skip' },
  );
  await skew.cover(connection, [...access, ...audit]);
  await skew.cover(
    connection,
    // An event is recorded when its call ends.
    events.map(({ id, startedAt, durationMs }) => ({ id, at: startedAt + durationMs })),
  );
}

/**
 * Leaves out the rows of calls that began before their user was erased: they may have been queued, or
 * under way, meanwhile.
 */
function withoutErased(
  { access, events }: LogBatch,
  numbers: ReadonlyMap<ScopeKey, number>,
): Pick<LogBatch, 'access' | 'events'> {
  if (numbers.size === 0) return { access, events };
  const isKept = isKeptAfter(numbers);
  return {
    access: access.filter(isKept),
    events: events.filter(isKept),
  };
}

type OwnedRow = Pick<AccessRecord, 'scope' | 'userId' | 'knownErasure'>;

/** Whether a row is of work that began after the last erasures of its scope and its user. */
function isKeptAfter(numbers: ReadonlyMap<ScopeKey, number>): (row: OwnedRow) => boolean {
  return ({ scope, userId, knownErasure = Infinity }) =>
    // Rows of a space are those of its memory and of the user.
    [scope, ownerOf(scope, userId)].every((one) => knownErasure >= (numbers.get(one) ?? 0));
}

/** The user for whom a row was written. */
function ownerOf(scope: ScopeKey, userId: string | null): ScopeKey {
  return userId === null ? scope : toScope({ userId: userId });
}

/**
 * Access rows refer to their scope's row, so a scope that was only read needs one too. Returns the
 * numbers of their last erasures, also those of the users of shared memory.
 */
async function ensureScopes(
  connection: Connection,
  given: readonly OwnedRow[],
): Promise<Map<ScopeKey, number>> {
  const scopes = new Map<number, ScopeKey>();
  for (const { scope } of given) scopes.set(toScopeId(scope), scope);
  const owners = given.map(({ scope, userId }) => toScopeId(ownerOf(scope, userId)));
  const rows = await findRows(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: [...new Set([...scopes.keys(), ...owners])].map((scopeId) => [scopeId]),
    select: ['t.scope_id', 't.scope', 't.erasure_number'],
  });
  const known = new Map(rows.map((row) => [toInteger(row['scope_id']), toText(row['scope'])]));
  const missing = [...scopes.values()].filter((scope) => !known.has(toScopeId(scope)));
  await insertRecords(connection, missing.map(newScopeState), {
    into: SCOPES,
    conflict: 'skip',
  });
  for (const { scope } of given) {
    const name = known.get(toScopeId(scope)) ?? scopes.get(toScopeId(scope));
    if (name !== scope) throw sameNumber();
  }
  return new Map(
    rows.flatMap((row) => {
      const number = toInteger(row['erasure_number']);
      return number === 0 ? [] : [[toText(row['scope']) as ScopeKey, number] as const];
    }),
  );
}

async function withoutKnown<T extends AccessRecord | EventRecord>(
  connection: Connection,
  table: 'svc_access_log' | 'svc_event',
  records: readonly T[],
): Promise<readonly T[]> {
  const rows = await findRows(connection, table, {
    columns: ['scope_id', 'id'],
    rows: records.map(({ scope, id }) => [toScopeId(scope), id]),
    select: ['t.id'],
  });
  if (rows.length === 0) return records;
  const known = new Set(rows.map((row) => toUuid(row['id'] as Uint8Array)));
  return records.filter(({ id }) => !known.has(id));
}

/**
 * One row for each file that was read and one for each scope that was shown to an agent, in the order of
 * the keys. What dreams, the Playground and the service itself read shows that nobody uses it.
 */
function countReads(access: readonly AccessRecord[]): FileStat[] {
  const stats = new Map<string, FileStat>();
  for (const { action, actor, outcome, scope, fileNo, at } of access) {
    if (outcome !== 'ok' || fileNo === null) continue;
    const isRead = action === 'read' || action === 'context';
    const isShown = !isServiceActor(actor);
    if (!isRead && (action !== 'find' || !isShown)) continue;
    for (const counted of isRead ? [fileNo, 0] : [0]) {
      const key = `${scope} ${counted}`;
      const stat = stats.get(key) ?? {
        scope,
        fileNo: counted,
        reads: 0,
        lastReadAt: null,
        lastShownAt: null,
      };
      if (isRead) {
        stat.reads += 1;
        stat.lastReadAt = Math.max(stat.lastReadAt ?? at, at);
      }
      if (counted === 0 && isShown) stat.lastShownAt = Math.max(stat.lastShownAt ?? at, at);
      stats.set(key, stat);
    }
  }
  return [...stats.values()].sort(
    (left, right) => toScopeId(left.scope) - toScopeId(right.scope) || left.fileNo - right.fileNo,
  );
}

/** The rows of before a time, `t`, of a scope or of all, found by an index in the order of their age. */
async function findOlder(
  connection: Connection,
  what: keyof typeof AGED,
  { before, scope }: { before: number; scope: ScopeKey | null },
): Promise<{ from: string; order: string; parameters: SqlValue[] }> {
  const { table, time } = AGED[what];
  const inScope = scope === null ? '' : ' and t.scope_id = ?';
  const own = scope === null ? [] : [toScopeId(scope)];
  if (what === 'idempotency') {
    const from = `from ${table} t where t.${time} < ?${inScope}`;
    return { from, order: time, parameters: [before, ...own] };
  }
  const source =
    scope === null ? connection.dialect.byIndex(table, 't', `${table}_id`) : `${table} t`;
  return {
    from: `from ${source} where t.id < ? and t.${time} < ?${inScope}`,
    order: 'id',
    parameters: [leastIdBeyond(before, await readIdSkew(connection)), before, ...own],
  };
}

async function expireRows(
  connection: Connection,
  what: keyof typeof AGED,
  { before, limit, scope }: { before: number; limit: number; scope: ScopeKey | null },
): Promise<number> {
  const { table } = AGED[what];
  const { from, order, parameters } = await findOlder(connection, what, { before, scope });
  const rows = await connection.all(
    `select ${selectKey(table)} ${from} order by t.${order} limit ?`,
    [...parameters, limit],
  );
  return await deleteFound(connection, table, rows);
}
