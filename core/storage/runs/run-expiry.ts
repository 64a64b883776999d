import type { ScopeKey } from '../../contracts/records.ts';
import type { RunKey } from '../../contracts/runs.ts';
import { runBudgetOf, userLeaseOf } from '../../files/run-names.ts';
import type { Connection } from '../dialect.ts';
import { isRunOf, RUN_KEYS, type RunUsers, runUsersOf } from './run-rows.ts';
import { leastIdBeyond, readIdSkew } from '../write/id-skew.ts';
import { deleteRows, findRows, insertRecords, toKeySet } from '../schema/row-sets.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/**
 * Removes the oldest runs that ended before a time, at most `limit`, with their budgets, and the
 * leases of users of whom no run is left; how many runs.
 */
export async function expireRuns(
  connection: Connection,
  before: number,
  limit: number,
): Promise<number> {
  const found = await findEnded(connection, before, limit);
  let removed = 0;
  // In one order for all transactions.
  for (const plugin of [...new Set(found.map((run) => run.plugin))].sort()) {
    const runs = found.filter((run) => run.plugin === plugin);
    removed += await expireRunsOf(connection, { plugin, before, found: runs });
  }
  return removed;
}

async function expireRunsOf(
  connection: Connection,
  { plugin, before, found }: { plugin: string; before: number; found: readonly RunKey[] },
): Promise<number> {
  const scopes = [...new Set(found.map(({ scope }) => scope))];
  const users = runUsersOf(plugin);
  const locked = await lockUsers(connection, users, scopes);
  const runs = await lockEnded(connection, before, found);
  const ids = new Set(runs.map(({ id }) => id));
  // The newest run of a user is named by the user's row.
  const named = locked.filter(({ runId }) => runId !== null && ids.has(runId));
  await insertRecords(
    connection,
    named.map((user) => ({ ...user, runId: null })),
    { into: users.map, conflict: { update: ['run_id'] } },
  );
  await deleteRows(connection, 'svc_dream_history', {
    columns: ['scope_id', 'id'],
    rows: runs.map(RUN_KEYS.toKey),
  });
  await deleteRows(connection, 'svc_budget', {
    columns: ['name'],
    rows: toNames(runs.map(({ id }) => runBudgetOf(id))),
  });
  await deleteLeases(connection, plugin, scopes);
  return runs.length;
}

/** How many runs {@link expireRuns} would remove in all. */
export async function countEndedRuns(connection: Connection, before: number): Promise<number> {
  const [row] = await connection.all(
    'select count(*) as ended from svc_dream_history where ended_at < ? and is_waiting = 0',
    [before],
  );
  return row === undefined ? 0 : toInteger(row['ended']);
}

/** A run has its id before it ends, so it stands among the ids from before that time. */
async function findEnded(connection: Connection, before: number, limit: number): Promise<RunKey[]> {
  const beyond = leastIdBeyond(before, await readIdSkew(connection));
  const source = connection.dialect.byIndex('svc_dream_history', 'h', 'svc_dream_history_id');
  const rows = await connection.all(
    `select ${RUN_KEYS.select('h').join(', ')} from ${source} where h.id < ? and h.ended_at < ? and h.is_waiting = 0 order by h.id limit ?`,
    [beyond, before, limit],
  );
  return rows.map((row) => RUN_KEYS.toRecord(row));
}

/** Every change of a run stands behind the row of its user. */
async function lockUsers(connection: Connection, users: RunUsers, scopes: readonly ScopeKey[]) {
  const rows = await findRows(connection, users.map.table, {
    columns: users.key,
    rows: toScopeIds(scopes).map((id) => users.toKey(id)),
    select: users.map.select('t'),
    rest: connection.dialect.forUpdate,
  });
  return rows.map((row) => users.map.toRecord(row));
}

/** Those that still have ended: an undoing may have opened one again before its user was locked. */
async function lockEnded(
  connection: Connection,
  before: number,
  runs: readonly RunKey[],
): Promise<RunKey[]> {
  const rows = await findRows(connection, 'svc_dream_history', {
    columns: ['scope_id', 'id'],
    rows: runs.map(RUN_KEYS.toKey),
    select: RUN_KEYS.select('t'),
    rest: ` where t.ended_at < ? and t.is_waiting = 0${connection.dialect.forUpdate}`,
    parameters: [before],
  });
  return rows.map((row) => RUN_KEYS.toRecord(row));
}

/**
 * Deletes expired leases. A holder that missed the end is refused later: a new lease of that name
 * begins with the database's clock, so its fence is greater.
 */
async function deleteLeases(
  connection: Connection,
  plugin: string,
  scopes: readonly ScopeKey[],
): Promise<void> {
  const keys = toKeySet(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: toScopeIds(scopes).map((id) => [id]),
  });
  const own = isRunOf(plugin);
  // A subquery of the result, because MariaDB answers EXISTS by reading every run.
  const left = await connection.all(
    'select k.scope_id, (select h.scope_id from svc_dream_history h' +
      ` where h.scope_id = k.scope_id and ${own.sql} limit 1) as dreamed from ${keys.sql} k`,
    [...own.parameters, ...keys.parameters],
  );
  const dreamed = new Set(left.map((row) => toIntegerOrNull(row['dreamed'])));
  const done = scopes.filter((scope) => !dreamed.has(toScopeId(scope)));
  if (done.length === 0) return;
  const over = await findRows(connection, 'svc_lease', {
    columns: ['name'],
    rows: toNames(done.map((scope) => userLeaseOf(plugin, scope.slice(2)))),
    select: ['t.name'],
    rest: ` where t.expires_at <= ${connection.dialect.nowMs}${connection.dialect.forUpdate}`,
  });
  await deleteRows(connection, 'svc_lease', {
    columns: ['name'],
    rows: toNames(over.map((row) => toText(row['name']))),
  });
}

/** How many operations of a plugin's runs wait for a person. */
export async function countWaitingOperations(
  connection: Connection,
  plugin: string,
): Promise<number> {
  const own = isRunOf(plugin);
  const [row] = await connection.all(
    'select coalesce(sum(h.waiting), 0) as waiting from svc_dream_history h' +
      ` where h.is_waiting = 1 and ${own.sql}`,
    own.parameters,
  );
  return row === undefined ? 0 : toInteger(row['waiting']);
}

function toScopeIds(scopes: readonly ScopeKey[]): number[] {
  return scopes.map(toScopeId).sort((a, b) => a - b);
}

/** In the order of the keys, in which every transaction takes its locks. */
function toNames(names: readonly string[]): string[][] {
  return [...names].sort().map((name) => [name]);
}
