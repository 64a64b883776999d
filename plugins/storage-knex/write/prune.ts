import type { PruneCount, PruneFilter, PruneOptions } from '../../../core/contracts/storage.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import { MemoryError } from '../../../core/errors.ts';
import { assertFileKey, assertScope } from '../../../core/files/paths.ts';
import type { SqlDatabase } from '../sql-database.ts';
import type { Connection, SqlValue } from '../dialects/dialect.ts';
import { readHold } from '../read/holds.ts';
import { insertRecords } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { AUDIT_ROWS, PRUNED_REVISIONS, REVISIONS } from '../schema/records.ts';

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
  database: SqlDatabase,
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
      const count = await database.write((connection) =>
        removeRows(connection, scope, { ...options, cuts: batch, skew: database.skew }),
      );
      add(total, count);
      rest = later;
    }
  }
  return total;
}

function add(total: PruneCount, count: PruneCount): void {
  total.pruned += count.pruned;
  total.bytes += count.bytes;
}

async function* scopesOf(database: SqlDatabase, filter: PruneFilter): AsyncGenerator<ScopeKey> {
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
  const parameters: SqlValue[] = [filter.keepLast - 1];
  if (typeof filter.olderThan === 'number') parameters.push(filter.olderThan);
  parameters.push(toScopeId(scope), scope, filter.keepLast);
  if (filter.path) parameters.push(filter.path.path);
  const cuts =
    `select f.scope_id, f.file_no, ${kept} as kept,` +
    ` ${typeof filter.olderThan === 'number' ? young : 'null'} as young` +
    ' from svc_scope s cross join svc_file f on f.scope_id = s.scope_id' +
    ` where s.scope_id = ? and s.scope = ? and f.revisions > ?${filter.path ? ' and f.path = ?' : ''}`;
  const below = 'case when c.young is not null and c.young < c.kept then c.young else c.kept end';
  const rows = await connection.all(
    `select c.file_no, ${below} as below, count(*) as rows_below, sum(${sizeOf('v')}) as bytes_below` +
      ` from (${cuts}) c cross join svc_revision v on v.scope_id = c.scope_id` +
      ` and v.file_no = c.file_no and v.version < ${below}` +
      ' group by c.file_no, c.kept, c.young order by c.file_no',
    parameters,
  );
  return rows.map((row) => ({
    fileNo: toInteger(row['file_no']),
    below: toInteger(row['below']),
    rows: toInteger(row['rows_below']),
    bytes: toInteger(row['bytes_below']),
  }));
}

/** The bytes of a revision's step back, as an SQL expression. */
function sizeOf(alias: string): string {
  return `coalesce(octet_length(${alias}.delta), 0) + coalesce(octet_length(${alias}.keyframe), 0)`;
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

interface RemoveOptions extends Pick<SqlDatabase, 'skew'>, Pick<PruneOptions, 'audit' | 'keep'> {
  cuts: readonly Cut[];
}

async function removeRows(
  connection: Connection,
  scope: ScopeKey,
  { cuts, audit, keep, skew }: RemoveOptions,
): Promise<PruneCount> {
  const scopeId = toScopeId(scope);
  const [locked] = await connection.all(
    `select scope_id from svc_scope where scope_id = ? and scope = ?${connection.dialect.forUpdate}`,
    [scopeId, scope],
  );
  const count: PruneCount = { pruned: 0, bytes: 0 };
  // An operator's work on the memory comes first: the next round prunes it.
  if (locked === undefined || (await readHold(connection, scope)) !== null) return count;
  for (const { fileNo, below } of cuts) {
    const rows = await connection.all(
      `select ${REVISIONS.select('r').join(', ')}, f.path, ${sizeOf('r')} as bytes from svc_revision r` +
        ' cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no' +
        ' where r.scope_id = ? and r.file_no = ? and r.version < ? order by r.version limit ?',
      [scopeId, fileNo, below, ROWS_AT_ONCE - count.pruned],
    );
    const last = rows.at(-1);
    if (last === undefined) continue;
    const kept = rows.flatMap((row) => keep(REVISIONS.toRecord(row, scope)) ?? []);
    // An import may have brought back what was pruned before.
    await insertRecords(connection, kept, { into: PRUNED_REVISIONS, conflict: 'skip' });
    const removed = await connection.run(
      'delete from svc_revision where scope_id = ? and file_no = ? and version <= ?',
      [scopeId, fileNo, toInteger(last['version'])],
    );
    await connection.run(
      'update svc_file set revisions = revisions - ? where scope_id = ? and file_no = ?',
      [removed, scopeId, fileNo],
    );
    count.pruned += removed;
    for (const row of rows) count.bytes += toInteger(row['bytes']);
  }
  if (count.pruned === 0) return count;
  await connection.run('update svc_scope set revisions = revisions - ? where scope_id = ?', [
    count.pruned,
    scopeId,
  ]);
  const record = audit(count);
  await insertRecords(connection, [record], { into: AUDIT_ROWS });
  await skew.cover(connection, [record]);
  return count;
}
