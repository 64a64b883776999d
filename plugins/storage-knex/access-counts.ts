import type { AccessCount, ScopeKey } from '../../core/contracts/records.ts';
import type { ObservationStore } from '../../core/contracts/storage.ts';
import { toIdMs } from '../../core/memory/id-time.ts';
import { assertScope } from '../../core/memory/paths.ts';
import type { Dialect, Executor, SqlValue } from './dialect.ts';
import { leastIdBeyond, leastIdSince, readIdSkew } from './id-skew.ts';
import { toUuid } from './ids.ts';
import { toInteger, toText, toTextOrNull } from './rows.ts';
import { toScopeId } from './scope-id.ts';

type Filter = Parameters<ObservationStore['countAccesses']>[0];
type Counted = Awaited<ReturnType<ObservationStore['countAccesses']>>;

/** What one walk takes in: all rows by id, those of one scope, or a user's in shared memory. */
type Walk = { by: 'all' } | { by: 'scope'; scopeId: number } | { by: 'user'; userId: string };

/**
 * Counts the newest accesses of a range by path, actor, tool and action. Rows are grouped in the
 * database, so that what comes across is as long as the answer, not as the log.
 */
export async function countAccesses(
  executor: Executor,
  dialect: Dialect,
  filter: Filter,
  limit: number,
): Promise<Counted> {
  const skew = await readIdSkew(executor);
  const ids = {
    first: leastIdSince(filter.since, skew),
    beyond: leastIdBeyond(filter.until, skew),
  };
  const userId = filter.userId ?? null;
  const walks: Walk[] = [{ by: 'all' }];
  if (userId !== null) {
    const scope: ScopeKey = `u:${userId}`;
    assertScope(scope);
    walks.splice(0, 1, { by: 'scope', scopeId: toScopeId(scope) }, { by: 'user', userId });
  }
  const parts: Counted[] = [];
  for (const walk of walks)
    parts.push(await countWalk(executor, dialect, filter, walk, ids, limit));
  // Where either walk ended, the other one may know of older rows.
  const from = parts.reduce<number | null>(
    (latest, part) => (part.from === null ? latest : Math.max(latest ?? part.from, part.from)),
    null,
  );
  return { counts: parts.flatMap(({ counts }) => counts), from };
}

async function countWalk(
  executor: Executor,
  dialect: Dialect,
  { tool, since, until }: Filter,
  walk: Walk,
  ids: { first: Buffer; beyond: Buffer },
  limit: number,
): Promise<Counted> {
  const conditions = ['a.id >= ?', 'a.id < ?'];
  const owner: SqlValue[] = [];
  if (walk.by === 'scope') {
    conditions.push('a.scope_id = ?');
    owner.push(walk.scopeId);
  } else if (walk.by === 'user') {
    conditions.push('a.user_id = ? and a.user_id is not null');
    owner.push(walk.userId);
  }
  const source = dialect.byIndex('svc_access_log', 'a', INDEXES[walk.by]);
  // The walk's end is fixed first, over the index alone. It takes the place of the other bound: of
  // two, a database would walk from the first and test the second.
  const [end] = await executor.all(
    `select a.id from ${source} where ${conditions.join(' and ')}` +
      ' order by a.id desc limit 1 offset ?',
    [ids.first, ids.beyond, ...owner, limit - 1],
  );
  const first = end === undefined ? ids.first : (end['id'] as Uint8Array);
  const parameters: SqlValue[] = [first, ids.beyond, ...owner, since, until];
  conditions.push('a.at >= ? and a.at < ?', "a.outcome = 'ok' and a.action <> 'list'");
  if (typeof tool === 'string') {
    conditions.push('a.tool = ?');
    parameters.push(tool);
  }
  const rows = await executor.all(
    'select s.scope, g.path, g.actor, g.tool, g.action, g.accesses, g.last_at from' +
      ' (select a.scope_id, a.path, a.actor, a.tool, a.action, count(*) as accesses,' +
      ` max(a.at) as last_at from ${source} where ${conditions.join(' and ')}` +
      ' group by a.scope_id, a.path, a.actor, a.tool, a.action) g' +
      ' cross join svc_scope s on s.scope_id = g.scope_id',
    parameters,
  );
  return {
    from: end === undefined ? null : toIdMs(toUuid(end['id'] as Uint8Array)),
    counts: rows.map((row) => ({
      scope: toText(row['scope']) as ScopeKey,
      path: toText(row['path']),
      actor: toText(row['actor']),
      tool: toTextOrNull(row['tool']),
      action: toText(row['action']) as AccessCount['action'],
      count: toInteger(row['accesses']),
      lastAt: toInteger(row['last_at']),
    })),
  };
}

const INDEXES = {
  all: 'svc_access_log_id',
  // The table's own order.
  scope: null,
  user: 'svc_access_log_user',
} as const;
