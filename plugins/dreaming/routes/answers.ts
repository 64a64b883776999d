import Type, { type Static } from 'typebox';
import { DreamState } from '../../../core/schemas/dreams.ts';
import {
  count,
  nullable,
  ownerFields,
  strictObject,
  timeSchema,
} from '../../../core/schemas/shapes.ts';
import { SKIP_REASONS } from '../eligibility.ts';
import { SETTING_SCHEMAS } from '../settings.ts';

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

/** A user or a space, and whether dreaming is due. */
export const AdminDreamUser = strictObject({
  ...ownerFields,
  status: nullable(DreamState),
  paused: Type.Boolean(),
  eligible: Type.Boolean({ description: 'Dreamed at the next tick.' }),
  skipReason: nullable(
    Type.Enum([...SKIP_REASONS], {
      description:
        'Why not. disabled: dreaming is off, or the space does not say dream. archived: the space is read-only.',
    }),
  ),
  lastRunId: nullable(Type.String()),
  lastRunAt: nullable(timeSchema),
  lastWriteAt: nullable(timeSchema),
  lastQualifyingWriteAt: nullable(timeSchema),
  filesTouched: count('By the newest run.'),
  operationsWaiting: count('Operations of all runs that wait for a person.'),
  error: nullable(Type.String()),
  runs: count(),
  failures: count('One after the other, up to now.'),
  retryAt: nullable(timeSchema),
});
export type AdminDreamUser = Static<typeof AdminDreamUser>;
