import Type, { type Static, type TSchema } from 'typebox';
import { count, nullable, strictObject, text, timeSchema } from './shapes.ts';

const state = Type.Enum(['running', 'completed', 'failed']);

/** The last run of a job of the process that answers, with the schema of its result. */
export const jobOf = <Result extends TSchema>(result: Result) =>
  strictObject({
    state,
    done: count('Steps that are done.'),
    total: count(),
    result: nullable(result),
    error: nullable(text('Code of what it failed with.')),
  });

/** The last run of a job; `done` of `total` is 0 of 0 where nobody knows. */
export type JobState<Result> = Omit<Static<ReturnType<typeof jobOf>>, 'result'> & {
  result: Result | null;
};

/** The progress of the last reindex of the process that answers. */
export const Reindexing = strictObject({
  state,
  done: count('Files indexed so far.'),
  files: count('Files at its start.'),
});
export type Reindexing = Static<typeof Reindexing>;

/** A copy of the database that stands beside it. */
export const BackupFile = strictObject({
  file: text('Name of the copy, in the directory of the database.'),
  bytes: count(),
});
export type BackupFile = Static<typeof BackupFile>;

/** What a round of the retention removed, or would remove. */
export const RetentionCounts = strictObject({
  events: count(),
  access: count(),
  idempotency: count(),
  revisions: count(),
  bytes: count('Of those revisions.'),
  dreams: count('Dream runs that had ended.'),
});
export type RetentionCounts = Static<typeof RetentionCounts>;

/**
 * What must hold of a memory:
 *
 * - I1: a file holds what was written last, byte for byte.
 * - I2: a file's version is the number of its writes.
 * - I3: the content before revision n is the content after n − 1.
 * - I4: the postings of files that are not behind are those that a new index would have.
 * - I5: no revision is without a file row.
 * - I6: each write has its access row.
 * - I8: the history of each file is linear.
 * - `chain`: no revision was changed, removed or inserted since it was written.
 * - `whole`: no write is there in part, neither in the counts of a scope nor as half a move.
 * - `storage`: all of the database can be read.
 */
const Invariant = Type.Enum([
  'I1',
  'I2',
  'I3',
  'I4',
  'I5',
  'I6',
  'I8',
  'chain',
  'whole',
  'storage',
]);

/** A broken invariant, and where: `path` is `null` where it is about more than one file. */
export const Finding = strictObject({
  invariant: Invariant,
  path: nullable(text('Physical path.')),
  message: text('What is wrong, without content.'),
});
export type Finding = Static<typeof Finding>;

/** What a verification looked at, and what it found. */
export const Verification = strictObject({
  scopes: count(),
  files: count(),
  revisions: count(),
  unchained: count('Revisions from before the chain, which no hash protects.'),
  chainedSince: nullable(timeSchema, {
    description: 'All revisions after this time are chained; null when all revisions are.',
  }),
  uncovered: count(
    'Files whose oldest text is under no hash: they were pruned by a service that left none. A running service adds it within an hour.',
  ),
  coveredSince: nullable(timeSchema, {
    description:
      'Oldest texts that got their hash later than by the prune are covered since then; null when there are none.',
  }),
  findings: Type.Array(Finding, { description: 'At most 1,000 of them.' }),
  found: count('All findings.'),
});
export type Verification = Static<typeof Verification>;
