import type {
  DreamRunListing,
  DreamRunRecord,
  DreamUser,
  DreamUserRecord,
} from '../../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { Row } from '../dialects/dialect.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import {
  type Columns,
  flag,
  mapTable,
  number,
  text,
  userScope,
  uuid,
} from '../schema/table-map.ts';

export const DREAM_USERS = mapTable<DreamUserRecord>(
  'svc_dream_run',
  {
    scope: userScope,
    paused: flag('paused'),
    status: text('status'),
    runId: uuid('run_id'),
    watermark: number('watermark'),
    ownWriteAt: number('own_write_at'),
    lastRunAt: number('last_run_at'),
    filesTouched: number('files_touched'),
    runs: number('runs'),
    failures: number('failures'),
    retryAt: number('retry_at'),
    error: text('error'),
    reviewCursor: text('review_cursor'),
    waiting: number('waiting'),
    rejected: text('rejected'),
    tokensDay: number('tokens_day'),
    tokensUsed: number('tokens_used'),
    fence: number('fence'),
  },
  { fixed: ['user_id'] },
);

/** The record of a user without any dream run. */
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
    waiting: 0,
    rejected: null,
    tokensDay: 0,
    tokensUsed: 0,
    fence: null,
  };
}

/** Columns of a user: those of the scope, and those of `svc_dream_run` where it has a row. */
export const DREAM_USER_COLUMNS: readonly string[] = [
  's.scope',
  's.files',
  's.last_write_at',
  's.last_qualifying_at',
  ...DREAM_USERS.select('d'),
];

/** A row of {@link DREAM_USER_COLUMNS}. */
export function toDreamUser(row: Row): DreamUser {
  return {
    scope: toText(row['scope']) as ScopeKey,
    files: toInteger(row['files']),
    lastWriteAt: toIntegerOrNull(row['last_write_at']),
    lastQualifyingAt: toIntegerOrNull(row['last_qualifying_at']),
    record: row['user_id'] === null ? null : DREAM_USERS.toRecord(row),
  };
}

const run: Columns<DreamRunListing> = {
  id: uuid('id'),
  scope: userScope,
  origin: text('origin'),
  dryRun: flag('dry_run'),
  mode: text('mode'),
  state: text('state'),
  outcome: text('outcome'),
  createdAt: number('created_at'),
  startedAt: number('started_at'),
  endedAt: number('ended_at'),
  watermark: number('watermark'),
  filesRead: number('files_read'),
  filesTouched: number('files_touched'),
  writes: number('writes'),
  applied: number('applied'),
  waiting: number('waiting'),
  isWaiting: flag('is_waiting'),
  dropped: number('dropped'),
  inputTokens: number('input_tokens'),
  outputTokens: number('output_tokens'),
  model: text('model'),
  promptVersion: text('prompt_version'),
  errorCode: text('error_code'),
  errorMessage: text('error_message'),
  fence: number('fence'),
};

/** Runs without their details. */
export const DREAM_RUN_LISTINGS = mapTable<DreamRunListing>('svc_dream_history', run);
export const DREAM_RUNS = mapTable<DreamRunRecord>(
  'svc_dream_history',
  { ...run, details: text('details') },
  { fixed: ['user_id'] },
);
