import type { Connection, Row, SqlValue } from '../../dialect.ts';
import { column, integer, type Migration } from '../migration.ts';
import { toInteger, toIntegerOrNull, toText } from '../rows.ts';

/** Runs that are settled at once. */
const BATCH = 50;
const DREAM_LOG = 'user/dream-log.md';

/**
 * The row of a run counts its changes, so that it shows whether one of them was committed. A run ends in
 * the transaction of its write: writes that earlier versions began apart from their runs are settled
 * here, once.
 */
export const stepsOfRuns: Migration = {
  version: 15,
  name: 'steps of runs',
  steps: [
    column('svc_dream_history', integer('step'), 0),
    { changeRows: { name: 'settle the open writes of runs', run: settleWrites } },
  ],
};

/** What an earlier version kept of a run, with a write that it had begun. */
interface Details {
  operations: readonly Operation[];
  written?: readonly string[];
  writing: {
    /** Numbers of the operations that the write applies. */
    numbers: readonly number[];
    /** Virtual: the first file of the write, and its version before. */
    path: string;
    version: number;
    /** When the run had ended before it, where a person applied operations later. */
    endedAt: number | null;
    reviewCursor?: string | null;
  };
}

interface Operation {
  operation: { number: number };
  status: string;
  why: string | null;
  isPreselected: boolean;
}

/** Repeatable: a run that was settled has no open write any more. */
async function settleWrites(connection: Connection): Promise<void> {
  for (;;) {
    const rows = await connection.all(
      'select scope_id, id, state, watermark, details from svc_dream_history' +
        ' where ended_at is null and details like \'%"writing":{%\' order by id limit ?',
      [BATCH],
    );
    for (const row of rows) await settleWrite(connection, row);
    if (rows.length < BATCH) return;
  }
}

/**
 * The revisions of the run tell whether its write was committed. A run that wrote has ended; one that
 * wrote nothing is left open, and ends as any run whose process is gone.
 */
async function settleWrite(connection: Connection, row: Row): Promise<void> {
  const scopeId = toInteger(row['scope_id']);
  const id = row['id'] as Uint8Array;
  const state = toText(row['state']);
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  const { writing, ...details } = JSON.parse(toText(row['details'])) as Details;
  const revisions = await listRevisions(connection, scopeId, id);
  const isWritten = revisions.some(
    ({ path, version }) => path === writing.path && version === writing.version + 1,
  );
  const operations = details.operations.map((one): Operation => {
    const isApplied = isWritten && writing.numbers.includes(one.operation.number);
    if (isApplied) return { ...one, status: 'applied', why: null, isPreselected: false };
    if (state !== 'canceled' || one.status !== 'waiting') return one;
    return { ...one, status: 'dropped', why: 'the run was canceled', isPreselected: false };
  });
  const paths = revisions.map(({ path }) => path);
  const written = [...new Set([...(details.written ?? []), ...paths])];
  const settled = JSON.stringify({ ...details, operations, written, writing: null });
  // A person who applied operations of a run has not opened it again.
  const hasEnded = isWritten || state === 'completed';
  if (!hasEnded) {
    await connection.run('update svc_dream_history set details = ? where scope_id = ? and id = ?', [
      settled,
      scopeId,
      id,
    ]);
    return;
  }
  const now = Date.now();
  const filesTouched = written.filter((path) => path !== DREAM_LOG).length;
  const user = { scopeId, id, now, filesTouched };
  // The user's row first: once the run has changed, it is not looked at again.
  if (isWritten) await settleUser(connection, user, { state, row, writing });
  const count = (status: string) => operations.filter((one) => one.status === status).length;
  const waiting = count('waiting');
  await connection.run(
    'update svc_dream_history set state = ?, outcome = ?, ended_at = ?, applied = ?, waiting = ?,' +
      ' is_waiting = ?, dropped = ?, files_touched = ?, writes = ?, details = ?' +
      ' where scope_id = ? and id = ?',
    [
      state === 'canceled' ? 'canceled' : 'completed',
      state === 'canceled' ? 'partial' : outcomeOf(operations),
      writing.endedAt ?? now,
      count('applied'),
      waiting,
      waiting > 0 ? 1 : 0,
      count('dropped'),
      filesTouched,
      revisions.length,
      settled,
      scopeId,
      id,
    ],
  );
  // Counted anew, so that a repeat counts the same.
  await connection.run(
    'update svc_dream_run set waiting = (select coalesce(sum(h.waiting), 0)' +
      ' from svc_dream_history h where h.scope_id = svc_dream_run.scope_id and h.plugin is null)' +
      ' where scope_id = ?',
    [scopeId],
  );
}

/** What the user's row gets from a run that has written. */
async function settleUser(
  connection: Connection,
  user: { scopeId: number; id: Uint8Array; now: number; filesTouched: number },
  { state, row, writing }: { state: string; row: Row; writing: Details['writing'] },
): Promise<void> {
  const { scopeId, id, now, filesTouched } = user;
  const change = (changes: string, values: readonly SqlValue[]) =>
    connection.run(`update svc_dream_run set ${changes} where scope_id = ?`, [...values, scopeId]);
  await change('own_write_at = ?', [now]);
  await connection.run(
    'update svc_dream_run set files_touched = ? where scope_id = ? and run_id = ?',
    [filesTouched, scopeId, id],
  );
  if (state === 'completed') return;
  const status = state === 'canceled' ? state : 'completed';
  await change('status = ?, last_run_at = ?, error = null', [status, now]);
  if (state === 'canceled') return;
  await change('watermark = ?, failures = 0, retry_at = null', [toIntegerOrNull(row['watermark'])]);
  if (writing.reviewCursor !== undefined) {
    await change('review_cursor = ?', [writing.reviewCursor]);
  }
}

/** What a run wrote, by virtual paths: not what undid it. */
async function listRevisions(
  connection: Connection,
  scopeId: number,
  id: Uint8Array,
): Promise<{ path: string; version: number }[]> {
  const rows = await connection.all(
    'select f.path, r.version from svc_revision r' +
      ' join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no' +
      " where r.scope_id = ? and r.run_id = ? and r.actor = 'dream-agent'" +
      " and r.action <> 'revert' order by r.id",
    [scopeId, id],
  );
  return rows.map((row) => ({
    path: `user/${toText(row['path'])}`,
    version: toInteger(row['version']),
  }));
}

/** The outcome of a run, from what became of its operations. */
function outcomeOf(operations: readonly Operation[]): string {
  const statuses = new Set(operations.map(({ status }) => status));
  if (statuses.has('waiting')) return 'waiting';
  statuses.delete('dropped');
  if (statuses.has('applied')) return statuses.size === 1 ? 'applied' : 'partial';
  if (statuses.has('reverted')) return statuses.size === 1 ? 'reverted' : 'partial';
  if (statuses.has('rejected')) return 'rejected';
  return statuses.has('stale') ? 'partial' : 'no_op';
}
