import type {
  DreamRunListing,
  DreamRunRecord,
  DreamUser,
  DreamUserRecord,
} from '../../contracts/dreams.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { Row } from '../dialect.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { mapTable } from '../schema/table-map.ts';

/** The tables of dreams hold the user's id in place of the scope's text. */
export const USER_SCOPE = { name: 'user_id', kind: 'user' } as const;

export const DREAM_USERS = mapTable<DreamUserRecord>(
  'svc_dream_run',
  { scope: USER_SCOPE, paused: 'boolean' },
  { fixed: ['user_id'] },
);

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

const run = { scope: USER_SCOPE, dryRun: 'boolean', isWaiting: 'boolean' } as const;

/** Runs without their details. */
export const DREAM_RUN_LISTINGS = mapTable<DreamRunListing>('svc_dream_history', run, {
  without: ['details'],
});
export const DREAM_RUNS = mapTable<DreamRunRecord>('svc_dream_history', run, {
  fixed: ['user_id'],
});
