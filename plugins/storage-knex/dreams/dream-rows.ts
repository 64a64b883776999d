import type {
  DreamRunListing,
  DreamRunRecord,
  DreamUser,
  DreamUserRecord,
} from '../../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { Row } from '../dialects/dialect.ts';
import { toUuid } from '../schema/ids.ts';
import {
  toInteger,
  toIntegerOrNull,
  toText,
  toTextOrNull,
  type RowWriter,
} from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

const toUserId = (scope: ScopeKey): string => scope.slice(2);
const toScope = (userId: unknown): ScopeKey => `u:${toText(userId)}`;
const toUuidOrNull = (value: unknown): string | null =>
  value === null ? null : toUuid(value as Uint8Array);

/** How a user's record is kept. */
export const DREAM_USER_ROW: RowWriter<DreamUserRecord> = {
  table: 'svc_dream_run',
  columns: [
    'scope_id',
    'user_id',
    'paused',
    'status',
    'run_id',
    'watermark',
    'own_write_at',
    'last_run_at',
    'files_touched',
    'runs',
    'failures',
    'retry_at',
    'error',
    'review_cursor',
    'tokens_day',
    'tokens_used',
    'fence',
  ],
  toCells: (record) => [
    toScopeId(record.scope),
    toUserId(record.scope),
    Number(record.paused),
    record.status,
    record.runId,
    record.watermark,
    record.ownWriteAt,
    record.lastRunAt,
    record.filesTouched,
    record.runs,
    record.failures,
    record.retryAt,
    record.error,
    record.reviewCursor,
    record.tokensDay,
    record.tokensUsed,
    record.fence,
  ],
};

/** A user that was never dreamed. */
export function newDreamUserRecord(scope: ScopeKey): DreamUserRecord {
  return {
    scope,
    paused: false,
    status: null,
    runId: null,
    watermark: null,
    ownWriteAt: null,
    lastRunAt: null,
    filesTouched: 0,
    runs: 0,
    failures: 0,
    retryAt: null,
    error: null,
    reviewCursor: null,
    tokensDay: 0,
    tokensUsed: 0,
    fence: null,
  };
}

/** A row of `svc_dream_run`. */
export function toDreamUserRecord(row: Row): DreamUserRecord {
  return {
    scope: toScope(row['user_id']),
    paused: toInteger(row['paused']) === 1,
    status: toTextOrNull(row['status']) as DreamUserRecord['status'],
    runId: toUuidOrNull(row['run_id']),
    watermark: toIntegerOrNull(row['watermark']),
    ownWriteAt: toIntegerOrNull(row['own_write_at']),
    lastRunAt: toIntegerOrNull(row['last_run_at']),
    filesTouched: toInteger(row['files_touched']),
    runs: toInteger(row['runs']),
    failures: toInteger(row['failures']),
    retryAt: toIntegerOrNull(row['retry_at']),
    error: toTextOrNull(row['error']),
    reviewCursor: toTextOrNull(row['review_cursor']),
    tokensDay: toInteger(row['tokens_day']),
    tokensUsed: toInteger(row['tokens_used']),
    fence: toIntegerOrNull(row['fence']),
  };
}

/** Columns of a user: those of the scope, and those of `svc_dream_run` where it has a row. */
export const DREAM_USER_COLUMNS: readonly string[] = [
  's.scope',
  's.files',
  's.last_write_at',
  's.last_qualifying_at',
  ...DREAM_USER_ROW.columns.filter((name) => name !== 'scope_id').map((name) => `d.${name}`),
];

/** A row of {@link DREAM_USER_COLUMNS}. */
export function toDreamUser(row: Row): DreamUser {
  return {
    scope: toText(row['scope']) as ScopeKey,
    files: toInteger(row['files']),
    lastWriteAt: toIntegerOrNull(row['last_write_at']),
    lastQualifyingAt: toIntegerOrNull(row['last_qualifying_at']),
    record: row['user_id'] === null ? null : toDreamUserRecord(row),
  };
}

/** How a run is kept. */
export const DREAM_RUN_ROW: RowWriter<DreamRunRecord> = {
  table: 'svc_dream_history',
  columns: [
    'scope_id',
    'id',
    'user_id',
    'origin',
    'dry_run',
    'mode',
    'state',
    'outcome',
    'created_at',
    'started_at',
    'ended_at',
    'watermark',
    'files_read',
    'files_touched',
    'writes',
    'applied',
    'dropped',
    'input_tokens',
    'output_tokens',
    'model',
    'prompt_version',
    'error_code',
    'error_message',
    'fence',
    'details',
  ],
  toCells: (run) => [
    toScopeId(run.scope),
    run.id,
    toUserId(run.scope),
    run.origin,
    Number(run.dryRun),
    run.mode,
    run.state,
    run.outcome,
    run.createdAt,
    run.startedAt,
    run.endedAt,
    run.watermark,
    run.filesRead,
    run.filesTouched,
    run.writes,
    run.applied,
    run.dropped,
    run.inputTokens,
    run.outputTokens,
    run.model,
    run.promptVersion,
    run.errorCode,
    run.errorMessage,
    run.fence,
    run.details,
  ],
};

/** A row of `svc_dream_history`. */
export function toDreamRunListing(row: Row): DreamRunListing {
  return {
    id: toUuid(row['id'] as Uint8Array),
    scope: toScope(row['user_id']),
    origin: toText(row['origin']) as DreamRunListing['origin'],
    dryRun: toInteger(row['dry_run']) === 1,
    mode: toText(row['mode']) as DreamRunListing['mode'],
    state: toText(row['state']) as DreamRunListing['state'],
    outcome: toTextOrNull(row['outcome']) as DreamRunListing['outcome'],
    createdAt: toInteger(row['created_at']),
    startedAt: toIntegerOrNull(row['started_at']),
    endedAt: toIntegerOrNull(row['ended_at']),
    watermark: toIntegerOrNull(row['watermark']),
    filesRead: toInteger(row['files_read']),
    filesTouched: toInteger(row['files_touched']),
    writes: toInteger(row['writes']),
    applied: toInteger(row['applied']),
    dropped: toInteger(row['dropped']),
    inputTokens: toInteger(row['input_tokens']),
    outputTokens: toInteger(row['output_tokens']),
    model: toTextOrNull(row['model']),
    promptVersion: toTextOrNull(row['prompt_version']),
    errorCode: toTextOrNull(row['error_code']),
    errorMessage: toTextOrNull(row['error_message']),
    fence: toIntegerOrNull(row['fence']),
  };
}

/** A row of `svc_dream_history` with its details. */
export function toDreamRunRecord(row: Row): DreamRunRecord {
  return { ...toDreamRunListing(row), details: toText(row['details']) };
}
