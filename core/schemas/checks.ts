import Type, { type Static } from 'typebox';
import { count, physicalPathSchema, strictObject, text, timeSchema } from './shapes.ts';

/** Checks to run, in the form of `memory.checks.yaml`. */
export const CheckRunBody = strictObject({
  checks: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    minItems: 1,
    maxItems: 1_000,
    description:
      'As in memory.checks.yaml. A mistake is answered with all others, each by its place.',
  }),
});

const CheckPlace = strictObject({
  path: physicalPathSchema,
  lines: Type.Array(Type.Integer({ minimum: 1 }), {
    description: 'From 1; empty for the whole file.',
  }),
});
export type CheckPlace = Static<typeof CheckPlace>;

const CheckResult = strictObject({
  name: Type.String(),
  passed: Type.Boolean(),
  why: Type.Optional(text('Why it fails. It never says what stands in memory.')),
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
