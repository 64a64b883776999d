import type { ScopeKey } from '../../../core/contracts/records.ts';
import { dreamBudgetOf, dreamLeaseOf } from '../../../core/files/dream-names.ts';
import type { Dialect, Executor, KeySet } from '../dialects/dialect.ts';
import { DREAM_USER_ROW, toDreamUserRecord } from './dream-rows.ts';
import { leastIdBeyond, readIdSkew } from '../write/id-skew.ts';
import { toUuid } from '../schema/ids.ts';
import { insertRecords } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** A run by its key. */
interface RunKey {
  scope: ScopeKey;
  id: string;
}

const RUN_COLUMNS = [
  { name: 'scope_id', kind: 'integer' },
  { name: 'id', kind: 'id' },
] as const;

/**
 * Removes the oldest runs that ended before a time, at most `limit`, with their budgets, and the
 * leases of users of whom no run is left; how many runs.
 */
export async function expireDreamRuns(
  executor: Executor,
  dialect: Dialect,
  before: number,
  limit: number,
): Promise<number> {
  const found = await findEnded(executor, dialect, before, limit);
  if (found.length === 0) return 0;
  const scopes = [...new Set(found.map(({ scope }) => scope))];
  const users = await lockUsers(executor, dialect, scopes);
  const runs = await lockEnded(executor, dialect, before, found);
  const ids = new Set(runs.map(({ id }) => id));
  // The newest run of a user is named by the user's row.
  const named = users.filter(({ runId }) => runId !== null && ids.has(runId));
  await insertRecords(
    executor,
    dialect,
    DREAM_USER_ROW,
    named.map((user) => ({ ...user, runId: null })),
    { keys: ['scope_id'], update: ['run_id'] },
  );
  await deleteRuns(executor, dialect, runs);
  await deleteNamed(
    executor,
    dialect,
    'svc_budget',
    runs.map(({ id }) => dreamBudgetOf(id)),
  );
  await deleteLeases(executor, dialect, scopes);
  return runs.length;
}

/** How many runs {@link expireDreamRuns} would remove in all. */
export async function countEndedDreamRuns(executor: Executor, before: number): Promise<number> {
  const [row] = await executor.all(
    'select count(*) as ended from svc_dream_history where ended_at < ?',
    [before],
  );
  return row === undefined ? 0 : toInteger(row['ended']);
}

/** A run has its id before it ends, so it stands among the ids from before that time. */
async function findEnded(
  executor: Executor,
  dialect: Dialect,
  before: number,
  limit: number,
): Promise<RunKey[]> {
  const beyond = leastIdBeyond(before, await readIdSkew(executor));
  const source = dialect.byIndex('svc_dream_history', 'h', 'svc_dream_history_id');
  const rows = await executor.all(
    `select h.user_id, h.id from ${source} where h.id < ? and h.ended_at < ? order by h.id limit ?`,
    [beyond, before, limit],
  );
  return rows.map(toRunKey);
}

/** Every change of a run stands behind the row of its user. */
async function lockUsers(executor: Executor, dialect: Dialect, scopes: readonly ScopeKey[]) {
  const keys = toScopeKeys(dialect, scopes);
  const rows = await executor.all(
    `select ${DREAM_USER_ROW.columns.map((name) => `d.${name}`).join(', ')} from ${keys.sql} k` +
      ` cross join svc_dream_run d on d.scope_id = k.scope_id${dialect.forUpdate}`,
    keys.parameters,
  );
  return rows.map(toDreamUserRecord);
}

/** Those that still have ended: an undoing may have opened one again before its user was locked. */
async function lockEnded(
  executor: Executor,
  dialect: Dialect,
  before: number,
  runs: readonly RunKey[],
): Promise<RunKey[]> {
  const keys = toRunKeys(dialect, runs);
  const rows = await executor.all(
    `select h.user_id, h.id from ${keys.sql} k cross join svc_dream_history h` +
      ` on h.scope_id = k.scope_id and h.id = k.id where h.ended_at < ?${dialect.forUpdate}`,
    [...keys.parameters, before],
  );
  return rows.map(toRunKey);
}

async function deleteRuns(
  executor: Executor,
  dialect: Dialect,
  runs: readonly RunKey[],
): Promise<void> {
  if (runs.length === 0) return;
  const own = RUN_COLUMNS.map(({ name }) => ({ own: name, key: name }));
  const keys = toRunKeys(dialect, runs);
  const { sql, parameters } = dialect.deleteKeys('svc_dream_history', own, keys, {});
  await executor.run(sql, parameters);
}

/**
 * Nobody holds a lease that is over, and whoever still believes to is refused: the next one of that
 * name has a greater fence, as it begins with the database's clock.
 */
async function deleteLeases(
  executor: Executor,
  dialect: Dialect,
  scopes: readonly ScopeKey[],
): Promise<void> {
  const keys = toScopeKeys(dialect, scopes);
  const left = await executor.all(
    `select k.scope_id from ${keys.sql} k` +
      ' where exists (select 1 from svc_dream_history h where h.scope_id = k.scope_id)',
    keys.parameters,
  );
  const dreamed = new Set(left.map((row) => toInteger(row['scope_id'])));
  const done = scopes.filter((scope) => !dreamed.has(toScopeId(scope)));
  if (done.length === 0) return;
  const names = toNames(
    dialect,
    done.map((scope) => dreamLeaseOf(scope.slice(2))),
  );
  const over = await executor.all(
    `select l.name from ${names.sql} k cross join svc_lease l on l.name = k.name` +
      ` where l.expires_at <= ${dialect.nowMs}${dialect.forUpdate}`,
    names.parameters,
  );
  await deleteNamed(
    executor,
    dialect,
    'svc_lease',
    over.map((row) => toText(row['name'])),
  );
}

async function deleteNamed(
  executor: Executor,
  dialect: Dialect,
  table: 'svc_budget' | 'svc_lease',
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const own = [{ own: 'name', key: 'name' }];
  const { sql, parameters } = dialect.deleteKeys(table, own, toNames(dialect, names), {});
  await executor.run(sql, parameters);
}

function toRunKey(row: Record<string, unknown>): RunKey {
  return { scope: `u:${toText(row['user_id'])}`, id: toUuid(row['id'] as Uint8Array) };
}

function toRunKeys(dialect: Dialect, runs: readonly RunKey[]): KeySet {
  return dialect.keySet(
    RUN_COLUMNS,
    runs.map(({ scope, id }) => [toScopeId(scope), id]),
  );
}

function toScopeKeys(dialect: Dialect, scopes: readonly ScopeKey[]): KeySet {
  const ids = scopes.map(toScopeId).sort((a, b) => a - b);
  return dialect.keySet(
    [{ name: 'scope_id', kind: 'integer' }],
    ids.map((id) => [id]),
  );
}

function toNames(dialect: Dialect, names: readonly string[]): KeySet {
  return dialect.keySet(
    [{ name: 'name', kind: 'key' }],
    [...names].sort().map((name) => [name]),
  );
}
