import type { LogStore } from '../../contracts/storage.ts';
import type { CheckRunRecord } from '../../contracts/checks.ts';
import type { Connection } from '../dialect.ts';
import { deleteFound, findRows, selectKey } from '../schema/row-sets.ts';

/** A run to write, as {@link LogStore.addCheckRun} takes it. */
export type NewCheckRun = { run: CheckRunRecord } & Parameters<LogStore['addCheckRun']>[1];

/** Runs removed at once: each one's rows are up to as many as it has checks and places. */
const REMOVED_AT_ONCE = 2;

/** Removes the oldest runs beyond the newest `keep`, a few at each call: as many as come. */
export async function removeOldCheckRuns(connection: Connection, keep: number): Promise<void> {
  const old = await connection.all(
    'select t.id from svc_check_run t order by t.id desc limit ? offset ?',
    [REMOVED_AT_ONCE, keep],
  );
  const results = await findRows(connection, 'svc_check_result', {
    columns: ['run_id'],
    rows: old.map((row) => [Buffer.from(row['id'] as Uint8Array).toString('hex')]),
    select: [selectKey('svc_check_result')],
  });
  await deleteFound(connection, 'svc_check_result', results);
  await deleteFound(connection, 'svc_check_run', old);
}
