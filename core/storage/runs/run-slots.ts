import type { RunKeys, RunUserRecord } from '../../contracts/runs.ts';
import { runBudgetOf } from '../../files/run-names.ts';
import type { Connection } from '../dialect.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { FOR_UPDATE, deleteRows, findRows, replaceRecords } from '../schema/row-sets.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import type { Slot } from '../write/slots.ts';
import { RUN_KEYS, runUsersOf, STEPPED_RUNS, type SteppedRun } from './run-rows.ts';

/**
 * Runs of one user and one plugin, and the user, as they were read and as they are after the mutations
 * so far.
 */
export interface RunSlots extends Pick<RunKeys, 'plugin' | 'scope'> {
  user: Slot<RunUserRecord>;
  /** By id. */
  runs: Map<string, Slot<SteppedRun>>;
  /** Ids of runs that another plugin or user has. */
  foreign: Set<string>;
}

/** The key of runs in a `WriteSet`. */
export function runSlotKey({ plugin, scope }: Pick<RunKeys, 'plugin' | 'scope'>): string {
  return `${plugin}\n${scope}`;
}

/** Locks and reads runs, each behind the row of its user, by {@link runSlotKey}. */
export async function readRunSlots(
  connection: Connection,
  wanted: readonly RunKeys[],
): Promise<Map<string, RunSlots>> {
  const slots = new Map<string, RunSlots>();
  for (const keys of wanted) {
    const { plugin, scope, ids } = keys;
    const own = slots.get(runSlotKey(keys)) ?? newSlots({ plugin, scope });
    slots.set(runSlotKey(keys), own);
    // Nothing has an id that is no UUID.
    for (const id of ids.filter((each) => parseIdBytes(each) !== null)) {
      own.runs.set(id, { before: null, now: null });
    }
  }
  await readUsers(connection, [...slots.values()]);
  await readRuns(connection, [...slots.values()]);
  return slots;
}

function newSlots({ plugin, scope }: Pick<RunKeys, 'plugin' | 'scope'>): RunSlots {
  const user = { before: null, now: null };
  return { plugin, scope, user, runs: new Map(), foreign: new Set() };
}

async function readUsers(connection: Connection, slots: readonly RunSlots[]): Promise<void> {
  for (const plugin of [...new Set(slots.map((slot) => slot.plugin))].sort()) {
    const own = slots.filter((slot) => slot.plugin === plugin);
    const users = runUsersOf(plugin);
    const rows = await findRows(connection, users.map.table, {
      columns: users.key,
      rows: own.map(({ scope }) => users.toKey(toScopeId(scope))),
      select: users.map.select('t'),
      rest: FOR_UPDATE,
    });
    for (const user of rows.map((row) => users.map.toRecord(row))) {
      const slot = own.find(({ scope }) => scope === user.scope);
      if (slot === undefined) throw sameNumber();
      slot.user = { before: user, now: user };
    }
  }
}

async function readRuns(connection: Connection, slots: readonly RunSlots[]): Promise<void> {
  const keys = slots.flatMap(({ plugin, scope, runs }) =>
    [...runs.keys()].map((id) => ({ plugin, scope, id })),
  );
  const rows = await findRows(connection, 'svc_dream_history', {
    columns: ['scope_id', 'id'],
    rows: keys.map(RUN_KEYS.toKey),
    select: STEPPED_RUNS.select('t'),
    rest: FOR_UPDATE,
  });
  const found = new Map(rows.map((row) => STEPPED_RUNS.toRecord(row)).map((run) => [run.id, run]));
  for (const slot of slots) {
    for (const id of slot.runs.keys()) {
      const run = found.get(id);
      if (run === undefined) continue;
      if (run.plugin === slot.plugin && run.scope === slot.scope) {
        slot.runs.set(id, { before: run, now: run });
      } else slot.foreign.add(id);
    }
  }
}

/** Writes the rows that changed, and removes those that go, with their budgets. */
export async function saveRunSlots(
  connection: Connection,
  slots: readonly RunSlots[],
): Promise<void> {
  for (const plugin of new Set(slots.map((slot) => slot.plugin))) {
    const changed = slots
      .filter((slot) => slot.plugin === plugin)
      .flatMap(({ user: { before, now } }) => (now === null || now === before ? [] : [now]));
    await replaceRecords(connection, runUsersOf(plugin).map, changed);
  }
  const runs = slots.flatMap((slot) => [...slot.runs.values()]);
  await replaceRecords(
    connection,
    STEPPED_RUNS,
    runs.flatMap(({ before, now }) => (now === null || now === before ? [] : [now])),
  );
  const removed = runs.flatMap(({ before, now }) => (now === null ? (before ?? []) : []));
  await deleteRows(connection, 'svc_dream_history', {
    columns: ['scope_id', 'id'],
    rows: removed.map(RUN_KEYS.toKey),
  });
  await deleteRows(connection, 'svc_budget', {
    columns: ['name'],
    rows: removed
      .map(({ id }) => runBudgetOf(id))
      .sort()
      .map((name) => [name]),
  });
}
