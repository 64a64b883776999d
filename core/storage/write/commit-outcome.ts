import { isDeepStrictEqual } from 'node:util';
import type { MutateRequest, Changes } from '../../contracts/storage.ts';
import { runSlotKey } from '../runs/run-slots.ts';
import { RUN_KEYS, STEPPED_RUNS } from '../runs/run-rows.ts';
import type { CellValue, Connection, Row } from '../dialect.ts';
import { toUuid } from '../schema/ids.ts';
import { HOLDS, LEASES, NEW_AUDIT_ROWS, SETTINGS } from '../schema/records.ts';
import { findRows, FOR_UPDATE } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { WriteSet } from './write-set.ts';

/** A row that shows whether a mutation was committed. */
export interface CommitProof {
  table: string;
  columns: readonly string[];
  key: CellValue[];
  select: readonly string[];
  /** What the row says, or its absence; `null` if that tells nothing. */
  judge(row: Row | null): boolean | null;
}

/**
 * The row by which a mutation proves its commit; `null` if it changes nothing, which can be decided
 * again, and `'none'` if no row can tell.
 *
 * The id of a new row proves it alone. A run's row does by its step, which grows with each change, and
 * a lease and a setting by what they hold: no two claims have the same holder and fence.
 */
export function toCommitProof(
  writeSet: WriteSet,
  request: MutateRequest,
  changes: Changes,
): CommitProof | 'none' | null {
  return (
    proveByNewRow(request, changes) ??
    proveByRun(writeSet, request, changes) ??
    proveByLease(writeSet, changes) ??
    proveByHold(writeSet, changes) ??
    proveBySetting(changes) ??
    proveByAudit(writeSet, changes) ??
    (isUnchanged(changes) ? null : 'none')
  );
}

/**
 * Finds out whether a mutation was written whose COMMIT got no answer; `null` if nobody can tell. It
 * locks the scopes and the row of the proof first, since a transaction that may still commit holds those
 * locks.
 */
export async function isCommitted(
  connection: Connection,
  { scopes }: MutateRequest,
  proof: CommitProof,
): Promise<boolean | null> {
  for (const scope of scopes) {
    await connection.all('select version from svc_scope t where scope_id = ? for update of t', [
      toScopeId(scope),
    ]);
  }
  const { table, columns, key, select, judge } = proof;
  const rest = FOR_UPDATE;
  const [row] = await findRows(connection, table, { columns, rows: [key], select, rest });
  return judge(row ?? null);
}

function proveByNewRow(
  { audit: named = [] }: MutateRequest,
  { revisions = [], idempotency, access = [], audit = [] }: Changes,
): CommitProof | null {
  const select = ['t.id'];
  const judge = (row: Row | null) => row !== null;
  const columns = ['scope_id', 'id'];
  const [revision] = revisions;
  if (revision !== undefined) {
    const key = [toScopeId(revision.scope), revision.id];
    return { table: 'svc_revision', columns, key, select, judge };
  }
  if (idempotency !== undefined) {
    const { scope, keyHash, toolCallId } = idempotency;
    return {
      table: 'svc_idempotency',
      columns: ['scope_id', 'key_hash'],
      key: [toScopeId(scope), keyHash],
      select: ['t.tool_call_id'],
      judge: (row) => row !== null && toUuid(row['tool_call_id'] as Uint8Array) === toolCallId,
    };
  }
  const newAudit = audit.find(({ id }) => !named.includes(id));
  if (newAudit !== undefined) {
    return { table: 'svc_admin_audit', columns: ['id'], key: [newAudit.id], select, judge };
  }
  const [accessed] = access;
  if (accessed === undefined) return null;
  const key = [toScopeId(accessed.scope), accessed.id];
  return { table: 'svc_access_log', columns, key, select, judge };
}

function proveByRun(
  writeSet: WriteSet,
  { runs: keys }: MutateRequest,
  { runs: { runs = [], removed = [] } = {} }: Changes,
): CommitProof | null {
  const id = runs[0]?.id ?? removed[0];
  if (keys === undefined || id === undefined) return null;
  const run = writeSet.runs.get(runSlotKey(keys))?.runs.get(id)?.now ?? null;
  const { plugin, scope } = keys;
  return {
    table: 'svc_dream_history',
    columns: ['scope_id', 'id'],
    key: RUN_KEYS.toKey({ plugin, scope, id }),
    select: STEPPED_RUNS.select('t'),
    judge(row) {
      if (run === null || row === null) return run === null && row === null;
      const found = STEPPED_RUNS.toRecord(row);
      // Another change came after this one, or in its place.
      if (found.step > run.step) return null;
      return isDeepStrictEqual(STEPPED_RUNS.toCells(found), STEPPED_RUNS.toCells(run));
    },
  };
}

/** Where another holder has claimed it since, the answer is no, and deciding again finds that holder. */
function proveByLease(writeSet: WriteSet, { leases = [] }: Changes): CommitProof | null {
  const [first] = leases;
  if (first === undefined) return null;
  const lease = writeSet.leases.get(first.name)?.now ?? null;
  return {
    table: 'svc_lease',
    columns: ['name'],
    key: [first.name],
    select: LEASES.select('t'),
    judge(row) {
      if (row === null || lease === null) return row === null && lease === null;
      return isDeepStrictEqual(LEASES.toCells(LEASES.toRecord(row)), LEASES.toCells(lease));
    },
  };
}

function proveByHold(writeSet: WriteSet, { holds = [] }: Changes): CommitProof | null {
  const [first] = holds;
  if (first === undefined) return null;
  const { scope, hold } = first;
  const before = writeSet.holds.get(scope)?.before ?? null;
  return {
    table: 'svc_scope_hold',
    columns: ['scope_id'],
    key: [toScopeId(scope)],
    select: HOLDS.select('t'),
    judge(row) {
      const found = row === null ? null : HOLDS.toRecord(row);
      if (hold === null) return found === null || found.id !== before?.id;
      if (found?.id !== hold.id) return false;
      // Work is renewed meanwhile. Its details tell how far it got, and only its next step changes them.
      const details = JSON.stringify(hold.details);
      return before?.id === hold.id && JSON.stringify(before.details) === details
        ? found.progressAt === hold.progressAt
        : JSON.stringify(found.details) === details;
    },
  };
}

function proveBySetting({ settings = [] }: Changes): CommitProof | null {
  const [first] = settings;
  if (first === undefined) return null;
  const { key, setting } = first;
  return {
    table: 'svc_config',
    columns: ['key'],
    key: [key],
    select: SETTINGS.select('t'),
    judge(row) {
      if (row === null || setting === null) return row === null && setting === null;
      // As it is after a round through JSON.
      const stored = JSON.stringify(SETTINGS.toRecord(row).value);
      return stored === JSON.stringify(setting.value);
    },
  };
}

/** By an audit row that is replaced: a new one proves it alone. */
function proveByAudit(writeSet: WriteSet, { audit = [] }: Changes): CommitProof | null {
  const [first] = audit;
  if (first === undefined) return null;
  const record = writeSet.oldAudit.get(first.id)?.now ?? null;
  return {
    table: 'svc_admin_audit',
    columns: ['id'],
    key: [first.id],
    select: NEW_AUDIT_ROWS.select('t'),
    judge(row) {
      if (row === null || record === null) return false;
      const found = NEW_AUDIT_ROWS.toRecord(row);
      return isDeepStrictEqual(NEW_AUDIT_ROWS.toCells(found), NEW_AUDIT_ROWS.toCells(record));
    },
  };
}

function isUnchanged(changes: Changes): boolean {
  const { runs, idempotency, removesRange = false, ...rows } = changes;
  return (
    !removesRange &&
    runs?.user === undefined &&
    idempotency === undefined &&
    Object.values(rows).every((some) => some.length === 0)
  );
}
