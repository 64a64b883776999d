import type { PruneCount, PruneFilter, PruneOptions } from '../../contracts/storage.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { sizeOf } from './old-revisions.ts';

/** The most rows that one transaction removes. */
const ROWS_AT_ONCE = 500;
/** The number of scopes looked up at once. */
const SCOPES_AT_ONCE = 500;
/** Greater than any version. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** A file, and the version below which its rows are removed. */
interface Cut {
  fileNo: number;
  below: number;
  rows: number;
  bytes: number;
}

/** Removes the oldest revisions of files, scope by scope, in transactions of 500 rows. */
export async function pruneRevisions(
  database: StoreDatabase,
  filter: PruneFilter,
  options: PruneOptions,
): Promise<PruneCount> {
  if (!Number.isSafeInteger(filter.keepLast) || filter.keepLast < 1) {
    throw new MemoryError('INVALID_REQUEST', 'At least one revision of a file is kept.');
  }
  if (filter.path) assertFileKey(filter.path);
  if (filter.scope) assertScope(filter.scope);
  const total: PruneCount = { pruned: 0, bytes: 0 };
  for await (const scope of scopesOf(database, filter)) {
    const cuts = await database.snapshot((connection) => findCuts(connection, scope, filter));
    for (const cut of cuts) {
      if (options.dryRun) add(total, { pruned: cut.rows, bytes: cut.bytes });
    }
    if (options.dryRun) continue;
    // Cuts stay valid while others write: new rows can only move a cut up.
    let rest = cuts;
    while (rest.length > 0) {
      if (options.signal?.aborted === true) return total;
      const [batch, later] = takeBatch(rest);
      add(total, await removeRows(database, scope, { ...options, cuts: batch }));
      rest = later;
    }
  }
  return total;
}

function add(total: PruneCount, count: PruneCount): void {
  total.pruned += count.pruned;
  total.bytes += count.bytes;
}

async function* scopesOf(database: StoreDatabase, filter: PruneFilter): AsyncGenerator<ScopeKey> {
  const scope = filter.path?.scope ?? filter.scope ?? null;
  if (scope !== null) {
    if (typeof filter.scope !== 'string' || filter.scope === scope) yield scope;
    return;
  }
  let after = 0;
  for (;;) {
    const rows = await database.read((connection) =>
      connection.all(
        'select scope_id, scope from svc_scope where scope_id > ? and revisions > ?' +
          ' order by scope_id limit ?',
        [after, filter.keepLast, SCOPES_AT_ONCE],
      ),
    );
    for (const row of rows) yield toText(row['scope']) as ScopeKey;
    if (rows.length < SCOPES_AT_ONCE) return;
    after = toInteger(rows.at(-1)?.['scope_id'] ?? NEVER);
  }
}

/**
 * Finds the cut of each file: below its newest `keepLast` rows, and below the first row that is not
 * old enough. So a prune removes a file's oldest rows without a gap, and each of them meets both
 * conditions.
 */
async function findCuts(
  connection: Connection,
  scope: ScopeKey,
  filter: PruneFilter,
): Promise<Cut[]> {
  const ofFile = 'r.scope_id = f.scope_id and r.file_no = f.file_no';
  const kept = `(select r.version from svc_revision r where ${ofFile} order by r.version desc limit 1 offset ?)`;
  const young = `(select r.version from svc_revision r where ${ofFile} and r.at >= ? order by r.version limit 1)`;
  const { olderThan = null } = filter;
  const parameters: SqlValue[] = [filter.keepLast - 1];
  if (olderThan !== null) parameters.push(olderThan);
  parameters.push(toScopeId(scope), scope, filter.keepLast);
  if (filter.path) parameters.push(filter.path.path);
  const cuts =
    `select f.scope_id, f.file_no, ${kept} as kept${olderThan === null ? '' : `, ${young} as young`}` +
    ' from svc_scope s cross join svc_file f on f.scope_id = s.scope_id' +
    ` where s.scope_id = ? and s.scope = ? and f.revisions > ?${filter.path ? ' and f.path = ?' : ''}`;
  const below =
    olderThan === null
      ? 'c.kept'
      : 'case when c.young is not null and c.young < c.kept then c.young else c.kept end';
  const rows = await connection.all(
    `select c.file_no, ${below} as below, count(*) as rows_below, sum(${sizeOf('v')}) as bytes_below` +
      ` from (${cuts}) c cross join svc_revision v on v.scope_id = c.scope_id` +
      ` and v.file_no = c.file_no and v.version < ${below}` +
      ` group by c.file_no, c.kept${olderThan === null ? '' : ', c.young'} order by c.file_no`,
    parameters,
  );
  return rows.map((row) => ({
    fileNo: toInteger(row['file_no']),
    below: toInteger(row['below']),
    rows: toInteger(row['rows_below']),
    bytes: toInteger(row['bytes_below']),
  }));
}

/** Splits the cuts into those of one transaction (the last may be partial) and the rest. */
function takeBatch(cuts: readonly Cut[]): [readonly Cut[], Cut[]] {
  let rows = 0;
  for (const [index, cut] of cuts.entries()) {
    rows += cut.rows;
    if (rows < ROWS_AT_ONCE) continue;
    const left = rows - ROWS_AT_ONCE;
    const later = cuts.slice(index + 1);
    return [cuts.slice(0, index + 1), left === 0 ? later : [{ ...cut, rows: left }, ...later]];
  }
  return [cuts, []];
}

async function removeRows(
  database: StoreDatabase,
  scope: ScopeKey,
  { cuts, audit, seal }: { cuts: readonly Cut[] } & Pick<PruneOptions, 'audit' | 'seal'>,
): Promise<PruneCount> {
  const range = { kind: 'revisions', scope, limit: ROWS_AT_ONCE, files: cuts } as const;
  return await database.mutate({ scopes: [scope], files: [], range }, (current) => {
    const state = current.scope(scope);
    const { revisions, bytes } = current.range();
    // An operator's work on the memory comes first: the next round prunes it.
    const isLeft = state.holdId !== null || revisions.length === 0;
    if (isLeft) return { result: { pruned: 0, bytes: 0 }, writes: 0, changes: {} };
    const count = { pruned: revisions.length, bytes };
    const sealed = seal(state, revisions);
    return {
      result: count,
      writes: 0,
      changes: {
        removesRange: true,
        scopes: [{ ...sealed.scope, revisions: state.revisions - count.pruned }],
        pruned: sealed.pruned,
        audit: [audit(count)],
      },
    };
  });
}
