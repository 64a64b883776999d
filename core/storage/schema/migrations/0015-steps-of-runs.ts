import type { KnexConnection, Row } from '../../dialect.ts';
import { column, integer, type Migration } from '../migration.ts';
import { toInteger, toText } from '../rows.ts';

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
async function settleWrites({ knex }: KnexConnection): Promise<void> {
  for (;;) {
    const rows = (await knex('svc_dream_history')
      .whereNull('ended_at')
      .where('details', 'like', '%"writing":{%')
      .orderBy('id')
      .limit(BATCH)
      .select('scope_id', 'id', 'state', 'watermark', 'details')) as Row[];
    for (const row of rows) await settleWrite(knex, row);
    if (rows.length < BATCH) return;
  }
}

/**
 * The revisions of the run tell whether its write was committed. A run that wrote has ended; one that
 * wrote nothing is left open, and ends as any run whose process is gone.
 */
async function settleWrite(knex: KnexConnection['knex'], row: Row): Promise<void> {
  const scope = { scope_id: toInteger(row['scope_id']) };
  const run = { ...scope, id: row['id'] as Uint8Array };
  const now = Date.now();
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  const { writing, ...details } = JSON.parse(toText(row['details'])) as Details;
  const revisions = await listRevisions(knex, run);
  const isWritten = revisions.some(
    ({ path, version }) => path === writing.path && version === writing.version + 1,
  );
  const state = toText(row['state']);
  const isDecision = state === 'completed';
  const operations = details.operations.map((one): Operation => {
    const isApplied = isWritten && writing.numbers.includes(one.operation.number);
    if (isApplied) return { ...one, status: 'applied', why: null, isPreselected: false };
    if (state !== 'canceled' || one.status !== 'waiting') return one;
    return { ...one, status: 'dropped', why: 'the run was canceled', isPreselected: false };
  });
  const paths = revisions.map(({ path }) => path);
  const written = [...new Set([...(details.written ?? []), ...paths])];
  const filesTouched = written.filter((path) => path !== DREAM_LOG).length;
  const count = (status: string) => operations.filter((one) => one.status === status).length;
  const waiting = count('waiting');
  const kept = JSON.stringify({ ...details, operations, written, writing: null });
  const end = {
    state: state === 'running' ? 'completed' : state,
    outcome: state === 'canceled' ? 'partial' : outcomeOf(operations),
    ended_at: writing.endedAt ?? now,
    applied: count('applied'),
    waiting,
    is_waiting: waiting > 0 ? 1 : 0,
    dropped: count('dropped'),
    files_touched: filesTouched,
    writes: revisions.length,
  };
  // The user's row first: once the run has changed, it is not looked at again.
  const user = knex('svc_dream_run').where(scope);
  if (isWritten) {
    await user.clone().update({ own_write_at: now });
    await user.clone().where('run_id', run.id).update({ files_touched: filesTouched });
  }
  if (isWritten && !isDecision) {
    const isCompleted = state === 'running';
    await user.clone().update({
      status: end.state,
      last_run_at: now,
      error: null,
      ...(isCompleted ? { watermark: row['watermark'], failures: 0, retry_at: null } : {}),
      ...(isCompleted && writing.reviewCursor !== undefined
        ? { review_cursor: writing.reviewCursor }
        : {}),
    });
  }
  await knex('svc_dream_history')
    .where(run)
    .update({ details: kept, ...(isWritten || isDecision ? end : {}) });
  // Counted anew, so that a repeat counts the same.
  const all = knex('svc_dream_history as h')
    .whereRaw('h.scope_id = svc_dream_run.scope_id')
    .whereNull('h.plugin')
    .select(knex.raw('coalesce(sum(h.waiting), 0)'));
  await user.clone().update({ waiting: all });
}

/** What a run wrote, by virtual paths: not what undid it. */
async function listRevisions(
  knex: KnexConnection['knex'],
  { scope_id, id }: { scope_id: number; id: Uint8Array },
): Promise<{ path: string; version: number }[]> {
  const rows = (await knex('svc_revision as r')
    .join('svc_file as f', (files) => {
      files.on('f.scope_id', 'r.scope_id').andOn('f.file_no', 'r.file_no');
    })
    .where({ 'r.scope_id': scope_id, 'r.run_id': id, 'r.actor': 'dream-agent' })
    .whereNot('r.action', 'revert')
    .orderBy('r.id')
    .select('f.path', 'r.version')) as Row[];
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
