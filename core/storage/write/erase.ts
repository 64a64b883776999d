import type { ErasureStore } from '../../contracts/erasure.ts';
import type { HoldRecord, ScopeKey } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';
import { DREAMING, runBudgetOf, userLeaseBounds, userLeaseOf } from '../../files/run-names.ts';
import { assertScope } from '../../files/paths.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import {
  AUDIT_ROWS,
  HOLDS,
  META,
  NEW_AUDIT_ROWS,
  newScopeState,
  SCOPES,
} from '../schema/records.ts';
import {
  deleteFound,
  deleteRows,
  insertRecords,
  replaceRecords,
  selectKey,
} from '../schema/row-sets.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { SCOPE_TABLES } from '../schema/tables.ts';
import type { StoreDatabase } from '../store-database.ts';
import { listHolds, readHold } from '../read/holds.ts';
import { addPendingReceipts, createPendingReceipts } from './pending-receipts.ts';
import { createRedact } from './redact.ts';

/** Rows of tables with contents in them: fewer at once. */
const LARGE = new Set(['svc_content', 'svc_revision', 'svc_dream_history', 'svc_event']);
const LARGE_SHARE = 5;
/** In the column that holds it, the scope `s` of shared memory. */
const SHARED = toScopeId('s');

/** Makes the store that removes content for good. */
export function createErasureStore(database: StoreDatabase): ErasureStore {
  const { skew } = database;
  return {
    redact: createRedact(database),

    look: (after) =>
      database.snapshot(async (connection) => {
        // Few scopes were ever erased, which MariaDB does not know before it looks.
        const source = connection.dialect.byIndex('svc_scope', 's', 'svc_scope_erasure');
        const numbered = `select s.scope, s.erasure_number from ${source} where s.erasure_number > 0`;
        const [newest] = await connection.all(
          `${numbered} order by s.erasure_number desc limit 1`,
          [],
        );
        const latest = newest === undefined ? 0 : toInteger(newest['erasure_number']);
        const rows =
          after === null || latest <= after
            ? []
            : await connection.all(
                `${numbered} and s.erasure_number > ? order by s.erasure_number`,
                [after],
              );
        const erased = rows.map((row) => ({
          scope: toText(row['scope']) as ScopeKey,
          number: toInteger(row['erasure_number']),
        }));
        const holds = await listHolds(connection, MAX_HOLDS);
        return { latest, erased, holds: holds.filter(({ kind }) => kind === 'erase') };
      }),

    erasedAt: (scope) =>
      database.read(async (connection) => {
        const [row] = await connection.all(
          'select erased_at from svc_scope where scope_id = ? and scope = ?',
          [toScopeId(scope), scope],
        );
        return toIntegerOrNull(row?.['erased_at']);
      }),

    count(scope) {
      assertScope(scope);
      return database.read(async (connection) => {
        const counts: Record<string, number> = {};
        for (const part of partsOf(scope))
          add(counts, part.table, await countPart(connection, part));
        return counts;
      });
    },

    begin(hold, audit) {
      assertScope(hold.scope);
      return database.write(async (connection) => {
        const scopeId = toScopeId(hold.scope);
        const states = [newScopeState(hold.scope)];
        await insertRecords(connection, states, { into: SCOPES, conflict: 'skip' });
        await connection.run(
          'update svc_scope set version = version + 1 where scope_id = ? and scope = ?',
          [scopeId, hold.scope],
        );
        const held = await readHold(connection, hold.scope);
        if (held !== null) return { other: held, number: 0 };
        const number = await takeNumber(connection);
        await connection.run(
          'update svc_scope set erased_at = ?, erasure_number = ?, hold_id = ?, hold_kind = ?' +
            ' where scope_id = ?',
          [hold.progressAt, number, parseIdBytes(hold.id), hold.kind, scopeId],
        );
        await replaceRecords(connection, HOLDS, [hold]);
        await insertRecords(connection, [{ ...audit, scopeId }], { into: NEW_AUDIT_ROWS });
        await skew.cover(connection, [audit]);
        return { other: null, number };
      });
    },

    erase: (hold, { limit, progress }) =>
      database.write(async (connection) => {
        await lockHold(connection, hold);
        const counts: Record<string, number> = {};
        for (const part of partsOf(hold.scope)) {
          const rows = LARGE.has(part.table) ? Math.ceil(limit / LARGE_SHARE) : limit;
          add(counts, part.table, await removePart(connection, part, rows));
          if (Object.keys(counts).length > 0) break;
        }
        await replaceRecords(connection, HOLDS, [progress(counts)]);
        return counts;
      }),

    end: (hold, { at, audit }) =>
      database.write(async (connection) => {
        await lockHold(connection, hold);
        const counts: Record<string, number> = {};
        for (const part of partsOf(hold.scope)) {
          for (let removed = -1; removed !== 0;) {
            removed = await removePart(connection, part, LAST_ROWS);
            add(counts, part.table, removed);
          }
        }
        const scopeId = toScopeId(hold.scope);
        const number = await takeNumber(connection);
        await connection.run(EMPTY_SCOPE, [at, number, scopeId]);
        await connection.run('delete from svc_scope_hold where scope_id = ?', [scopeId]);
        const record = audit(counts);
        await insertRecords(connection, [{ ...record, scopeId }], { into: NEW_AUDIT_ROWS });
        await skew.cover(connection, [record]);
        if (database.file !== undefined) await addPendingReceipts(connection, [record]);
        return { removed: counts, number };
      }),

    changeAudit: ({ after, limit }, change) =>
      database.write(async (connection) => {
        const least = (after === null ? null : parseIdBytes(after)) ?? Buffer.alloc(16);
        const rows = await connection.all(
          `select ${AUDIT_ROWS.select('a').join(', ')} from svc_admin_audit a where a.id > ?` +
            ' order by a.id limit ?',
          [least, limit],
        );
        const records = rows.map((row) => AUDIT_ROWS.toRecord(row));
        const changed = records.flatMap((record) => change(record) ?? []);
        await replaceRecords(connection, AUDIT_ROWS, changed);
        const isEnd = records.length < limit;
        return { next: isEnd ? null : (records.at(-1)?.id ?? null), changed: changed.length };
      }),

    ...(database.mayRemain && { mayRemain: database.mayRemain }),
    ...(database.file && { file: { ...database.file, ...createPendingReceipts(database) } }),
  };
}

const LAST_ROWS = 500;
/** Holds that are looked at. */
const MAX_HOLDS = 100;

/** The key in `svc_meta` of the number that the last erasure got. */
const NUMBER = 'erasure_number';

/**
 * Takes the next number of an erasure. Its row is locked until the commit, so erasures are committed in
 * the order of their numbers.
 */
async function takeNumber(connection: Connection): Promise<number> {
  const first = [{ key: NUMBER, value: '0' }];
  await insertRecords(connection, first, { into: META, conflict: 'skip' });
  const [row] = await connection.all(
    `select value from svc_meta where \`key\` = ?${connection.dialect.forUpdate}`,
    [NUMBER],
  );
  const number = toInteger(toText(row?.['value'])) + 1;
  await replaceRecords(connection, META, [{ key: NUMBER, value: String(number) }]);
  return number;
}

/** Ids and file numbers go on from where they were: what refers to the erased ones finds nothing. */
const EMPTY_SCOPE =
  'update svc_scope set version = version + 1, files = 0, bytes = 0, revisions = 0,' +
  ' last_write_at = null, last_qualifying_at = null, chain_head = null, chain_after = null,' +
  ' erased_at = ?, erasure_number = ?, hold_id = null, hold_kind = null where scope_id = ?';

/** Rows of a user in one table, found by one column beside the scope. */
interface Part {
  table: string;
  where: string;
  parameters: readonly SqlValue[];
  /** The column that named the user, where the rows stay without it. */
  cleared?: string;
  /** Rows of shared memory: its writers must not add others meanwhile. */
  isShared?: boolean;
}

/** A write of shared memory keeps its row: its revision stays, too. */
const SHARED_WRITE = "t.action = 'write' and t.revision_id is not null";

/** All of a user's rows: what leads to other rows comes after those. */
function partsOf(scope: ScopeKey): Part[] {
  const scopeId = toScopeId(scope);
  const userId = scope.slice(2);
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
      where: `t.scope_id = ? and t.user_id = ? and not (${SHARED_WRITE})`,
      parameters: [SHARED, userId],
      isShared: true,
    },
    {
      table: 'svc_access_log',
      where: `t.scope_id = ? and t.user_id = ? and ${SHARED_WRITE}`,
      parameters: [SHARED, userId],
      cleared: 'user_id',
      isShared: true,
    },
    ...SCOPE_TABLES.map((table) => ({
      table,
      where: 't.scope_id = ?',
      parameters: [scopeId],
    })),
  ];
}

async function countPart(connection: Connection, { table, where, parameters }: Part) {
  const sql = `select count(*) as row_count from ${table} t where ${where}`;
  const [row] = await connection.all(sql, parameters);
  return toInteger(row?.['row_count'] ?? 0);
}

async function removePart(
  connection: Connection,
  { table, where, parameters, cleared, isShared = false }: Part,
  limit: number,
): Promise<number> {
  if (isShared) await lockScope(connection, SHARED);
  if (cleared !== undefined) {
    const sql = `select t.id from ${table} t where ${where} limit ?`;
    const ids = (await connection.all(sql, [...parameters, limit])).map(
      (row) => row['id'] as Buffer,
    );
    for (const id of ids) {
      await connection.run(`update ${table} set ${cleared} = null where id = ?`, [id]);
    }
    return ids.length;
  }
  const rows = await connection.all(
    `select ${selectKey(table)} from ${table} t where ${where} limit ?`,
    [...parameters, limit],
  );
  if (table === 'svc_dream_history') await removeBudgets(connection, rows);
  return await deleteFound(connection, table, rows);
}

/** The budgets of runs have their ids as names. */
async function removeBudgets(connection: Connection, runs: readonly Row[]): Promise<void> {
  await deleteRows(connection, 'svc_budget', {
    columns: ['name'],
    rows: runs.map((row) => [runBudgetOf(toUuid(row['id'] as Uint8Array))]),
  });
}

async function lockScope(connection: Connection, scopeId: number): Promise<void> {
  const sql = `select scope_id from svc_scope where scope_id = ?${connection.dialect.forUpdate}`;
  await connection.all(sql, [scopeId]);
}

/** Locks the scope, and checks that the hold is still the one of this work. */
async function lockHold(connection: Connection, { scope, id }: HoldRecord): Promise<void> {
  await lockScope(connection, toScopeId(scope));
  const held = await readHold(connection, scope);
  if (held?.id !== id) {
    throw new MemoryError('RUN_STATE', 'This work was finished by another process.', {
      details: { reason: 'hold_lost' },
    });
  }
}

function add(counts: Record<string, number>, table: string, rows: number): void {
  if (rows > 0) counts[table] = (counts[table] ?? 0) + rows;
}
