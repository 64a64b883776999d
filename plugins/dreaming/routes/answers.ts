import Type, { type Static } from 'typebox';
import { AdminDreamRun, DreamState } from '../../../core/schemas/dreams.ts';
import { count, nullable, strictObject, text, timeSchema } from '../../../core/schemas/shapes.ts';
import { SKIP_REASONS } from '../eligibility.ts';
import { OPERATION_KINDS } from '../operations.ts';
import { SETTING_SCHEMAS } from '../settings.ts';

const physicalPath = text('Physical path: users/<userId>/<path>.');

/** The settings of dreaming. */
export const AdminDreamConfig = strictObject({
  ...SETTING_SCHEMAS,
  schedulerStarted: Type.Boolean({
    description: 'Whether this instance looks for users at all: SERVICE_DREAM_ENABLED.',
  }),
  invalidKeys: Type.Optional(
    Type.Array(
      Type.Enum(Object.keys(SETTING_SCHEMAS) as (keyof typeof SETTING_SCHEMAS)[], {
        type: 'string',
      }),
      {
        description:
          'There when rows were spoilt by hand: settings for which the last good value holds, or a safe one. Set them anew.',
      },
    ),
  ),
});
export type AdminDreamConfig = Static<typeof AdminDreamConfig>;

/** A user and whether dreaming is due. */
export const AdminDreamUser = strictObject({
  userId: Type.String(),
  status: nullable(DreamState),
  paused: Type.Boolean(),
  eligible: Type.Boolean({ description: 'Dreamed at the next tick.' }),
  skipReason: nullable(Type.Enum([...SKIP_REASONS], { description: 'Why not.' })),
  lastRunId: nullable(Type.String()),
  lastRunAt: nullable(timeSchema),
  lastWriteAt: nullable(timeSchema),
  lastQualifyingWriteAt: nullable(timeSchema),
  filesTouched: count('By the newest run.'),
  error: nullable(Type.String()),
  runs: count(),
  failures: count('One after the other, up to now.'),
  retryAt: nullable(timeSchema),
});
export type AdminDreamUser = Static<typeof AdminDreamUser>;

/** A run with its operations, files and revisions. */
export const AdminDreamRunDetail = strictObject({
  ...AdminDreamRun.properties,
  operations: Type.Array(
    strictObject({
      kind: Type.Enum([...OPERATION_KINDS]),
      status: Type.Enum(['applied', 'dropped'], {
        description: 'applied: it passed every check, and is part of the files below.',
      }),
      reason: text('The model’s.'),
      paths: Type.Array(Type.String()),
      check: nullable(text('Which check dropped it.')),
      why: nullable(Type.String()),
    }),
  ),
  malformedOperations: count(),
  traceId: nullable(text('Of its observation event: where its time and its tokens went.')),
  files: Type.Array(
    strictObject({
      path: physicalPath,
      status: Type.Enum(['proposed', 'applied', 'left', 'rejected', 'reverted']),
      note: nullable(text('Why it was left.')),
      reason: Type.String(),
      version: count('As the run saw it.'),
      writtenVersion: nullable(Type.Integer({ minimum: 1 })),
      needs: Type.Array(physicalPath, {
        description: 'Files that hold what this one gives: written before it.',
      }),
      diff: nullable(text('Unified diff.')),
    }),
  ),
  leftOut: Type.Array(physicalPath, {
    description: 'Files whose turn it was and that did not fit: they wait for the next run.',
  }),
  tooLarge: Type.Array(strictObject({ path: physicalPath, why: Type.String() }), {
    description: 'Files that no run can show.',
  }),
  revisions: Type.Array(
    strictObject({
      id: Type.String(),
      path: physicalPath,
      version: Type.Integer({ minimum: 1 }),
      action: Type.String(),
      at: timeSchema,
    }),
  ),
});
export type AdminDreamRunDetail = Static<typeof AdminDreamRunDetail>;

/** A run after its revert. */
export const AdminDreamRevert = strictObject({
  ...AdminDreamRunDetail.properties,
  reverted: Type.Array(
    strictObject({ path: physicalPath, version: Type.Integer(), revisionId: Type.String() }),
  ),
  left: Type.Array(strictObject({ path: physicalPath, why: Type.String() })),
});
export type AdminDreamRevert = Static<typeof AdminDreamRevert>;
