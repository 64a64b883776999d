import type { AccessCount, ScopeKey } from '../../../core/contracts/records.ts';
import type { ObservationStore } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import { toIdMs } from '../../../core/id-time.ts';
import { assertScope } from '../../../core/files/paths.ts';
import type { Connection, SqlValue } from '../dialects/dialect.ts';
import { leastIdBeyond, leastIdSince, readIdSkew } from '../write/id-skew.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import { toInteger, toText, toTextOrNull } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

type Filter = Parameters<ObservationStore['countAccesses']>[0];
type Counted = Awaited<ReturnType<ObservationStore['countAccesses']>>;

/** The rows of one walk: all by id, those of one scope, or those of a user in shared memory. */
type Walk = { by: 'all' } | { by: 'scope'; scopeId: number } | { by: 'user'; userId: string };

/**
 * Counts the newest accesses of a range by path, actor, tool and action. The database groups the
 * rows, so the size of the result depends on the answer and not on the log.
 */
export async function countAccesses(
  connection: Connection,
  filter: Filter,
  limit: number,
): Promise<Counted> {
  const skew = await readIdSkew(connection);
  const before = filter.before ?? null;
  const ids = {
    first: leastIdSince(filter.since, skew),
    beyond:
      before === null
        ? leastIdBeyond(filter.until, skew)
        : (parseIdBytes(before) ?? refuse('before is no id of a row.')),
  };
  const userId = filter.userId ?? null;
  const walks: Walk[] = [{ by: 'all' }];
  if (userId !== null) {
    const scope: ScopeKey = `u:${userId}`;
    assertScope(scope);
    walks.splice(0, 1, { by: 'scope', scopeId: toScopeId(scope) }, { by: 'user', userId });
  }
  // All walks end where the first one ends, so that every count covers the same range.
  let end: Buffer | null = null;
  for (const walk of walks) {
    const found = await findEnd(connection, walk, { ...ids, limit });
    if (found !== null && (end === null || found.compare(end) > 0)) end = found;
  }
  const counts: AccessCount[] = [];
  for (const walk of walks) {
    const range = { first: end ?? ids.first, beyond: ids.beyond };
    for (const count of await countWalk(connection, walk, { ...filter, ids: range }))
      counts.push(count);
  }
  const next = end === null ? null : toUuid(end);
  return { counts, from: next === null ? null : toIdMs(next), next };
}

interface IdRange {
  first: Buffer;
  beyond: Buffer;
}

/** The oldest of a walk's newest `limit` rows; `null` if it has fewer. Reads only the index. */
async function findEnd(
  connection: Connection,
  walk: Walk,
  { limit, ...ids }: IdRange & { limit: number },
): Promise<Buffer | null> {
  const { source, where, parameters } = toWalk(connection, walk, ids);
  const [end] = await connection.all(
    `select a.id from ${source} where ${where} order by a.id desc limit 1 offset ?`,
    [...parameters, limit - 1],
  );
  return end === undefined ? null : Buffer.from(end['id'] as Uint8Array);
}

async function countWalk(
  connection: Connection,
  walk: Walk,
  { tool, since, until, ids }: Filter & { ids: IdRange },
): Promise<AccessCount[]> {
  const { source, where, parameters } = toWalk(connection, walk, ids);
  const conditions = [where, 'a.at >= ? and a.at < ?', "a.outcome = 'ok' and a.action <> 'list'"];
  const values: SqlValue[] = [...parameters, since, until];
  if (typeof tool === 'string') {
    conditions.push('a.tool = ?');
    values.push(tool);
  }
  const rows = await connection.all(
    'select s.scope, g.path, g.actor, g.tool, g.action, g.accesses, g.last_at from' +
      ' (select a.scope_id, a.path, a.actor, a.tool, a.action, count(*) as accesses,' +
      ` max(a.at) as last_at from ${source} where ${conditions.join(' and ')}` +
      ' group by a.scope_id, a.path, a.actor, a.tool, a.action) g' +
      ' cross join svc_scope s on s.scope_id = g.scope_id',
    values,
  );
  return rows.map((row) => ({
    scope: toText(row['scope']) as ScopeKey,
    path: toText(row['path']),
    actor: toText(row['actor']),
    tool: toTextOrNull(row['tool']),
    action: toText(row['action']) as AccessCount['action'],
    count: toInteger(row['accesses']),
    lastAt: toInteger(row['last_at']),
  }));
}

function toWalk(
  connection: Connection,
  walk: Walk,
  { first, beyond }: IdRange,
): { source: string; where: string; parameters: SqlValue[] } {
  const source = connection.dialect.byIndex('svc_access_log', 'a', INDEXES[walk.by]);
  // One bound on each side: with two, a database walks from the first and tests the second.
  const within = 'a.id >= ? and a.id < ?';
  switch (walk.by) {
    case 'all':
      return { source, where: within, parameters: [first, beyond] };
    case 'scope':
      return {
        source,
        where: `${within} and a.scope_id = ?`,
        parameters: [first, beyond, walk.scopeId],
      };
    case 'user':
      return {
        source,
        where: `${within} and a.user_id = ? and a.user_id is not null`,
        parameters: [first, beyond, walk.userId],
      };
  }
}

const INDEXES = {
  all: 'svc_access_log_id',
  // The order of the table itself.
  scope: null,
  user: 'svc_access_log_user',
} as const;

function refuse(message: string): never {
  throw new MemoryError('INVALID_REQUEST', message);
}
