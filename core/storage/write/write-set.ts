import type {
  AccessRecord,
  FileKey,
  FileState,
  HoldRecord,
  IdempotencyRecord,
  LeaseRecord,
  NewRevision,
  PrunedRevision,
  ScopeKey,
  ScopeState,
  SpaceRecord,
} from '../../contracts/records.ts';
import type { KeyRecord } from '../../contracts/access.ts';
import type { RunKeys } from '../../contracts/runs.ts';
import type { Changes, MutateRequest } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { ownerOfLease } from '../../files/run-names.ts';
import type { Connection } from '../dialect.ts';
import type { IdSkewKeeper } from './id-skew.ts';
import { readHolds } from '../read/holds.ts';
import { fileSlotKey, idempotencySlotKey, type Slot } from './slots.ts';
import { lockLastErasure, saveLastErasure } from './erasure-number.ts';
import { readOverlaps } from './overlaps.ts';
import { readPast, rewritePast } from './past-versions.ts';
import type { LockedRange } from './locked-range.ts';
import { lockRange } from './ranges.ts';
import { uncover } from './uncover.ts';
import {
  deleteRows,
  findRows,
  FOR_UPDATE,
  insertRecords,
  replaceRecords,
} from '../schema/row-sets.ts';
import { readRunSlots, type RunSlots, saveRunSlots } from '../runs/run-slots.ts';
import type { TableMap } from '../schema/table-map.ts';
import { toInteger } from '../schema/rows.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import { tableOf } from '../schema/tables.ts';
import {
  ACCESS_ROWS,
  NEW_AUDIT_ROWS,
  type NewAuditRow,
  type Budget,
  BUDGETS,
  CONTENTS,
  FILES,
  FILE_STATES,
  FILE_STATS,
  HOLDS,
  IDEMPOTENCY_ROWS,
  INDEX_QUEUE,
  KEYS,
  LEASES,
  NEW_REVISIONS,
  PRUNED_REVISIONS,
  SCOPES,
  type Setting,
  SETTINGS,
  SPACES,
  type StoredLease,
  newScopeState,
} from '../schema/records.ts';

/** The rows that a group of mutations names, and the rows that it adds. */
export interface WriteSet {
  scopes: Map<ScopeKey, Slot<ScopeState>>;
  holds: Map<ScopeKey, Slot<HoldRecord>>;
  files: Map<string, Slot<FileState>>;
  idempotency: Map<string, Slot<IdempotencyRecord>>;
  leases: Map<string, Slot<StoredLease>>;
  /** The database's clock when the leases were read; `null` if the requests name none. */
  now: number | null;
  budgets: Map<string, Slot<Budget>>;
  settings: Map<string, Slot<Setting>>;
  keys: Map<string, Slot<KeyRecord>>;
  runs: Map<string, RunSlots>;
  spaces: Map<ScopeKey, Slot<SpaceRecord>>;
  /** Files above and below those of the requests, by their keys: see {@link Current.overlaps}. */
  overlaps: Map<string, readonly FileKey[]>;
  /** Settings to add where a space has none. */
  newSpaces: SpaceRecord[];
  /** Audit rows to replace, by id. */
  oldAudit: Map<string, Slot<NewAuditRow>>;
  revisions: NewRevision[];
  pruned: PrunedRevision[];
  access: AccessRecord[];
  audit: NewAuditRow[];
  /** Past versions that a redaction reads, by the key of their file, and those that it replaces. */
  past: Map<string, readonly NewRevision[]>;
  rewritten: NewRevision[];
  uncovered: NonNullable<Changes['uncovered']>[number][];
  /** The rows that an erasure or a prune may remove; such a mutation has its own transaction. */
  range: LockedRange | null;
  removesRange: boolean;
  /** `null` if no mutation numbers an erasure. */
  lastErasure: Slot<number> | null;
}

/**
 * Thrown if rows to lock do not exist, on a database that can't lock absent rows. {@link
 * createAbsentRows} creates them in a separate transaction, then the first one starts again.
 */
export class AbsentRows extends Error {
  readonly scopes: readonly ScopeKey[];
  readonly budgets: readonly Pick<Budget, 'scopeId' | 'name'>[];

  constructor(rows: Partial<Pick<AbsentRows, 'scopes' | 'budgets'>>) {
    super('Rows to be locked are absent.');
    this.scopes = rows.scopes ?? [];
    this.budgets = rows.budgets ?? [];
  }
}

/** Creates rows that others may create at the same time. */
export async function createAbsentRows(
  connection: Connection,
  { scopes, budgets }: AbsentRows,
): Promise<void> {
  await insertRecords(connection, scopes.map(newScopeState), { into: SCOPES, conflict: 'skip' });
  const unused = budgets.map((budget) => ({ ...budget, used: 0 }));
  await insertRecords(connection, unused, { into: BUDGETS, conflict: 'skip' });
}

/**
 * Reads all rows that a group of mutations names, with a few statements. It locks the scopes' rows
 * first.
 */
export async function readWriteSet(
  connection: Connection,
  requests: readonly MutateRequest[],
): Promise<WriteSet> {
  const scopes = new Map<number, ScopeKey>();
  const files = new Map<string, FileKey>();
  const idempotency = new Map<string, { scope: ScopeKey; keyHash: string }>();
  const leases = new Set<string>();
  const budgets = new Map<string, number>();
  const settings = new Set<string>();
  const keys = new Set<string>();
  const audit = new Set<string>();
  const runs: RunKeys[] = [];
  const spaces = new Set<ScopeKey>();
  for (const request of requests) {
    if (request.runs !== undefined) runs.push(request.runs);
    for (const name of request.leases ?? []) leases.add(name);
    for (const key of request.settings ?? []) settings.add(key);
    for (const id of request.keys ?? []) keys.add(id);
    for (const id of request.audit ?? []) audit.add(id);
    for (const scope of request.spaces ?? []) spaces.add(scope);
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
      if (guard.kind === 'lease') leases.add(guard.name);
      else budgets.set(guard.name, scopeIdOf(request));
    }
  }
  // Scopes first, because their rows are the lock for all others.
  const locked = await readScopes(connection, scopes);
  const states = await readFiles(connection, files, scopes);
  return {
    ...locked,
    files: states,
    ...(await readErasure(connection, requests, states)),
    idempotency: await readIdempotency(connection, idempotency, scopes),
    runs: await readRunSlots(connection, runs),
    ...(await readLeases(connection, leases)),
    budgets: await readBudgets(connection, budgets),
    settings: await readSettings(connection, settings),
    keys: await readKeys(connection, keys),
    oldAudit: await readAudit(connection, audit),
    ...(await readSpacesWithOverlaps(connection, { spaces, files })),
    newSpaces: [],
    revisions: [],
    pruned: [],
    access: [],
    audit: [],
  };
}

/** What only redactions, prunes and erasures read. */
async function readErasure(
  connection: Connection,
  requests: readonly MutateRequest[],
  files: WriteSet['files'],
): Promise<
  Pick<WriteSet, 'past' | 'rewritten' | 'uncovered' | 'range' | 'removesRange' | 'lastErasure'>
> {
  const range = requests.find((request) => request.range !== undefined)?.range;
  if (range !== undefined && requests.length > 1) {
    throw new MemoryError('INTERNAL', 'A range is removed in a transaction of its own.');
  }
  const numbersErasure = requests.some((request) => request.numbersErasure === true);
  const past: WriteSet['past'] = new Map();
  for (const request of requests) {
    if (request.past === undefined) continue;
    const slot = fileSlotKey(request.past.key);
    past.set(
      slot,
      await readPast(connection, files.get(slot)?.before ?? null, request.past.versions),
    );
  }
  return {
    past,
    rewritten: [],
    uncovered: [],
    range: range === undefined ? null : await lockRange(connection, range),
    removesRange: false,
    lastErasure: numbersErasure ? await lockLastErasure(connection) : null,
  };
}

/**
 * The scope that rows of a mutation belong to that are not a scope's own: its first one; 0 if it has
 * none.
 */
export function scopeIdOf({ scopes: [scope] }: Pick<MutateRequest, 'scopes'>): number {
  return scope === undefined ? 0 : toScopeId(scope);
}

/** Writes the changed rows, one table at a time. */
export async function saveWriteSet(
  connection: Connection,
  skew: IdSkewKeeper,
  writeSet: WriteSet,
): Promise<void> {
  const files = changed(writeSet.files.values());
  const isNew = (file: FileState) => writeSet.files.get(fileSlotKey(file))?.before === null;

  if (writeSet.removesRange) await writeSet.range?.remove(connection);
  await rewritePast(connection, writeSet.rewritten);
  for (const { scope, ...range } of writeSet.uncovered) {
    await uncover(connection, { scopeId: toScopeId(scope), ...range });
  }
  if (writeSet.lastErasure !== null) await saveLastErasure(connection, writeSet.lastErasure);

  await replaceRecords(connection, SCOPES, changed(writeSet.scopes.values()));
  await replaceRecords(connection, HOLDS, changed(writeSet.holds.values()));
  await replaceRecords(connection, SPACES, changed(writeSet.spaces.values()));
  await insertRecords(connection, writeSet.newSpaces, { into: SPACES, conflict: 'skip' });
  await deleteRows(connection, 'svc_scope_hold', {
    columns: ['scope_id'],
    rows: [...writeSet.holds]
      .filter(([, { before, now }]) => before !== null && now === null)
      .map(([scope]) => [toScopeId(scope)]),
  });
  await replaceRecords(connection, FILES, files);
  await replaceRecords(
    connection,
    CONTENTS,
    files.filter((file) => file.content !== null),
  );
  await deleteRows(connection, 'svc_content', {
    columns: ['scope_id', 'file_no'],
    rows: files
      .filter((file) => file.content === null && !isNew(file))
      .map((file) => [toScopeId(file.scope), file.fileNo]),
  });
  await insertRecords(
    connection,
    files.filter(isNew).map((file) => ({ ...file, reads: 0, lastReadAt: null, lastShownAt: null })),
    { into: FILE_STATS, conflict: 'skip' },
  );
  await replaceRecords(connection, INDEX_QUEUE, files);
  await insertRecords(connection, writeSet.revisions, { into: NEW_REVISIONS });
  await insertRecords(connection, writeSet.pruned, { into: PRUNED_REVISIONS, conflict: 'skip' });
  await insertRecords(connection, writeSet.access, { into: ACCESS_ROWS });
  // An expired key can be used again.
  await replaceRecords(connection, IDEMPOTENCY_ROWS, changed(writeSet.idempotency.values()));
  await insertRecords(connection, writeSet.audit, { into: NEW_AUDIT_ROWS });
  await replaceRecords(connection, NEW_AUDIT_ROWS, changed(writeSet.oldAudit.values()));
  const runs = [...writeSet.runs.values()];
  await saveRunSlots(connection, runs);
  await saveSlots(connection, LEASES, writeSet.leases.values());
  await replaceRecords(connection, BUDGETS, changed(writeSet.budgets.values()));
  await saveSlots(connection, SETTINGS, writeSet.settings.values());
  await saveSlots(connection, KEYS, writeSet.keys.values());
  const newRuns = runs.flatMap((slots) => changed(slots.runs.values()));
  await skew.cover(connection, [
    ...writeSet.revisions,
    ...writeSet.access,
    ...writeSet.audit,
    ...newRuns.map(({ id, createdAt }) => ({ id, at: createdAt })),
  ]);
}

async function readScopes(
  connection: Connection,
  scopes: ReadonlyMap<number, ScopeKey>,
): Promise<Pick<WriteSet, 'scopes' | 'holds'>> {
  const rows = await findRows(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: [...scopes.keys()].map((scopeId) => [scopeId]),
    select: ['t.scope_id', ...SCOPES.select('t')],
    rest: FOR_UPDATE,
  });
  const states = rows.map((row) => {
    const state = SCOPES.toRecord(row);
    if (scopes.get(toInteger(row['scope_id'])) !== state.scope) throw sameNumber();
    return state;
  });
  const slots = toSlots(scopes.values(), states, ({ scope }) => scope);
  if (!connection.dialect.locksAbsentRows && rows.length < scopes.size) {
    throw new AbsentRows({ scopes: absentKeys(slots) });
  }
  const holds = await readHolds(connection, states);
  return { scopes: slots, holds: toSlots(scopes.values(), holds, ({ scope }) => scope) };
}

async function readFiles(
  connection: Connection,
  files: ReadonlyMap<string, FileKey>,
  scopes: ReadonlyMap<number, ScopeKey>,
): Promise<WriteSet['files']> {
  const rows = await findRows(connection, 'svc_file', {
    columns: ['scope_id', 'path'],
    rows: [...files.values()].map(({ scope, path }) => [toScopeId(scope), path]),
    select: ['t.scope_id', ...FILE_STATES.select('t'), 'c.content'],
    rest:
      ' left join svc_content c on c.scope_id = t.scope_id and c.file_no = t.file_no' + FOR_UPDATE,
  });
  const states = rows.map((row) => FILE_STATES.toRecord(row, nameOf(scopes, row['scope_id'])));
  return toSlots(files.keys(), states, fileSlotKey);
}

async function readIdempotency(
  connection: Connection,
  wanted: ReadonlyMap<string, { scope: ScopeKey; keyHash: string }>,
  scopes: ReadonlyMap<number, ScopeKey>,
): Promise<WriteSet['idempotency']> {
  const rows = await findRows(connection, 'svc_idempotency', {
    columns: ['scope_id', 'key_hash'],
    rows: [...wanted.values()].map(({ scope, keyHash }) => [toScopeId(scope), keyHash]),
    select: ['t.scope_id', ...IDEMPOTENCY_ROWS.select('t')],
  });
  const records = rows.map((row) =>
    IDEMPOTENCY_ROWS.toRecord(row, nameOf(scopes, row['scope_id'])),
  );
  return toSlots(wanted.keys(), records, idempotencySlotKey);
}

/** Locks leases, and reads the clock of the database in the same statement where one of them exists. */
async function readLeases(
  connection: Connection,
  names: ReadonlySet<string>,
): Promise<Pick<WriteSet, 'leases' | 'now'>> {
  if (names.size === 0) return { leases: new Map(), now: null };
  const { nowMs } = connection.dialect;
  const rows = await findRows(connection, 'svc_lease', {
    columns: ['name'],
    rows: inOrder(names),
    select: [...LEASES.select('t'), `${nowMs} as now_ms`],
    rest: FOR_UPDATE,
  });
  const [timed] = rows.length > 0 ? rows : await connection.all(`select ${nowMs} as now_ms`, []);
  const leases = rows.map((row) => LEASES.toRecord(row));
  return {
    leases: toSlots(names, leases, ({ name }) => name),
    now: toInteger(timed?.['now_ms']),
  };
}

async function readSettings(
  connection: Connection,
  keys: ReadonlySet<string>,
): Promise<WriteSet['settings']> {
  const rows = await findRows(connection, 'svc_config', {
    columns: ['key'],
    rows: inOrder(keys),
    select: SETTINGS.select('t'),
    rest: FOR_UPDATE,
  });
  const settings = rows.map((row) => SETTINGS.toRecord(row));
  return toSlots(keys, settings, ({ key }) => key);
}

async function readKeys(
  connection: Connection,
  ids: ReadonlySet<string>,
): Promise<WriteSet['keys']> {
  const rows = await findRows(connection, 'svc_api_key', {
    columns: ['id'],
    rows: inOrder(ids),
    select: KEYS.select('t'),
    rest: FOR_UPDATE,
  });
  const records = rows.map((row) => KEYS.toRecord(row));
  return toSlots(ids, records, ({ id }) => id);
}

async function readSpaces(
  connection: Connection,
  scopes: ReadonlySet<ScopeKey>,
): Promise<WriteSet['spaces']> {
  const found: SpaceRecord[] = [];
  for (const scope of scopes) {
    const rows = await findRows(connection, 'svc_space', {
      columns: ['scope_id'],
      rows: [[toScopeId(scope)]],
      select: SPACES.select('t'),
    });
    found.push(...rows.map((row) => SPACES.toRecord(row, scope)));
  }
  return toSlots(scopes, found, ({ scope }) => scope);
}

async function readSpacesWithOverlaps(
  connection: Connection,
  { spaces, files }: { spaces: ReadonlySet<ScopeKey>; files: ReadonlyMap<string, FileKey> },
): Promise<Pick<WriteSet, 'spaces' | 'overlaps'>> {
  const found = await readSpaces(connection, spaces);
  const overlaps: WriteSet['overlaps'] = new Map();
  for (const [slot, key] of files) {
    if (found.get(key.scope)?.now?.exclusivePaths !== true) continue;
    overlaps.set(slot, await readOverlaps(connection, key, files.size + 1));
  }
  return { spaces: found, overlaps };
}

async function readAudit(
  connection: Connection,
  ids: ReadonlySet<string>,
): Promise<WriteSet['oldAudit']> {
  const rows = await findRows(connection, 'svc_admin_audit', {
    columns: ['id'],
    rows: inOrder(ids),
    select: NEW_AUDIT_ROWS.select('t'),
    rest: FOR_UPDATE,
  });
  const records = rows.map((row) => NEW_AUDIT_ROWS.toRecord(row));
  return toSlots(ids, records, ({ id }) => id);
}

async function readBudgets(
  connection: Connection,
  names: ReadonlyMap<string, number>,
): Promise<WriteSet['budgets']> {
  const rows = await findRows(connection, 'svc_budget', {
    columns: ['name'],
    rows: [...names.keys()].map((name) => [name]),
    select: BUDGETS.select('t'),
    rest: FOR_UPDATE,
  });
  const budgets = rows.map((row) => BUDGETS.toRecord(row));
  const slots = toSlots(names.keys(), budgets, ({ name }) => name);
  if (!connection.dialect.locksAbsentRows && rows.length < names.size) {
    const absent = absentKeys(slots).map((name) => ({ name, scopeId: names.get(name) ?? 0 }));
    throw new AbsentRows({ budgets: absent });
  }
  return slots;
}

/** Keys in one order, in which every transaction takes its locks. */
function inOrder(keys: Iterable<string>): string[][] {
  return [...keys].sort().map((key) => [key]);
}

function toSlots<K, T>(
  keys: Iterable<K>,
  rows: readonly T[],
  keyOf: (row: T) => K,
): Map<K, Slot<T>> {
  const slots = new Map<K, Slot<T>>();
  for (const key of keys) slots.set(key, { before: null, now: null });
  for (const row of rows) slots.set(keyOf(row), { before: row, now: row });
  return slots;
}

function absentKeys<K>(slots: ReadonlyMap<K, Slot<unknown>>): K[] {
  return [...slots].flatMap(([key, { now }]) => (now === null ? [key] : []));
}

function nameOf(scopes: ReadonlyMap<number, ScopeKey>, scopeId: unknown): ScopeKey {
  const scope = scopes.get(toInteger(scopeId));
  if (scope === undefined) throw new MemoryError('INTERNAL', 'A row of a foreign scope was read.');
  return scope;
}

function changed<T>(slots: Iterable<Slot<T>>): T[] {
  const rows: T[] = [];
  for (const { before, now } of slots) {
    if (now !== null && now !== before) rows.push(now);
  }
  return rows;
}

/**
 * Writes rows of a table whose absent rows nobody can lock: one that was absent is an error if another
 * transaction has made it meanwhile.
 */
async function saveSlots<T>(
  connection: Connection,
  into: TableMap<T>,
  slots: Iterable<Slot<T>>,
): Promise<void> {
  const all = [...slots];
  const isNew = ({ before }: Slot<T>) => before === null;
  await insertRecords(connection, changed(all.filter(isNew)), { into });
  await replaceRecords(connection, into, changed(all.filter((slot) => !isNew(slot))));
  const removed = all.flatMap(({ before, now }) => (now === null ? (before ?? []) : []));
  await deleteRows(connection, into.table, {
    columns: tableOf(into.table).primaryKey,
    rows: removed.map(into.toKey),
  });
}

/** A lease with the scope whose work it is for. */
export function toStoredLease(lease: LeaseRecord): StoredLease {
  const owner = ownerOfLease(lease.name);
  return { ...lease, scopeId: owner === null ? 0 : toScopeId(owner) };
}
