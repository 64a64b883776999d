import type { CheckStore } from '../../contracts/checks.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { CHECK_OUTCOMES, CHECK_RESULTS, CHECK_RUNS } from '../schema/records.ts';
import { findRows } from '../schema/row-sets.ts';
import type { StoreDatabase } from '../store-database.ts';

const RUN = CHECK_RUNS.select('r').join(', ');
const RESULT = ['s.scope', ...CHECK_RESULTS.select('t')];
const WITH_SCOPE = ' cross join svc_scope s on s.scope_id = t.scope_id';

/** Makes the reads of what runs of the stored checks found. The log writes them. */
export function createCheckStore(database: Pick<StoreDatabase, 'read'>): CheckStore {
  return {
    runs: ({ limit, origin = null }) =>
      database.read(async (connection) => {
        const where = origin === null ? '' : ' where r.origin = ?';
        const rows = await connection.all(
          `select ${RUN} from svc_check_run r${where} order by r.id desc limit ?`,
          [...(origin === null ? [] : [origin]), limit],
        );
        return rows.map((row) => CHECK_RUNS.toRecord(row));
      }),
    run: (id) =>
      database.read(async (connection) => {
        const bytes = parseIdBytes(id);
        if (bytes === null) return null;
        const [row] = await connection.all(`select ${RUN} from svc_check_run r where r.id = ?`, [
          bytes,
        ]);
        return row === undefined ? null : CHECK_RUNS.toRecord(row);
      }),
    results: (runId) =>
      database.read(async (connection) => {
        const rows = await findRows(connection, 'svc_check_result', {
          columns: ['run_id'],
          rows: [[runId]],
          select: RESULT,
          rest: `${WITH_SCOPE} order by t.check_no`,
        });
        return rows.map((row) => CHECK_RESULTS.toRecord(row));
      }),
    outcomes: (runIds) =>
      database.read(async (connection) => {
        const rows = await findRows(connection, 'svc_check_result', {
          columns: ['run_id'],
          rows: runIds.map((id) => [id]),
          select: CHECK_OUTCOMES.select('t'),
          rest: ' where t.name is not null',
        });
        return rows.map((row) => CHECK_OUTCOMES.toRecord(row));
      }),
  };
}
