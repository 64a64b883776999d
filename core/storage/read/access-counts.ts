import type { AccessCount, ScopeKey } from '../../contracts/records.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { toIdMs } from '../../ids/id-time.ts';
import { assertScope, toUserId } from '../../files/paths.ts';
import type { Connection, Dialect, SqlValue } from '../dialect.ts';
import { leastIdBeyond, leastIdSince, readIdSkew } from '../write/id-skew.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { mapTable } from '../schema/table-map.ts';

type Filter = Parameters<ObservationStore['countAccesses']>[0];
type Counted = Awaited<ReturnType<ObservationStore['countAccesses']>>;

/** Rows along one index, which has them by id. The range of ids comes before the parameters. */
interface Walk {
  source: string;
  where: string;
  parameters: readonly SqlValue[];
}

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
  const walks = walksOf(connection.dialect, filter.scope ?? null);
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

/** All rows, or those of a scope; for a user also the user's in shared memory and in spaces. */
function walksOf(dialect: Dialect, scope: ScopeKey | null): Walk[] {
  const along = (index: string | null) => dialect.byIndex('svc_access_log', 'a', index);
  // One bound on each side: with two, a database walks from the first and tests the second.
  const where = 'a.id >= ? and a.id < ?';
  if (scope === null) return [{ source: along('svc_access_log_id'), where, parameters: [] }];
  assertScope(scope);
  const own = {
    // The order of the table itself.
    source: along(null),
    where: `${where} and a.scope_id = ?`,
    parameters: [toScopeId(scope)],
  };
  const userId = toUserId(scope);
  if (userId === null) return [own];
  return [
    own,
    {
      source: along('svc_access_log_user'),
      where: `${where} and a.user_id = ? and a.user_id is not null`,
      parameters: [userId],
    },
  ];
}

interface IdRange {
  first: Buffer;
  beyond: Buffer;
}

/** The oldest of a walk's newest `limit` rows; `null` if it has fewer. Reads only the index. */
async function findEnd(
  connection: Connection,
  { source, where, parameters }: Walk,
  { first, beyond, limit }: IdRange & { limit: number },
): Promise<Buffer | null> {
  const [end] = await connection.all(
    `select a.id from ${source} where ${where} order by a.id desc limit 1 offset ?`,
    [first, beyond, ...parameters, limit - 1],
  );
  return end === undefined ? null : Buffer.from(end['id'] as Uint8Array);
}

async function countWalk(
  connection: Connection,
  { source, where, parameters }: Walk,
  { tool, since, until, ids }: Filter & { ids: IdRange },
): Promise<AccessCount[]> {
  const conditions = [where, 'a.at >= ? and a.at < ?', "a.outcome = 'ok' and a.action <> 'list'"];
  const values: SqlValue[] = [ids.first, ids.beyond, ...parameters, since, until];
  if (typeof tool === 'string') {
    conditions.push('a.tool = ?');
    values.push(tool);
  }
  const rows = await connection.all(
    `select s.scope, ${COUNTS.select('g').join(', ')}, g.accesses, g.last_at from` +
      ' (select a.scope_id, a.path, a.actor, a.tool, a.action, count(*) as accesses,' +
      ` max(a.at) as last_at from ${source} where ${conditions.join(' and ')}` +
      ' group by a.scope_id, a.path, a.actor, a.tool, a.action) g' +
      ' cross join svc_scope s on s.scope_id = g.scope_id',
    values,
  );
  return rows.map((row) => COUNTS.toRecord(row));
}

const COUNTS = mapTable<AccessCount>(
  'svc_access_log',
  { count: { name: 'accesses', kind: 'number' }, lastAt: 'number' },
  { only: ['scope_id', 'path', 'actor', 'tool', 'action'] },
);

function refuse(message: string): never {
  throw new MemoryError('INVALID_REQUEST', message);
}
