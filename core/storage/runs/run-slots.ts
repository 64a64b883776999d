import type { RunKey, RunRecord, RunUserRecord } from '../../contracts/runs.ts';
import type { Connection } from '../dialect.ts';
import { findRows, replaceRecords } from '../schema/row-sets.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import { RUN_KEYS, RUNS, runUsersOf } from './run-rows.ts';

/** A run of a mutation, and its user, as they were read and as they are after the mutations so far. */
export interface RunSlots {
  plugin: string;
  user: { before: RunUserRecord | null; now: RunUserRecord | null };
  run: { before: RunRecord | null; now: RunRecord | null };
  /** Another plugin, or another user, has a run of this id. */
  isForeign: boolean;
}

/** The key of a run among the slots of mutations. */
export function runSlotKey({ plugin, scope, id }: RunKey): string {
  return `${plugin}\n${scope}\n${id}`;
}

/** Locks and reads runs, each behind the row of its user, by {@link runSlotKey}. */
export async function readRunSlots(
  connection: Connection,
  wanted: ReadonlyMap<string, RunKey>,
): Promise<Map<string, RunSlots>> {
  const slots = new Map<string, RunSlots>();
  const keys = [...wanted.values()];
  for (const plugin of [...new Set(keys.map((key) => key.plugin))].sort()) {
    const own = keys.filter((key) => key.plugin === plugin);
    const users = runUsersOf(plugin);
    const scopes = [...new Set(own.map(({ scope }) => scope))];
    const rows = await findRows(connection, users.map.table, {
      columns: users.key,
      rows: scopes.map(toScopeId).map((id) => users.toKey(id)),
      select: users.map.select('t'),
      rest: connection.dialect.forUpdate,
    });
    const records = new Map(
      rows.map((row) => users.map.toRecord(row)).map((one) => [one.scope, one]),
    );
    if ([...records.keys()].some((scope) => !scopes.includes(scope))) throw sameNumber();
    // Mutations of one user see each other's changes.
    const byScope = new Map(
      scopes.map((scope) => {
        const record = records.get(scope) ?? null;
        return [scope, { before: record, now: record }] as const;
      }),
    );
    for (const key of own) {
      const user = byScope.get(key.scope) as RunSlots['user'];
      const run = { before: null, now: null };
      slots.set(runSlotKey(key), { plugin, user, run, isForeign: false });
    }
  }
  const runs = await findRows(connection, 'svc_dream_history', {
    columns: ['scope_id', 'id'],
    rows: keys.map(RUN_KEYS.toKey),
    select: RUNS.select('t'),
    rest: connection.dialect.forUpdate,
  });
  const found = new Map(runs.map((row) => RUNS.toRecord(row)).map((run) => [run.id, run]));
  for (const key of keys) {
    const run = found.get(key.id);
    const slot = slots.get(runSlotKey(key));
    if (run === undefined || slot === undefined) continue;
    if (run.plugin === key.plugin && run.scope === key.scope) slot.run = { before: run, now: run };
    else slot.isForeign = true;
  }
  return slots;
}

/** Writes the rows that changed. */
export async function saveRunSlots(
  connection: Connection,
  slots: ReadonlyMap<string, RunSlots>,
): Promise<void> {
  const all = [...slots.values()];
  for (const plugin of new Set(all.map((slot) => slot.plugin))) {
    const users = new Set(all.filter((slot) => slot.plugin === plugin).map(({ user }) => user));
    const changed = [...users].flatMap(({ before, now }) =>
      now === null || now === before ? [] : [now],
    );
    await replaceRecords(connection, runUsersOf(plugin).map, changed);
  }
  const runs = all.flatMap(({ run: { before, now } }) =>
    now === null || now === before ? [] : [now],
  );
  await replaceRecords(connection, RUNS, runs);
}
