import type {
  FileKey,
  FileState,
  HoldRecord,
  IdempotencyRecord,
  ScopeState,
} from '../../contracts/records.ts';
import type { KeyRecord } from '../../contracts/access.ts';
import type { RunKeys, RunRowChanges, RunRows } from '../../contracts/runs.ts';
import type { Changes, Current, Decision, MutateRequest } from '../../contracts/storage.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { isOverlap } from '../../files/overlaps.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import { type CommitProof, toCommitProof } from './commit-outcome.ts';
import type { Damage } from './damage.ts';
import type { StoreDatabase } from '../store-database.ts';
import { runUsersOf } from '../runs/run-rows.ts';
import { runSlotKey, type RunSlots } from '../runs/run-slots.ts';
import type { Connection } from '../dialect.ts';
import { fileSlotKey, idempotencySlotKey, type Slot } from './slots.ts';
import {
  type WriteSet,
  readWriteSet,
  saveWriteSet,
  scopeIdOf,
  toStoredLease,
} from './write-set.ts';

import { type Budget, newScopeState, type Setting, type StoredLease } from '../schema/records.ts';
import { leaseLost } from './leases.ts';

/** One call of `Storage.mutate`. */
export interface Mutation {
  request: MutateRequest;
  decide: (current: Current) => Decision<unknown>;
}

/** The result of a mutation, valid once its transaction is committed. */
export type MutationOutcome =
  | { status: 'applied'; result: unknown; proof: CommitProof | 'none' | null }
  | { status: 'rejected'; error: MemoryError };

/** Checks a request. Throws a `MemoryError` if it has invalid names, or rows outside its scopes. */
export function checkMutateRequest(request: MutateRequest): void {
  for (const scope of request.scopes) assertScope(scope);
  for (const key of request.files) {
    assertFileKey(key);
    if (!request.scopes.includes(key.scope)) throw unnamed('A file');
  }
  if (request.runs !== undefined && !request.scopes.includes(request.runs.scope)) {
    throw unnamed('A run');
  }
  if (request.idempotency !== undefined && !request.scopes.includes(request.idempotency.scope)) {
    throw unnamed('An idempotency key');
  }
  for (const scope of request.spaces ?? []) {
    if (!request.scopes.includes(scope)) throw unnamed('A space');
  }
  if (request.past !== undefined && !isNamed(request.files, request.past.key)) {
    throw unnamed('A version');
  }
  if (request.range !== undefined && !request.scopes.includes(request.range.scope)) {
    throw unnamed('A range');
  }
}

/**
 * Runs mutations one after the other inside an open transaction, with a few statements for all of
 * them: it reads all named rows together, lets each `decide` see the decisions before it, and
 * writes the final rows together.
 *
 * A `decide` that throws, or a guard that fails, rejects only its own mutation, which has changed
 * nothing. Errors that this function throws come from the database; roll the transaction back then.
 */
export async function applyMutations(
  connection: Connection,
  { skew, damage }: Pick<StoreDatabase, 'skew' | 'damage'>,
  mutations: readonly Mutation[],
): Promise<MutationOutcome[]> {
  const writeSet = await readWriteSet(
    connection,
    mutations.map(({ request }) => request),
  );
  const outcomes = mutations.map((mutation) => decideOne(writeSet, damage, mutation));
  await saveWriteSet(connection, skew, writeSet);
  return outcomes;
}

function decideOne(
  writeSet: WriteSet,
  damage: Damage,
  { request, decide }: Mutation,
): MutationOutcome {
  try {
    checkLeases(writeSet, request);
    const decision = decide(currentOf(writeSet, damage, request));
    checkChanges(request, decision);
    const spent = checkBudgets(writeSet, request, decision.writes);
    // Nothing below throws, so the decision stands from here on.
    for (const [slot, budget] of spent) slot.now = budget;
    applyChanges(writeSet, request, decision);
    const proof = toCommitProof(writeSet, request, decision.changes);
    return { status: 'applied', result: decision.result, proof };
  } catch (error) {
    return { status: 'rejected', error: toMemoryError(error) };
  }
}

function checkLeases(writeSet: WriteSet, request: MutateRequest): void {
  for (const guard of request.guards ?? []) {
    if (guard.kind !== 'lease') continue;
    const lease = writeSet.leases.get(guard.name)?.now ?? null;
    const isOver = lease === null || lease.expiresAt <= (writeSet.now ?? Infinity);
    if (isOver || lease.fence !== guard.fence) throw leaseLost();
  }
}

function checkBudgets(
  writeSet: WriteSet,
  request: MutateRequest,
  writes: number,
): Map<Slot<Budget>, Budget> {
  const spent = new Map<Slot<Budget>, Budget>();
  if (writes === 0) return spent;
  for (const guard of request.guards ?? []) {
    if (guard.kind !== 'budget') continue;
    const slot = writeSet.budgets.get(guard.name) as Slot<Budget>;
    const used = ((spent.get(slot) ?? slot.now)?.used ?? 0) + writes;
    if (used > guard.max) {
      throw new MemoryError('QUOTA_EXCEEDED', 'The write budget is spent.', {
        details: { limit: guard.name, max: guard.max },
      });
    }
    spent.set(slot, { scopeId: scopeIdOf(request), name: guard.name, used });
  }
  return spent;
}

function currentOf(writeSet: WriteSet, damage: Damage, request: MutateRequest): Current {
  return {
    scope(scope) {
      if (!request.scopes.includes(scope)) throw unnamed('A scope');
      return writeSet.scopes.get(scope)?.now ?? newScopeState(scope);
    },
    file(key) {
      const slot = writeSet.files.get(fileSlotKey(key));
      if (slot === undefined || !isNamed(request.files, key)) throw unnamed('A file');
      // A delta against damaged content would put the damage into the history.
      if (slot.now !== null && slot.now === slot.before) damage.checkContent(slot.now);
      return slot.now;
    },
    hold(scope) {
      if (!request.scopes.includes(scope)) throw unnamed('A scope');
      return writeSet.holds.get(scope)?.now ?? null;
    },
    past() {
      if (request.past === undefined) throw unnamed('A version');
      return writeSet.past.get(fileSlotKey(request.past.key)) ?? [];
    },
    range() {
      if (writeSet.range === null) throw unnamed('A range');
      return writeSet.range;
    },
    nextErasure() {
      if (writeSet.lastErasure === null) throw unnamed('The number of an erasure');
      return (writeSet.lastErasure.now ?? 0) + 1;
    },
    runs() {
      if (request.runs === undefined) throw unnamed('A run');
      return runRowsOf(writeSet, request.runs);
    },
    lease(name) {
      if (request.leases?.includes(name) !== true) throw unnamed('A lease');
      return writeSet.leases.get(name)?.now ?? null;
    },
    setting(key) {
      if (request.settings?.includes(key) !== true) throw unnamed('A setting');
      const setting = writeSet.settings.get(key)?.now ?? null;
      return setting === null ? null : { value: setting.value };
    },
    key(id) {
      if (request.keys?.includes(id) !== true) throw unnamed('A key');
      return writeSet.keys.get(id)?.now ?? null;
    },
    space(scope) {
      if (request.spaces?.includes(scope) !== true) throw unnamed('A space');
      return writeSet.spaces.get(scope)?.now ?? null;
    },
    overlaps(key) {
      if (!isNamed(request.files, key)) throw unnamed('A file');
      return overlapsOf(writeSet, key);
    },
    audit(id) {
      if (request.audit?.includes(id) !== true) throw unnamed('An audit row');
      return writeSet.oldAudit.get(id)?.now ?? null;
    },
    now() {
      if (writeSet.now === null) throw unnamed('The time');
      return writeSet.now;
    },
    idempotency:
      request.idempotency === undefined
        ? null
        : (writeSet.idempotency.get(idempotencySlotKey(request.idempotency))?.now ?? null),
  };
}

/** With what earlier decisions of the transaction changed. */
function overlapsOf(writeSet: WriteSet, key: FileKey): FileKey[] {
  const slots = [...writeSet.files.values()].flatMap(({ now }) => now ?? []);
  const read = (writeSet.overlaps.get(fileSlotKey(key)) ?? []).filter(
    (other) => writeSet.files.get(fileSlotKey(other)) === undefined,
  );
  return [...read, ...slots.filter((file) => file.content !== null && isOverlap(key, file))];
}

function runRowsOf(writeSet: WriteSet, keys: RunKeys): RunRows {
  const slots = writeSet.runs.get(runSlotKey(keys)) as RunSlots;
  return {
    user: slots.user.now ?? runUsersOf(keys.plugin).map.blank({ scope: keys.scope }),
    run(id) {
      if (!keys.ids.includes(id)) throw unnamed('A run');
      if (slots.foreign.has(id)) throw new MemoryError('RUN_NOT_FOUND');
      const slot = slots.runs.get(id)?.now ?? null;
      if (slot === null) return null;
      const { step: _step, ...run } = slot;
      return run;
    },
  };
}

/**
 * Throws `INTERNAL` if a decision changes rows outside its request or does not count its writes.
 */
function checkChanges(request: MutateRequest, { changes, writes }: Decision<unknown>): void {
  if (!Number.isSafeInteger(writes) || writes < 0) {
    throw new MemoryError('INTERNAL', 'A decision counts its writes.');
  }
  for (const { scope } of [...(changes.scopes ?? []), ...(changes.holds ?? [])]) {
    if (!request.scopes.includes(scope)) throw unnamed('A scope');
  }
  for (const { scope } of changes.spaces ?? []) {
    if (!request.scopes.includes(scope)) throw unnamed('A space');
  }
  for (const file of changes.files ?? []) {
    if (!isNamed(request.files, file)) throw unnamed('A file');
  }
  for (const row of [...(changes.revisions ?? []), ...(changes.access ?? [])]) {
    if (!request.scopes.includes(row.scope)) throw unnamed('A row');
  }
  for (const { version } of changes.past ?? []) {
    if (request.past?.versions.includes(version) !== true) throw unnamed('A version');
  }
  checkRunChanges(request, changes);
  for (const { name } of changes.leases ?? []) {
    if (request.leases?.includes(name) !== true) throw unnamed('A lease');
  }
  for (const { key } of changes.settings ?? []) {
    if (request.settings?.includes(key) !== true) throw unnamed('A setting');
  }
  for (const { id } of changes.keys ?? []) {
    if (request.keys?.includes(id) !== true) throw unnamed('A key');
  }
  const key = changes.idempotency;
  if (
    key !== undefined &&
    (key.scope !== request.idempotency?.scope || key.keyHash !== request.idempotency.keyHash)
  ) {
    throw unnamed('An idempotency key');
  }
}

function checkRunChanges({ runs: keys }: MutateRequest, { runs: changes }: Changes): void {
  if (changes === undefined) return;
  const { user, runs = [], removed = [] } = changes;
  if (user !== undefined && user.scope !== keys?.scope) throw unnamed('A user');
  for (const { id, scope, plugin } of runs) {
    const isNamed = keys?.ids.includes(id) && scope === keys.scope && plugin === keys.plugin;
    if (isNamed !== true) throw unnamed('A run');
  }
  for (const id of removed) if (keys?.ids.includes(id) !== true) throw unnamed('A run');
}

function isNamed(files: readonly FileKey[], { scope, path }: FileKey): boolean {
  return files.some((file) => file.scope === scope && file.path === path);
}

function applyChanges(
  writeSet: WriteSet,
  request: MutateRequest,
  { changes }: Decision<unknown>,
): void {
  for (const state of changes.scopes ?? []) {
    (writeSet.scopes.get(state.scope) as Slot<ScopeState>).now = state;
    const { lastErasure } = writeSet;
    if (lastErasure !== null) {
      lastErasure.now = Math.max(lastErasure.now ?? 0, state.erasureNumber);
    }
  }
  for (const state of changes.files ?? []) {
    (writeSet.files.get(fileSlotKey(state)) as Slot<FileState>).now = state;
  }
  for (const { scope, hold } of changes.holds ?? []) {
    (writeSet.holds.get(scope) as Slot<HoldRecord>).now = hold;
    const slot = writeSet.scopes.get(scope) as Slot<ScopeState>;
    const [holdId, holdKind] = [hold?.id ?? null, hold?.kind ?? null];
    if (slot.now?.holdId !== holdId) {
      slot.now = { ...(slot.now ?? newScopeState(scope)), holdId, holdKind };
    }
  }
  if (request.runs !== undefined && changes.runs !== undefined) {
    changeRuns(writeSet.runs.get(runSlotKey(request.runs)) as RunSlots, changes.runs);
  }
  for (const { name, lease } of changes.leases ?? []) {
    const slot = writeSet.leases.get(name) as Slot<StoredLease>;
    slot.now = lease === null ? null : toStoredLease(lease);
  }
  for (const { key, setting } of changes.settings ?? []) {
    const slot = writeSet.settings.get(key) as Slot<Setting>;
    slot.now = setting === null ? null : { key, value: setting.value };
  }
  for (const { id, key } of changes.keys ?? []) {
    (writeSet.keys.get(id) as Slot<KeyRecord>).now = key;
  }
  for (const space of changes.spaces ?? []) {
    const slot = writeSet.spaces.get(space.scope);
    if (slot === undefined) writeSet.newSpaces.push(space);
    else slot.now = space;
  }
  writeSet.revisions.push(...(changes.revisions ?? []));
  writeSet.pruned.push(...(changes.pruned ?? []));
  writeSet.rewritten.push(...(changes.past ?? []));
  writeSet.uncovered.push(...(changes.uncovered ?? []));
  writeSet.removesRange ||= changes.removesRange === true;
  writeSet.access.push(...(changes.access ?? []));
  const scopeId = scopeIdOf(request);
  for (const row of changes.audit ?? []) {
    const old = writeSet.oldAudit.get(row.id);
    if (old?.before === null || old === undefined) writeSet.audit.push({ ...row, scopeId });
    else old.now = { ...row, scopeId: old.before.scopeId };
  }
  if (changes.idempotency !== undefined) {
    const slot = writeSet.idempotency.get(idempotencySlotKey(changes.idempotency));
    (slot as Slot<IdempotencyRecord>).now = changes.idempotency;
  }
  // Every scope with rows needs its own row, because scope numbers alone are hashes.
  const keys = changes.idempotency === undefined ? [] : [changes.idempotency];
  const { user = [], runs = [] } = changes.runs ?? {};
  const rows = [
    ...(changes.access ?? []),
    ...(changes.revisions ?? []),
    ...keys,
    ...[user].flat(),
    ...runs,
  ];
  for (const { scope } of rows) {
    const slot = writeSet.scopes.get(scope) as Slot<ScopeState>;
    slot.now ??= newScopeState(scope);
  }
}

function changeRuns(slots: RunSlots, { user, runs = [], removed = [] }: RunRowChanges): void {
  slots.user.now = user ?? slots.user.now;
  for (const run of runs) {
    // A run without a UUID has no slot.
    const slot = slots.runs.get(run.id);
    if (slot !== undefined) slot.now = { ...run, step: (slot.now?.step ?? 0) + 1 };
  }
  for (const id of removed) {
    const slot = slots.runs.get(id);
    if (slot !== undefined) slot.now = null;
  }
}

function unnamed(what: string): MemoryError {
  return new MemoryError('INTERNAL', `${what} that the request did not name was asked for.`);
}
