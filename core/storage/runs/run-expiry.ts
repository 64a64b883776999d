import type { ScopeKey } from '../../contracts/records.ts';
import type { RunKey, RunKeys, RunRecord } from '../../contracts/runs.ts';
import { scopeLeaseOf } from '../../files/run-names.ts';
import { groupBy } from '../../lists/group-by.ts';
import type { Connection } from '../dialect.ts';
import { leastIdBeyond, readIdSkew } from '../write/id-skew.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { StoreDatabase } from '../store-database.ts';
import { isRunOf, RUN_KEYS } from './run-rows.ts';

/**
 * Removes the oldest runs that ended before a time, at most `limit`, with their budgets, and the
 * leases of users and spaces of whom no run is left; how many runs. Each one's runs of a plugin are one
 * mutation.
 */
export async function expireRuns(
  database: Pick<StoreDatabase, 'read' | 'mutate'>,
  { before, limit, scope: only }: { before: number; limit: number; scope: ScopeKey | null },
): Promise<number> {
  const found = await database.read((connection) =>
    findEnded(connection, { before, limit, scope: only }),
  );
  let removed = 0;
  for (const runs of groupBy(found, ({ plugin, scope }) => `${plugin}\n${scope}`).values()) {
    const [first] = runs;
    if (first === undefined) continue;
    const { plugin, scope } = first;
    removed += await expireRunsOf(database, {
      keys: { plugin, scope, ids: runs.map(({ id }) => id) },
      before,
    });
  }
  return removed;
}

async function expireRunsOf(
  database: Pick<StoreDatabase, 'read' | 'mutate'>,
  { keys, before }: { keys: RunKeys; before: number },
): Promise<number> {
  const { plugin, scope, ids } = keys;
  // A run that comes after this look has a new lease, which stays while it lasts, and later it does no
  // harm that the lease is gone: the next one of its name begins with the database's clock, so its
  // fence is greater.
  const isLast = await database.read((connection) => areAll(connection, keys));
  const lease = scopeLeaseOf(plugin, scope);
  return await database.mutate(
    { scopes: [scope], files: [], runs: keys, ...(isLast ? { leases: [lease] } : {}) },
    (current) => {
      const { user, run } = current.runs();
      // An undoing may have opened one again since it was found.
      const removed = ids.filter((id) => hasEnded(run(id), before));
      const isNewest = user.runId !== null && removed.includes(user.runId);
      const isOver = isLast && (current.lease(lease)?.expiresAt ?? Infinity) <= current.now();
      return {
        result: removed.length,
        writes: 0,
        changes: {
          runs: { removed, user: isNewest ? { ...user, runId: null } : undefined },
          ...(isOver ? { leases: [{ name: lease, lease: null }] } : {}),
        },
      };
    },
  );
}

function hasEnded(run: RunRecord | null, before: number): boolean {
  return run !== null && run.endedAt !== null && run.endedAt < before && !run.isWaiting;
}

/** How many runs {@link expireRuns} would remove in all. */
export async function countEndedRuns(
  connection: Connection,
  before: number,
  scope: ScopeKey | null,
): Promise<number> {
  const own = inScope(scope);
  const [row] = await connection.all(
    `select count(*) as ended from svc_dream_history h where h.ended_at < ? and h.is_waiting = 0${own.sql}`,
    [before, ...own.parameters],
  );
  return row === undefined ? 0 : toInteger(row['ended']);
}

/** A run has its id before it ends, so it stands among the ids from before that time. */
async function findEnded(
  connection: Connection,
  { before, limit, scope }: { before: number; limit: number; scope: ScopeKey | null },
): Promise<RunKey[]> {
  const beyond = leastIdBeyond(before, await readIdSkew(connection));
  const own = inScope(scope);
  const source =
    scope === null
      ? connection.dialect.byIndex('svc_dream_history', 'h', 'svc_dream_history_id')
      : 'svc_dream_history h';
  const rows = await connection.all(
    `select ${RUN_KEYS.select('h').join(', ')} from ${source} where h.id < ? and h.ended_at < ? and h.is_waiting = 0${own.sql} order by h.id limit ?`,
    [beyond, before, ...own.parameters, limit],
  );
  return rows.map((row) => RUN_KEYS.toRecord(row));
}

function inScope(scope: ScopeKey | null): { sql: string; parameters: number[] } {
  if (scope === null) return { sql: '', parameters: [] };
  return { sql: ' and h.scope_id = ?', parameters: [toScopeId(scope)] };
}

/** Whether a user or a space has no other runs of the plugin. */
async function areAll(connection: Connection, { plugin, scope, ids }: RunKeys): Promise<boolean> {
  const own = isRunOf(plugin);
  const rows = await connection.all(
    `select h.id from svc_dream_history h where h.scope_id = ? and ${own.sql} limit ?`,
    [toScopeId(scope), ...own.parameters, ids.length + 1],
  );
  return rows.length <= ids.length;
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
