import type {
  AccessRecord,
  AuditRecord,
  FileKey,
  FileState,
  IdempotencyRecord,
  NewRevision,
  ScopeKey,
  ScopeState,
} from '../../../core/contracts/records.ts';
import type { MutateRequest } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Connection } from '../dialects/dialect.ts';
import type { IdSkewKeeper } from './id-skew.ts';
import { deleteRows, insertRecords } from '../schema/row-sets.ts';
import type { RowWriter } from '../schema/rows.ts';
import {
  ACCESS_ROW,
  AUDIT_ROW,
  FILE_COLUMNS,
  FILE_ROW,
  IDEMPOTENCY_ROW,
  REVISION_ROW,
  SCOPE_ROW,
  newScopeState,
  toFileState,
  toIdempotencyRecord,
  toInteger,
  toScopeState,
  toText,
} from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** A row as it was read, and as the mutations so far left it. */
export interface Slot<T> {
  before: T | null;
  now: T | null;
}

/** The rows that a group of mutations names, and what it adds. */
export interface WriteSet {
  scopes: Map<ScopeKey, Slot<ScopeState>>;
  files: Map<string, Slot<FileState>>;
  idempotency: Map<string, Slot<IdempotencyRecord>>;
  /** Fences of the leases that last. */
  leases: Map<string, number>;
  budgets: Map<string, Slot<number>>;
  revisions: NewRevision[];
  access: AccessRecord[];
  audit: AuditRecord[];
}

/**
 * Rows that have to be locked and are not there, on a database that locks none that are absent:
 * they are made by {@link createAbsentRows} in a transaction of their own, and the one that threw
 * this begins again.
 */
export class AbsentRows extends Error {
  readonly scopes: readonly ScopeKey[];
  readonly budgets: readonly string[];

  constructor(rows: { scopes?: readonly ScopeKey[]; budgets?: readonly string[] }) {
    super('Rows to be locked are absent.');
    this.scopes = rows.scopes ?? [];
    this.budgets = rows.budgets ?? [];
  }
}

/** Makes rows that others may be making at the same time. */
export async function createAbsentRows(
  connection: Connection,
  { scopes, budgets }: AbsentRows,
): Promise<void> {
  await insertRecords(connection, scopes.map(newScopeState), { into: SCOPE_ROW, conflict: 'skip' });
  const unused = budgets.map((name) => ({ name, used: 0 }));
  await insertRecords(connection, unused, { into: BUDGET_ROW, conflict: 'skip' });
}

/** The key of a file in {@link WriteSet}. */
export function fileSlotKey({ scope, path }: FileKey): string {
  return `${scope}\n${path}`;
}

/** The key of an idempotency row in {@link WriteSet}. */
export function idempotencySlotKey(key: { scope: ScopeKey; keyHash: string }): string {
  return `${key.scope}\n${key.keyHash}`;
}

/**
 * Reads what a group of mutations names, with a handful of statements for all of them. The scopes'
 * rows are locked first.
 */
export async function readWriteSet(
  connection: Connection,
  requests: readonly MutateRequest[],
): Promise<WriteSet> {
  const writeSet: WriteSet = {
    scopes: new Map(),
    files: new Map(),
    idempotency: new Map(),
    leases: new Map(),
    budgets: new Map(),
    revisions: [],
    access: [],
    audit: [],
  };
  const scopes = new Map<number, ScopeKey>();
  const files = new Map<string, FileKey>();
  const idempotency = new Map<string, { scope: ScopeKey; keyHash: string }>();
  const leases = new Set<string>();
  const budgets = new Set<string>();
  for (const request of requests) {
    for (const scope of request.scopes) {
      const scopeId = toScopeId(scope);
      if ((scopes.get(scopeId) ?? scope) !== scope) throw sameNumber();
      scopes.set(scopeId, scope);
    }
    for (const key of request.files) files.set(fileSlotKey(key), key);
    if (request.idempotency !== undefined) {
      idempotency.set(idempotencySlotKey(request.idempotency), request.idempotency);
    }
    for (const guard of request.guards ?? []) {
      (guard.kind === 'lease' ? leases : budgets).add(guard.name);
    }
  }
  // Scopes first: their rows are the lock that all the others stand behind.
  await readScopes(connection, scopes, writeSet);
  if (files.size > 0) await readFiles(connection, scopes, files, writeSet);
  if (idempotency.size > 0) {
    await readIdempotency(connection, scopes, idempotency, writeSet);
  }
  if (leases.size > 0) await readLeases(connection, leases, writeSet);
  if (budgets.size > 0) await readBudgets(connection, budgets, writeSet);
  return writeSet;
}

/** Writes the rows that changed, all of one table together. */
export async function saveWriteSet(
  connection: Connection,
  skew: IdSkewKeeper,
  writeSet: WriteSet,
): Promise<void> {
  const files = changed(writeSet.files.values());
  const isNew = (file: FileState) => writeSet.files.get(fileSlotKey(file))?.before === null;

  await insertRecords(connection, changed(writeSet.scopes.values()), {
    into: SCOPE_ROW,
    conflict: {
      update: SCOPE_ROW.columns.filter((column) => column !== 'scope_id' && column !== 'scope'),
    },
  });
  await insertRecords(connection, files, {
    into: FILE_ROW,
    conflict: {
      // A path keeps its number: the index by number is left alone.
      update: FILE_ROW.columns.filter((name) => !['scope_id', 'path', 'file_no'].includes(name)),
    },
  });
  await insertRecords(
    connection,
    files.filter((file) => file.content !== null),
    { into: CONTENT_ROW, conflict: { update: ['version', 'content'] } },
  );
  const emptied = files.filter((file) => file.content === null && !isNew(file));
  await deleteRows(connection, 'svc_content', {
    columns: ['scope_id', 'file_no'],
    rows: emptied.map((file) => [toScopeId(file.scope), file.fileNo]),
  });
  await insertRecords(connection, files.filter(isNew), { into: NEW_STAT_ROW, conflict: 'skip' });
  await insertRecords(connection, files, {
    into: INDEX_QUEUE_ROW,
    conflict: { update: ['version'] },
  });
  await insertRecords(connection, writeSet.revisions, { into: REVISION_ROW });
  await insertRecords(connection, writeSet.access, { into: ACCESS_ROW });
  await insertRecords(connection, changed(writeSet.idempotency.values()), {
    into: IDEMPOTENCY_ROW, // A key that is over its time is used again.
    conflict: {
      update: IDEMPOTENCY_ROW.columns.filter((name) => name !== 'scope_id' && name !== 'key_hash'),
    },
  });
  await insertRecords(connection, writeSet.audit, { into: AUDIT_ROW });
  const budgets = [...writeSet.budgets]
    .filter(([, slot]) => slot.now !== slot.before)
    .map(([name, slot]) => ({ name, used: slot.now ?? 0 }));
  await insertRecords(connection, budgets, { into: BUDGET_ROW, conflict: { update: ['used'] } });
  await skew.cover(connection, [...writeSet.revisions, ...writeSet.access, ...writeSet.audit]);
}

async function readScopes(
  connection: Connection,
  scopes: ReadonlyMap<number, ScopeKey>,
  writeSet: WriteSet,
): Promise<void> {
  for (const scope of scopes.values()) writeSet.scopes.set(scope, { before: null, now: null });
  const keys = connection.dialect.keySet(
    [{ name: 'scope_id', kind: 'integer' }],
    [...scopes.keys()].map((scopeId) => [scopeId]),
  );
  const columns = SCOPE_ROW.columns.map((column) => `s.${column}`).join(', ');
  const rows = await connection.all(
    `select ${columns} from ${keys.sql} k cross join svc_scope s on s.scope_id = k.scope_id` +
      connection.dialect.forUpdate,
    keys.parameters,
  );
  for (const row of rows) {
    const state = toScopeState(row);
    if (scopes.get(toInteger(row['scope_id'])) !== state.scope) throw sameNumber();
    writeSet.scopes.set(state.scope, { before: state, now: state });
  }
  if (!connection.dialect.locksAbsentRows && rows.length < scopes.size) {
    const absent = [...writeSet.scopes].filter(([, { now }]) => now === null);
    throw new AbsentRows({ scopes: absent.map(([scope]) => scope) });
  }
}

async function readFiles(
  connection: Connection,
  scopes: ReadonlyMap<number, ScopeKey>,
  files: ReadonlyMap<string, FileKey>,
  writeSet: WriteSet,
): Promise<void> {
  for (const slotKey of files.keys()) writeSet.files.set(slotKey, { before: null, now: null });
  const keys = connection.dialect.keySet(
    [
      { name: 'scope_id', kind: 'integer' },
      { name: 'path', kind: 'key' },
    ],
    [...files.values()].map(({ scope, path }) => [toScopeId(scope), path]),
  );
  const rows = await connection.all(
    `select f.scope_id, ${FILE_COLUMNS.join(', ')}, c.content from ${keys.sql} k` +
      ' cross join svc_file f on f.scope_id = k.scope_id and f.path = k.path' +
      ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no' +
      connection.dialect.forUpdate,
    keys.parameters,
  );
  for (const row of rows) {
    const state = toFileState(nameOf(scopes, row['scope_id']), row);
    writeSet.files.set(fileSlotKey(state), { before: state, now: state });
  }
}

async function readIdempotency(
  connection: Connection,
  scopes: ReadonlyMap<number, ScopeKey>,
  wanted: ReadonlyMap<string, { scope: ScopeKey; keyHash: string }>,
  writeSet: WriteSet,
): Promise<void> {
  for (const slotKey of wanted.keys()) {
    writeSet.idempotency.set(slotKey, { before: null, now: null });
  }
  const keys = connection.dialect.keySet(
    [
      { name: 'scope_id', kind: 'integer' },
      { name: 'key_hash', kind: 'hash' },
    ],
    [...wanted.values()].map(({ scope, keyHash }) => [toScopeId(scope), keyHash]),
  );
  const columns = IDEMPOTENCY_ROW.columns.map((column) => `i.${column}`).join(', ');
  const rows = await connection.all(
    `select ${columns} from ${keys.sql} k` +
      ' cross join svc_idempotency i on i.scope_id = k.scope_id and i.key_hash = k.key_hash',
    keys.parameters,
  );
  for (const row of rows) {
    const record = toIdempotencyRecord(nameOf(scopes, row['scope_id']), row);
    writeSet.idempotency.set(idempotencySlotKey(record), { before: record, now: record });
  }
}

async function readLeases(
  connection: Connection,
  names: ReadonlySet<string>,
  writeSet: WriteSet,
): Promise<void> {
  const keys = connection.dialect.keySet(
    [{ name: 'name', kind: 'key' }],
    [...names].map((name) => [name]),
  );
  const rows = await connection.all(
    `select l.name, l.fence from ${keys.sql} k cross join svc_lease l on l.name = k.name` +
      ` where l.expires_at > ${connection.dialect.nowMs}${connection.dialect.forUpdate}`,
    keys.parameters,
  );
  for (const row of rows) writeSet.leases.set(toText(row['name']), toInteger(row['fence']));
}

async function readBudgets(
  connection: Connection,
  names: ReadonlySet<string>,
  writeSet: WriteSet,
): Promise<void> {
  for (const name of names) writeSet.budgets.set(name, { before: null, now: null });
  const keys = connection.dialect.keySet(
    [{ name: 'name', kind: 'key' }],
    [...names].map((name) => [name]),
  );
  const rows = await connection.all(
    `select b.name, b.used from ${keys.sql} k cross join svc_budget b on b.name = k.name` +
      connection.dialect.forUpdate,
    keys.parameters,
  );
  for (const row of rows) {
    const used = toInteger(row['used']);
    writeSet.budgets.set(toText(row['name']), { before: used, now: used });
  }
  if (!connection.dialect.locksAbsentRows && rows.length < names.size) {
    const absent = [...writeSet.budgets].filter(([, { now }]) => now === null);
    throw new AbsentRows({ budgets: absent.map(([name]) => name) });
  }
}

function nameOf(scopes: ReadonlyMap<number, ScopeKey>, scopeId: unknown): ScopeKey {
  const scope = scopes.get(toInteger(scopeId));
  if (scope === undefined) throw new MemoryError('INTERNAL', 'A row of a foreign scope was read.');
  return scope;
}

const CONTENT_ROW: RowWriter<FileState> = {
  table: 'svc_content',
  columns: ['scope_id', 'file_no', 'version', 'content'],
  toCells: (file) => [toScopeId(file.scope), file.fileNo, file.version, file.content],
};

const INDEX_QUEUE_ROW: RowWriter<FileState> = {
  table: 'svc_index_queue',
  columns: ['scope_id', 'file_no', 'version'],
  toCells: (file) => [toScopeId(file.scope), file.fileNo, file.version],
};

const NEW_STAT_ROW: RowWriter<FileState> = {
  table: 'svc_file_stat',
  columns: ['scope_id', 'file_no', 'reads', 'last_read_at'],
  toCells: (file) => [toScopeId(file.scope), file.fileNo, 0, null],
};

const BUDGET_ROW: RowWriter<{ name: string; used: number }> = {
  table: 'svc_budget',
  columns: ['name', 'used'],
  toCells: ({ name, used }) => [name, used],
};

function changed<T>(slots: Iterable<Slot<T>>): T[] {
  const rows: T[] = [];
  for (const { before, now } of slots) {
    if (now !== null && now !== before) rows.push(now);
  }
  return rows;
}

function sameNumber(): MemoryError {
  return new MemoryError(
    'INTERNAL',
    'Two scopes have the same number in the database, so one of them can not be used.',
  );
}
