import type { RowCounts } from '../../contracts/erasure.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { RowRange } from '../../contracts/storage.ts';
import { DREAMING, runBudgetOf, scopeLeaseBounds, scopeLeaseOf } from '../../files/run-names.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { toUuid } from '../schema/ids.ts';
import { deleteFound, deleteRows, selectKey } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { SCOPE_TABLES } from '../schema/tables.ts';
import type { LockedRange } from './locked-range.ts';
import { ownerOf, scopesFrom, toOwner, toScope } from '../../files/paths.ts';

/** Rows of tables with contents in them: each counts as several. */
const LARGE = new Set(['svc_content', 'svc_revision', 'svc_dream_history', 'svc_event']);
const LARGE_WEIGHT = 5;

/** Rows of a user in one table, found by one column beside the scope. */
interface Part {
  table: string;
  where: string;
  parameters: readonly SqlValue[];
  /** The column that named the user, where the rows stay without it. */
  cleared?: string;
}

/** A write of shared memory or of a space keeps its row: its revision stays, too. */
const KEPT_WRITE = "t.action = 'write' and t.revision_id is not null";

/** All rows of a user or a space: what leads to other rows comes after those. */
function partsOf(scope: ScopeKey): Part[] {
  const { userId, spaceId } = toOwner(scope);
  const own = SCOPE_TABLES.map((table) => ({
    table,
    where: 't.scope_id = ?',
    parameters: [toScopeId(scope)],
  }));
  if (userId === null && spaceId === null) return own;
  // Runs in progress lose their lease first, and write nothing from then on.
  const leases: Part[] = [
    { table: 'svc_lease', where: 't.name = ?', parameters: [scopeLeaseOf(DREAMING, scope)] },
    {
      table: 'svc_lease',
      where: 't.name > ? and t.name < ?',
      parameters: scopeLeaseBounds(scope),
    },
  ];
  if (userId === null) return [...leases.slice(1), ...own];
  return [
    ...leases,
    {
      table: 'svc_access_log',
      where: `t.user_id = ? and not (${KEPT_WRITE})`,
      parameters: [userId],
    },
    {
      table: 'svc_access_log',
      where: `t.user_id = ? and ${KEPT_WRITE}`,
      parameters: [userId],
      cleared: 'user_id',
    },
    ...own,
  ];
}

/** Counts all rows of a user. */
export async function countUserRows(connection: Connection, scope: ScopeKey): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  for (const { table, where, parameters } of partsOf(scope)) {
    const sql = `select count(*) as row_count from ${table} t where ${where}`;
    const [row] = await connection.all(sql, parameters);
    add(counts, table, toInteger(row?.['row_count'] ?? 0));
  }
  return counts;
}

/** Whether a scope, `s`, has rows of its own. */
const HAS_ROWS = SCOPE_TABLES.map(
  (table) => `exists (select 1 from ${table} t where t.scope_id = s.scope_id)`,
).join(' or ');

/** Lists the users and spaces of whom there are rows, as {@link ErasureStore.owners} says. */
export async function listOwners(
  connection: Connection,
  idPrefix: string,
  { after, limit }: { after: ScopeKey | null; limit: number },
): Promise<ScopeKey[]> {
  const found = new Set<ScopeKey>();
  for (const owners of ['spaces', 'users'] as const) {
    const { from, to } = scopesFrom(owners, idPrefix);
    const rows = await connection.all(
      'select s.scope from svc_scope s where s.scope >= ? and s.scope < ? and s.scope > ?' +
        ` and (${HAS_ROWS}) order by s.scope limit ?`,
      [from, to, after ?? '', limit],
    );
    for (const row of rows) found.add(toText(row['scope']) as ScopeKey);
  }
  for (const scope of await listReaders(connection, idPrefix, { after, limit })) found.add(scope);
  return [...found].sort((one, other) => (one < other ? -1 : 1)).slice(0, limit);
}

/** The users who have access rows, in any scope: one step in the index for each. */
async function listReaders(
  connection: Connection,
  idPrefix: string,
  { after, limit }: { after: ScopeKey | null; limit: number },
): Promise<ScopeKey[]> {
  const bounds = scopesFrom('users', idPrefix);
  const [from, to] = [ownerOf(bounds.from as ScopeKey), ownerOf(bounds.to as ScopeKey)];
  const start = after !== null && after >= bounds.from ? ownerOf(after) : null;
  const found: ScopeKey[] = [];
  for (let last = start; found.length < limit;) {
    const [row] = await connection.all(
      `select t.user_id from svc_access_log t where t.user_id ${last === null ? '>=' : '>'} ?` +
        ' and t.user_id < ? order by t.user_id limit 1',
      [last ?? from, to],
    );
    if (row === undefined) break;
    last = toText(row['user_id']);
    found.push(toScope({ userId: last }));
  }
  return found;
}

/** Locks rows of a user, one table after the other. */
export async function lockUserRows(
  connection: Connection,
  { scope, limit }: Extract<RowRange, { kind: 'user' }>,
): Promise<LockedRange> {
  const found: { part: Part; rows: Row[] }[] = [];
  const counts: Record<string, number> = {};
  let left = limit;
  for (const part of partsOf(scope)) {
    if (left <= 0) break;
    const weight = LARGE.has(part.table) ? LARGE_WEIGHT : 1;
    const rows = await lockPart(connection, part, Math.ceil(left / weight));
    left -= rows.length * weight;
    found.push({ part, rows });
    add(counts, part.table, rows.length);
  }
  return {
    counts,
    // The limit ends the search, so more rows may be left.
    isAll: left > 0,
    revisions: [],
    bytes: 0,
    async remove(inTransaction) {
      for (const { part, rows } of found) await removePart(inTransaction, part, rows);
    },
  };
}

async function lockPart(
  connection: Connection,
  { table, where, parameters }: Part,
  limit: number,
): Promise<Row[]> {
  return await connection.all(
    `select ${selectKey(table)} from ${table} t where ${where} limit ? for update of t`,
    [...parameters, limit],
  );
}

async function removePart(
  connection: Connection,
  { table, cleared }: Part,
  rows: readonly Row[],
): Promise<void> {
  if (cleared !== undefined) {
    for (const row of rows) {
      await connection.run(`update ${table} set ${cleared} = null where id = ?`, [
        row['id'] as Buffer,
      ]);
    }
    return;
  }
  if (table === 'svc_dream_history') await removeBudgets(connection, rows);
  await deleteFound(connection, table, rows);
}

/** The budgets of runs have their ids as names. */
async function removeBudgets(connection: Connection, runs: readonly Row[]): Promise<void> {
  await deleteRows(connection, 'svc_budget', {
    columns: ['name'],
    rows: runs.map((row) => [runBudgetOf(toUuid(row['id'] as Uint8Array))]),
  });
}

function add(counts: Record<string, number>, table: string, rows: number): void {
  if (rows > 0) counts[table] = (counts[table] ?? 0) + rows;
}
