import Type, { type TSchema } from 'typebox';
import { SKIP_REASONS } from '../eligibility.ts';
import { OPERATION_KINDS } from '../operations.ts';

/** Parts of the schemas of the dream routes. */

export const strict = { additionalProperties: false } as const;

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const time = Type.String({ format: 'date-time', description: 'RFC 3339, UTC, with milliseconds.' });
const count = Type.Integer({ minimum: 0 });
const physicalPath = Type.String({ description: 'Physical path: users/<userId>/<path>.' });

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, description: 'Rows of a page; default 50.' }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, description: 'nextCursor of the page before.' }),
  ),
  order: Type.Optional(Type.Enum(['asc', 'desc'])),
};

export const listOf = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      items: Type.Array(item),
      nextCursor: nullable(Type.String({ description: 'null at the end of the list.' })),
    },
    strict,
  );

export const stateSchema = Type.Enum([
  'queued',
  'running',
  'awaiting_review',
  'completed',
  'failed',
  'canceled',
]);

export const userSchema = Type.Object(
  {
    userId: Type.String(),
    status: nullable(stateSchema),
    paused: Type.Boolean(),
    eligible: Type.Boolean({ description: 'Dreamed at the next tick.' }),
    skipReason: nullable(Type.Enum([...SKIP_REASONS], { description: 'Why not.' })),
    lastRunId: nullable(Type.String()),
    lastRunAt: nullable(time),
    lastWriteAt: nullable(time),
    lastQualifyingWriteAt: nullable(time),
    filesTouched: Type.Integer({ minimum: 0, description: 'By the newest run.' }),
    error: nullable(Type.String()),
    runs: count,
    failures: Type.Integer({ minimum: 0, description: 'One after the other, up to now.' }),
    retryAt: nullable(time),
  },
  strict,
);

const runFields = {
  id: Type.String(),
  userId: Type.String(),
  origin: Type.Enum(['schedule', 'manual']),
  dryRun: Type.Boolean(),
  mode: Type.Enum(['auto', 'review']),
  state: stateSchema,
  outcome: nullable(Type.Enum(['applied', 'no_op', 'partial', 'rejected', 'reverted'])),
  createdAt: time,
  startedAt: nullable(time),
  endedAt: nullable(time),
  filesRead: count,
  filesTouched: count,
  writes: Type.Integer({ minimum: 0, description: 'With the entry of the log.' }),
  operationsApplied: count,
  operationsDropped: count,
  inputTokens: count,
  outputTokens: count,
  model: nullable(Type.String()),
  promptVersion: nullable(Type.String()),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() }, strict)),
};

/** A run as lists show it. */
export const runSchema = Type.Object(runFields, strict);

const detailFields = {
  ...runFields,
  operations: Type.Array(
    Type.Object(
      {
        kind: Type.Enum([...OPERATION_KINDS]),
        status: Type.Enum(['applied', 'dropped'], {
          description: 'applied: it passed every check, and is part of the files below.',
        }),
        reason: Type.String({ description: 'The model’s.' }),
        paths: Type.Array(Type.String()),
        check: nullable(Type.String({ description: 'Which check dropped it.' })),
        why: nullable(Type.String()),
      },
      strict,
    ),
  ),
  malformedOperations: count,
  traceId: nullable(
    Type.String({ description: 'Of its observation event: where its time and its tokens went.' }),
  ),
  files: Type.Array(
    Type.Object(
      {
        path: physicalPath,
        status: Type.Enum(['proposed', 'applied', 'left', 'rejected', 'reverted']),
        note: nullable(Type.String({ description: 'Why it was left.' })),
        reason: Type.String(),
        version: Type.Integer({ minimum: 0, description: 'As the run saw it.' }),
        writtenVersion: nullable(Type.Integer({ minimum: 1 })),
        needs: Type.Array(physicalPath, {
          description: 'Files that hold what this one gives: written before it.',
        }),
        diff: nullable(Type.String({ description: 'Unified diff.' })),
      },
      strict,
    ),
  ),
  leftOut: Type.Array(physicalPath, {
    description: 'Files whose turn it was and that did not fit: they wait for the next run.',
  }),
  tooLarge: Type.Array(Type.Object({ path: physicalPath, why: Type.String() }, strict), {
    description: 'Files that no run can show.',
  }),
  revisions: Type.Array(
    Type.Object(
      {
        id: Type.String(),
        path: physicalPath,
        version: Type.Integer({ minimum: 1 }),
        action: Type.String(),
        at: time,
      },
      strict,
    ),
  ),
};

/** A run with its operations, files and revisions. */
export const runDetailSchema = Type.Object(detailFields, strict);

/** The same after it was undone. */
export const revertSchema = Type.Object(
  {
    ...detailFields,
    reverted: Type.Array(
      Type.Object(
        { path: physicalPath, version: Type.Integer(), revisionId: Type.String() },
        strict,
      ),
    ),
    left: Type.Array(Type.Object({ path: physicalPath, why: Type.String() }, strict)),
  },
  strict,
);
