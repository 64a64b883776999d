import Type, { type Static } from 'typebox';
import { AdminRevision } from './revisions.ts';
import { count, nullable, strictObject, text, timeSchema, userIdSchema } from './shapes.ts';

const checkList = (minItems: 0 | 1) =>
  Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    minItems,
    maxItems: 1_000,
    description:
      'As in memory.checks.yaml. A mistake is answered with all others, each by its place.',
  });

/** Checks to run, in the form of `memory.checks.yaml`. */
export const CheckRunBody = strictObject({
  checks: Type.Optional(checkList(1)),
  progressId: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9-]{8,64}$',
      description: 'An id of your own, to read the progress by.',
    }),
  ),
});

/** The stored checks: as text, or as a list. */
export const ChecksBody = strictObject({
  text: Type.Optional(
    Type.String({ maxLength: 1_000_000, description: 'YAML or JSON; empty for no checks.' }),
  ),
  checks: Type.Optional(checkList(0)),
});
export type ChecksBody = Static<typeof ChecksBody>;

const about = Type.Enum(['user', 'space', 'path', 'each_user', 'everywhere']);
const kind = Type.Enum([
  'ask',
  'contains',
  'absent',
  'at_most_one_line',
  'exists',
  'max_bytes',
  'hygiene',
]);

/** The checks that the service keeps. */
export const AdminChecks = strictObject({
  version: Type.Integer({ minimum: 1 }),
  text: text('As they were written, with comments.'),
  checks: Type.Array(
    strictObject({
      name: Type.String(),
      line: Type.Integer({ minimum: 1, description: 'Of its name in the text.' }),
      about,
      kind,
    }),
  ),
  mistakes: Type.Array(
    strictObject({ line: Type.Integer({ minimum: 1 }), message: Type.String() }),
    {
      description: 'Of a text that was changed in the database by hand.',
    },
  ),
});
export type AdminChecks = Static<typeof AdminChecks>;

const CheckPlace = strictObject({
  path: text('Physical path; of a whole memory its folder, as in users/alice/.'),
  lines: Type.Array(Type.Integer({ minimum: 1 }), {
    description: 'From 1; empty for the whole file.',
  }),
});
export type CheckPlace = Static<typeof CheckPlace>;

const CheckResult = strictObject({
  name: Type.String(),
  passed: Type.Boolean(),
  why: Type.Optional(text('Why it fails. It never says what stands in memory.')),
  near: Type.Optional(text('A name that exists, near the one that does not.')),
  rank: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Of a question: the rank at which it was found; null where it was not.',
    }),
  ),
  places: Type.Optional(Type.Array(CheckPlace, { description: 'The first 20 places.' })),
  more: Type.Optional(count('Files beyond these.')),
});
export type CheckResult = Static<typeof CheckResult>;

/** What a run of checks found. */
export const CheckRun = strictObject({
  at: timeSchema,
  passed: count(),
  failed: count(),
  results: Type.Array(CheckResult, { description: 'In the order of the checks.' }),
});
export type CheckRun = Static<typeof CheckRun>;

/** A change of a check against an earlier run. */
export const CheckChange = strictObject({
  name: Type.String(),
  isBetter: Type.Boolean(),
  turned: nullable(Type.Enum(['red', 'green'])),
  what: text('For people, as in rank 1 → 4.'),
});
export type CheckChange = Static<typeof CheckChange>;

const rank = Type.Optional(nullable(Type.Integer({ minimum: 1 })));

const runFields = {
  id: Type.String(),
  origin: Type.Enum(['hand', 'nightly', 'embedder'], {
    description: 'embedder: before or after all was embedded anew.',
  }),
  at: timeSchema,
  tookMs: count(),
  version: Type.Integer({ minimum: 1, description: 'Of the stored checks.' }),
  passed: count(),
  failed: count(),
  embedder: nullable(text('The embedding model of its questions.')),
};

/** A run of the stored checks, and what changed since the one before. */
export const AdminCheckRun = strictObject({
  ...runFields,
  results: Type.Array(CheckResult, { description: 'Those of erased memory are gone.' }),
  against: nullable(text('The run that it is compared with.')),
  changes: Type.Array(CheckChange),
});
export type AdminCheckRun = Static<typeof AdminCheckRun>;

/** The runs of the stored checks, newest first, and the history of each check. */
export const AdminCheckRuns = strictObject({
  items: Type.Array(strictObject(runFields), { description: 'The newest 100.' }),
  checks: Type.Array(
    strictObject({
      name: Type.String(),
      outcomes: Type.Array(strictObject({ runId: Type.String(), passed: Type.Boolean(), rank }), {
        description: 'In the newest 30 runs, oldest first.',
      }),
    }),
  ),
});
export type AdminCheckRuns = Static<typeof AdminCheckRuns>;

/** A check to be followed back: a stored one by its name, or a given one. */
export const CheckBisectBody = strictObject({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  check: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

/** The write that made a check fail. */
export const AdminCheckBisect = strictObject({
  name: Type.String(),
  outcome: Type.Enum(['found', 'passes', 'time', 'unknown'], {
    description:
      'found: by the writes in revisions. passes: it does not fail. time: something has expired since. unknown: why says why nobody can tell.',
  }),
  why: text('For people.'),
  path: nullable(text('The memory that was looked at, by its folder.')),
  at: nullable(timeSchema, { description: 'When it was written.' }),
  before: nullable(timeSchema, { description: 'The last moment at which the check passed.' }),
  revisions: Type.Array(AdminRevision, { description: 'All writes of that moment.' }),
  tries: count('Moments at which the check was tried.'),
});
export type AdminCheckBisect = Static<typeof AdminCheckBisect>;

/** How far a run of checks is. */
export const AdminCheckProgress = strictObject({
  files: count('Looked at so far.'),
  done: count('Checks that are done.'),
  total: count(),
});
export type AdminCheckProgress = Static<typeof AdminCheckProgress>;

/** Questions to ask, as finds of their users would. */
export const CheckAskBody = strictObject({
  questions: Type.Array(
    strictObject({ user: userIdSchema, query: Type.String({ minLength: 1, maxLength: 10_000 }) }),
    { minItems: 1, maxItems: 100 },
  ),
});

/** What was found, best first. */
export const CheckAnswers = strictObject({
  answers: Type.Array(Type.Array(text('Virtual path.')), {
    description: 'The files of each question, at most 50.',
  }),
});
export type CheckAnswers = Static<typeof CheckAnswers>;
