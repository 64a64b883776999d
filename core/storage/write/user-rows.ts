import type { RowCounts } from '../../contracts/erasure.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { RowRange } from '../../contracts/storage.ts';
import { DREAMING, runBudgetOf, userLeaseBounds, userLeaseOf } from '../../files/run-names.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { toUuid } from '../schema/ids.ts';
import { deleteFound, deleteRows, selectKey } from '../schema/row-sets.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { SCOPE_TABLES } from '../schema/tables.ts';
import type { LockedRange } from './locked-range.ts';
import { toOwner } from '../../files/paths.ts';

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
  const { userId } = toOwner(scope);
  const own = SCOPE_TABLES.map((table) => ({
    table,
    where: 't.scope_id = ?',
    parameters: [toScopeId(scope)],
  }));
  if (userId === null) return own;
  const byName = (table: string, name: string): Part => ({
    table,
    where: 't.name = ?',
    parameters: [name],
  });
  return [
    // Runs in progress lose their lease first, and write nothing from then on.
    byName('svc_lease', userLeaseOf(DREAMING, userId)),
    {
      table: 'svc_lease',
      where: 't.name > ? and t.name < ?',
      parameters: userLeaseBounds(userId),
    },
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
