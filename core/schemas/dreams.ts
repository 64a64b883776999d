import Type, { type Static } from 'typebox';
import {
  count,
  nullable,
  ownerFields,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';
import { ConflictOptions, RevertedFile } from './revisions.ts';

/** The states of a dream run: `queued` → `running` → `completed`, `failed` or `canceled`. */
export const DREAM_STATES = ['queued', 'running', 'completed', 'failed', 'canceled'] as const;
export const DreamState = Type.Enum([...DREAM_STATES]);
export type DreamState = Static<typeof DreamState>;

/** The outcome of a run that has ended. */
export const DreamOutcome = Type.Enum(
  ['applied', 'waiting', 'no_op', 'partial', 'rejected', 'reverted'],
  {
    description:
      'waiting: some operations wait for a person. partial: some were applied, others rejected, stale or reverted.',
  },
);
export type DreamOutcome = Static<typeof DreamOutcome>;

/** The kinds of operations that dreaming may use. */
export const DREAM_KINDS = ['merge', 'supersede', 'reword', 'move', 'index'] as const;

/** What the verifier says of an operation. */
export const VERDICTS = ['keeps', 'replaces', 'loses', 'adds', 'wrong', 'unsure'] as const;

/** What a person looks at before an operation is applied. */
export const SIGNALS = [
  'specific_lost',
  'specific_added',
  'negation',
  'modality',
  'conflict',
  'sensitive',
  'other_subject',
  'task',
  'older_source',
] as const;

/** What a model may get wrong in an operation without loss, and what is then mended. */
export const REPAIRS = [
  'fact',
  'path',
  'heading',
  'bullet',
  'quote',
  'line',
  'source',
  'space',
  'beside',
] as const;

/** The states of an operation of a run. */
export const OPERATION_STATUSES = [
  'applied',
  'waiting',
  'dropped',
  'rejected',
  'stale',
  'reverted',
] as const;

const line = strictObject({
  path: text('Physical path; what the model named, where that is no file of that memory.'),
  line: nullable(Type.Integer({ minimum: 0 }), { description: 'Its number when the run read it.' }),
  heading: nullable(text('The headings and list items above it, outermost first.')),
  text: Type.String(),
  at: nullable(timeSchema, { description: 'When the line was written.' }),
});

/** An operation of a run: what it changes, what speaks against it, and what became of it. */
export const AdminDreamOperation = strictObject({
  number: Type.Integer({ minimum: 1, description: 'Names it in apply and reject.' }),
  kind: Type.Enum([...DREAM_KINDS]),
  reason: text('The model’s.'),
  paths: Type.Array(physicalPathSchema, { description: 'Files that it changes.' }),
  remove: Type.Array(line, { description: 'Lines that go.' }),
  add: nullable(
    strictObject({
      path: physicalPathSchema,
      heading: nullable(text('The headings above the new lines, outermost first.')),
      lines: Type.Array(Type.String()),
    }),
    { description: 'Lines that come.' },
  ),
  sources: Type.Array(line, { description: 'Lines that stay, named as the reason.' }),
  class: Type.Enum(['certain', 'meaning'], {
    description: 'certain: code can tell that nothing is lost, so no verdict is needed.',
  }),
  signals: Type.Array(Type.Enum([...SIGNALS])),
  repaired: Type.Array(Type.Enum([...REPAIRS]), {
    description: 'What the model got wrong in the form of the operation, and was mended.',
  }),
  verdict: nullable(Type.Enum([...VERDICTS]), { description: 'null: the verifier was not asked.' }),
  status: Type.Enum([...OPERATION_STATUSES], {
    description: 'applied: in a dry run, it would be.',
  }),
  guard: nullable(text('The guard that it failed: nobody can override it.')),
  why: nullable(
    text('Why it waits, was dropped, or is stale. check: it would turn a stored check red.'),
  ),
  checks: Type.Array(Type.String(), { description: 'The stored checks that it would turn red.' }),
  preselected: Type.Boolean({
    description: 'Waits, and is applied by an apply that names nothing.',
  }),
  applicable: Type.Boolean({
    description: 'A person may apply it: it waits, or the verifier alone dropped it.',
  }),
});
export type AdminDreamOperation = Static<typeof AdminDreamOperation>;

/** A run as lists show it. */
export const AdminDreamRun = strictObject({
  id: Type.String(),
  ...ownerFields,
  origin: Type.Enum(['schedule', 'manual']),
  dryRun: Type.Boolean(),
  mode: Type.Enum(['auto', 'review']),
  state: DreamState,
  outcome: nullable(DreamOutcome),
  createdAt: timeSchema,
  startedAt: nullable(timeSchema),
  endedAt: nullable(timeSchema),
  filesRead: count(),
  filesTouched: count(),
  writes: count('With the entry of the log.'),
  operationsApplied: count(),
  operationsWaiting: count('Operations that wait for a person.'),
  operationsDropped: count(),
  inputTokens: count(),
  outputTokens: count(),
  model: nullable(Type.String()),
  promptVersion: nullable(Type.String()),
  error: nullable(strictObject({ code: Type.String(), message: Type.String() })),
});
export type AdminDreamRun = Static<typeof AdminDreamRun>;

/** A run with its operations and what it wrote. */
export const AdminDreamRunDetail = strictObject({
  ...AdminDreamRun.properties,
  operations: Type.Array(AdminDreamOperation),
  malformedOperations: count('Entries of the reply that were no operations.'),
  repeatedOperations: count(
    'Operations left out because they wait in an earlier run already, or a person rejected them.',
  ),
  verifier: nullable(text('The model that gave the verdicts; null where it was not asked.')),
  traceId: nullable(text('Of its observation event: where its time and its tokens went.')),
  files: Type.Array(
    strictObject({
      path: physicalPathSchema,
      status: Type.Enum(['applied', 'reverted']),
      version: Type.Integer({ minimum: 1, description: 'The newest one that the run wrote.' }),
      diff: nullable(
        text('Unified diff of all that the run wrote to it; null where that is pruned.'),
      ),
    }),
    { description: 'Files that the run wrote, also by operations that were applied later.' },
  ),
  leftOut: Type.Array(physicalPathSchema, {
    description: 'Files whose turn it was and that did not fit: the next run shows them.',
  }),
  shownInParts: Type.Array(
    strictObject({
      path: physicalPathSchema,
      fromLine: Type.Integer({ minimum: 1 }),
      toLine: Type.Integer({ minimum: 1 }),
    }),
    { description: 'Files that are larger than a run can show: the next run goes on behind this.' },
  ),
  revisions: Type.Array(
    strictObject({
      id: Type.String(),
      path: physicalPathSchema,
      version: Type.Integer({ minimum: 1 }),
      action: Type.String(),
      at: timeSchema,
    }),
  ),
});
export type AdminDreamRunDetail = Static<typeof AdminDreamRunDetail>;

/** Which operations to apply or to reject. */
export const DreamDecisionBody = strictObject({
  operations: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1 }), {
      minItems: 1,
      maxItems: 200,
      description: 'By their numbers.',
    }),
  ),
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1200 }), {
      minItems: 1,
      maxItems: 100,
      description: 'All waiting operations that change one of these files.',
    }),
  ),
});

/** A run after some of its operations were applied or rejected. */
export const AdminDreamDecision = strictObject({
  ...AdminDreamRunDetail.properties,
  decided: Type.Array(
    strictObject({
      number: Type.Integer({ minimum: 1 }),
      status: Type.Enum([...OPERATION_STATUSES]),
      why: nullable(text('Why it was not applied.')),
    }),
    { description: 'What became of each operation that the request picked.' },
  ),
});
export type AdminDreamDecision = Static<typeof AdminDreamDecision>;

/** What a revert of a run takes: how conflicts are decided. */
export const DreamRevertBody = ConflictOptions;

/** A run after its revert, with what became of each file that it wrote. */
export const AdminDreamRevert = strictObject({
  ...AdminDreamRunDetail.properties,
  reverted: Type.Array(
    strictObject({
      path: physicalPathSchema,
      version: Type.Integer({
        description: 'The one that was written; 0 where nothing had to be.',
      }),
      revisionId: nullable(Type.String()),
      why: nullable(text('Which of its versions were left.')),
    }),
  ),
  left: Type.Array(
    strictObject({
      path: physicalPathSchema,
      outcome: RevertedFile.properties.outcome,
      why: Type.String(),
    }),
    { description: 'Files that stay as they are, and why. Empty: the whole run is reverted.' },
  ),
});
export type AdminDreamRevert = Static<typeof AdminDreamRevert>;
