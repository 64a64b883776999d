import type {
  CoverOptions,
  PruneCount,
  PruneFilter,
  PruneOptions,
  SealedPrune,
  UncoveredFile,
} from '../../contracts/storage.ts';
import type { RevisionRecord, ScopeKey, ScopeState } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import { readChain } from '../read/revision-chain.ts';
import { uncover } from './uncover.ts';
import { insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { NEW_AUDIT_ROWS, PRUNED_REVISIONS, REVISIONS, SCOPES } from '../schema/records.ts';

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

interface RemoveOptions extends Pick<StoreDatabase, 'skew'>, Pick<PruneOptions, 'audit' | 'seal'> {
  cuts: readonly Cut[];
}

async function removeRows(
  connection: Connection,
  scope: ScopeKey,
  { cuts, audit, seal, skew }: RemoveOptions,
): Promise<PruneCount> {
  const scopeId = toScopeId(scope);
  const locked = await lockScope(connection, scope);
  const count: PruneCount = { pruned: 0, bytes: 0 };
  // An operator's work on the memory comes first: the next round prunes it.
  if (locked === null || locked.holdId !== null) return count;
  const removed: RevisionRecord[] = [];
  for (const { fileNo, below } of cuts) {
    const rows = await connection.all(
      `select ${REVISIONS.select('r').join(', ')}, f.path, ${sizeOf('r')} as bytes from svc_revision r` +
        ' cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no' +
        ' where r.scope_id = ? and r.file_no = ? and r.version < ? order by r.version limit ?',
      [scopeId, fileNo, below, ROWS_AT_ONCE - count.pruned],
    );
    const last = rows.at(-1);
    if (last === undefined) continue;
    removed.push(...rows.map((row) => REVISIONS.toRecord(row, scope)));
    const newest = toInteger(last['version']);
    const removedRows = await connection.run(
      'delete from svc_revision where scope_id = ? and file_no = ? and version <= ?',
      [scopeId, fileNo, newest],
    );
    await connection.run(
      'update svc_file set revisions = revisions - ? where scope_id = ? and file_no = ?',
      [removedRows, scopeId, fileNo],
    );
    await uncover(connection, { scopeId, fileNo, from: 0, upTo: newest });
    count.pruned += removedRows;
    for (const row of rows) count.bytes += toInteger(row['bytes']);
  }
  if (count.pruned === 0) return count;
  const sealed = seal(locked, removed);
  await saveSealed(connection, {
    ...sealed,
    scope: { ...sealed.scope, revisions: locked.revisions - count.pruned },
  });
  const record = audit(count);
  await insertRecords(connection, [{ ...record, scopeId }], { into: NEW_AUDIT_ROWS });
  await skew.cover(connection, [record]);
  return count;
}

/** Reads the row of a scope and locks it; `null` if there is none. */
async function lockScope(connection: Connection, scope: ScopeKey): Promise<ScopeState | null> {
  const [row] = await connection.all(
    `select ${SCOPES.select('s').join(', ')} from svc_scope s where s.scope_id = ? and s.scope = ?${connection.dialect.forUpdate}`,
    [toScopeId(scope), scope],
  );
  return row === undefined ? null : SCOPES.toRecord(row);
}

async function saveSealed(connection: Connection, { scope, pruned }: SealedPrune): Promise<void> {
  // An import may have brought back what was pruned before.
  await insertRecords(connection, pruned, { into: PRUNED_REVISIONS, conflict: 'skip' });
  await replaceRecords(connection, SCOPES, [scope]);
}

/** Implements `RevisionStore.cover`. */
export async function coverFiles(
  database: StoreDatabase,
  { limit, seal, audit }: CoverOptions,
): Promise<number | null> {
  return await database.write(async (connection) => {
    const [marked] = await connection.all(
      'select scope from svc_scope where uncovered = 1 order by scope_id limit 1',
      [],
    );
    if (marked === undefined) return null;
    const scope = toText(marked['scope']) as ScopeKey;
    const locked = await lockScope(connection, scope);
    if (locked === null) return 0;
    const files = await findUncovered(connection, scope, limit);
    const sealed = await seal(locked, files);
    // Files with a damaged history get no hash: they are not tried again.
    const isLast = files.length < limit || sealed.pruned.length === 0;
    await saveSealed(connection, sealed);
    if (isLast) {
      await connection.run('update svc_scope set uncovered = 0 where scope_id = ?', [
        toScopeId(scope),
      ]);
    }
    if (sealed.pruned.length === 0) return 0;
    const record = audit(sealed.pruned.length);
    const row = { ...record, scopeId: toScopeId(scope) };
    await insertRecords(connection, [row], { into: NEW_AUDIT_ROWS });
    await database.skew.cover(connection, [record]);
    return sealed.pruned.length;
  });
}

/** Files of a scope whose oldest text has no hash and is not redacted. */
async function findUncovered(
  connection: Connection,
  scope: ScopeKey,
  limit: number,
): Promise<UncoveredFile[]> {
  const rows = await connection.all(
    `select f.path, ${REVISIONS.select('r')
      .filter((column) => column !== 'r.path')
      .join(', ')} from svc_file f cross join svc_revision r` +
      ' on r.scope_id = f.scope_id and r.file_no = f.file_no and r.version = f.version - f.revisions + 1' +
      ' where f.scope_id = ? and f.version > f.revisions and r.existed_before = 1' +
      ' and r.redacted_before = 0 and not exists (select 1 from svc_pruned_revision p' +
      ' where p.scope_id = f.scope_id and p.file_no = f.file_no and p.content_hash is not null' +
      ' and p.version = r.version - 1) order by f.file_no limit ?',
    [toScopeId(scope), limit],
  );
  const files: UncoveredFile[] = [];
  for (const row of rows) {
    const oldest = REVISIONS.toRecord(row, scope);
    const chain = await readChain(connection, oldest, oldest.version - 1);
    if (chain !== null) files.push({ chain, oldest });
  }
  return files;
}
