import type {
  EventRecord,
  RollupCount,
  RollupGrain,
  RollupRecord,
  ScopeKey,
} from '../../contracts/records.ts';
import type { CountedRange, RollUp, RollupFilter } from '../../contracts/storage.ts';
import { assertScope, SHARED } from '../../files/paths.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import { toLeastIdBytes } from '../schema/ids.ts';
import { deleteFound, findRows, replaceRecords, selectKey } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { mapTable } from '../schema/table-map.ts';

/** The number for all scopes together. No scope has it. */
const ALL_SCOPES = 0;

const GRAIN_MS: Readonly<Record<RollupGrain, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

const GRAINS = new Map(Object.entries(GRAIN_MS).map(([grain, ms]) => [ms, grain as RollupGrain]));

const ROLLUPS = mapTable<RollupRecord>('svc_rollup', {
  grain: {
    toCell: (grain) => GRAIN_MS[grain],
    fromCell: (cell) => GRAINS.get(toInteger(cell)) as RollupGrain,
  },
  scope: {
    name: 'scope_id',
    toCell: toRollupScopeId,
    fromCell: (_, scope) => scope ?? null,
  },
  tool: {
    toCell: (tool) => tool ?? '',
    fromCell: (cell) => toText(cell) || null,
  },
});

const KEYS: readonly string[] = ['scope_id', 'grain', 'bucket', 'tool', 'instance_id'];
const SUMMED = ['calls', 'failed', 'refused', 'reads', 'writes', 'finds'];
const COUNTS = mapTable<Omit<RollupCount, 'bucket'>>('svc_rollup', {}, { only: SUMMED });
/** Quoted, because `reads` is a reserved word in MariaDB. */
const SUMS = SUMMED.map((name) => `sum(r.${name}) as \`${name}\``).join(', ');
const COLUMNS = ROLLUPS.select('r').join(', ');

function toRollupScopeId(scope: ScopeKey | null): number {
  return scope === null ? ALL_SCOPES : toScopeId(scope);
}

/** Adds events to the roll-ups, in the transaction that writes them. */
export async function keepRollups(
  connection: Connection,
  rollUp: RollUp,
  events: readonly EventRecord[],
): Promise<void> {
  const { whole, added } = rollUp.count(events);
  const merged = await mergeKept(connection, rollUp, added);
  const rows = [...whole, ...merged].sort(
    (left, right) => toRollupScopeId(left.scope) - toRollupScopeId(right.scope),
  );
  await replaceRecords(connection, ROLLUPS, rows);
}

async function mergeKept(
  connection: Connection,
  rollUp: RollUp,
  added: readonly RollupRecord[],
): Promise<readonly RollupRecord[]> {
  const rows = await findRows(connection, 'svc_rollup', {
    columns: KEYS,
    rows: added.map(ROLLUPS.toKey),
    select: ROLLUPS.select('t'),
  });
  const kept = new Map(
    rows.map((row) => [
      `${toInteger(row['scope_id'])} ${toInteger(row['grain'])} ${toInteger(row['bucket'])} ${toText(row['tool'])}`,
      row,
    ]),
  );
  return added.map((row) => {
    const key = `${toRollupScopeId(row.scope)} ${GRAIN_MS[row.grain]} ${row.bucket} ${row.tool ?? ''}`;
    const old = kept.get(key);
    return old === undefined
      ? row
      : rollUp.merge(ROLLUPS.toRecord(old, row.scope ?? undefined), row);
  });
}

/** Reads the roll-ups of one grain, by bucket, of all instances. */
export async function readRollups(
  connection: Connection,
  filter: RollupFilter,
): Promise<RollupRecord[]> {
  const { where, parameters } = inFilter(filter);
  const rows = await connection.all(
    `select ${COLUMNS} from svc_rollup r where ${where} order by r.bucket, r.tool, r.instance_id`,
    parameters,
  );
  return rows.map((row) => ROLLUPS.toRecord(row, filter.scope ?? undefined));
}

/** Counts their calls. The database adds them up, so that only the points of the chart are read. */
export async function countRollups(
  connection: Connection,
  filter: RollupFilter & { length: number },
): Promise<RollupCount[]> {
  const { where, parameters } = inFilter(filter);
  const rows = await connection.all(
    `select r.bucket - r.bucket % ? as begins_at, ${SUMS} from svc_rollup r where ${where}` +
      ' group by begins_at order by begins_at',
    [filter.length, ...parameters],
  );
  return rows.map((row) => ({ bucket: toInteger(row['begins_at']), ...COUNTS.toRecord(row) }));
}

function inFilter({ grain, scope, tool, since, until }: RollupFilter): {
  where: string;
  parameters: SqlValue[];
} {
  if (scope !== null) assertScope(scope);
  const where = 'r.scope_id = ? and r.grain = ? and r.bucket >= ? and r.bucket < ?';
  const parameters = [toRollupScopeId(scope), GRAIN_MS[grain], since, until];
  return typeof tool === 'string'
    ? { where: `${where} and r.tool = ?`, parameters: [...parameters, tool] }
    : { where, parameters };
}

/** Counts the scopes of users with calls in these ranges, each once. */
export async function countRollupScopes(
  connection: Connection,
  ranges: readonly CountedRange[],
  tool: string | null,
): Promise<number> {
  if (ranges.length === 0) return 0;
  const parameters: SqlValue[] = [];
  const parts = ranges.map(({ grain, since, until }) => {
    if (grain === null) {
      parameters.push(toLeastIdBytes(since), toLeastIdBytes(until));
      if (tool !== null) parameters.push(tool);
      const source = connection.dialect.byIndex('svc_event', 'e', 'svc_event_id');
      return (
        `select e.scope_id from ${source} where e.id >= ? and e.id < ? and e.kind = 'tool'` +
        (tool === null ? '' : ' and e.tool = ?')
      );
    }
    parameters.push(GRAIN_MS[grain], since, until);
    if (tool !== null) parameters.push(tool);
    const source = connection.dialect.byIndex('svc_rollup', 'r', 'svc_rollup_bucket');
    return (
      `select r.scope_id from ${source} where r.grain = ? and r.bucket >= ? and r.bucket < ?` +
      (tool === null ? '' : ' and r.tool = ?')
    );
  });
  // Leaves out shared memory, which belongs to nobody, and the rows of all scopes together.
  parameters.push(ALL_SCOPES, toScopeId(SHARED));
  const [row] = await connection.all(
    `select count(distinct a.scope_id) as scopes from (${parts.join(' union all ')}) a` +
      ' where a.scope_id <> ? and a.scope_id <> ?',
    parameters,
  );
  return toInteger(row?.['scopes'] ?? 0);
}

/** Removes the oldest roll-ups of a grain that end before a time. */
export async function expireRollupRows(
  connection: Connection,
  grain: RollupGrain,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  const source = connection.dialect.byIndex('svc_rollup', 't', 'svc_rollup_bucket');
  const rows = await connection.all(
    `select ${selectKey('svc_rollup')} from ${source}` +
      ' where t.grain = ? and t.bucket < ? order by t.bucket, t.scope_id limit ?',
    [GRAIN_MS[grain], before, limit],
  );
  return await deleteFound(connection, 'svc_rollup', rows);
}
