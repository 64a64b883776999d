import Type, { type Static } from 'typebox';
import {
  count,
  flag,
  nullable,
  ownerFields,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';

/** What the usage takes. */
export const UsageQuery = strictObject({
  ...sinceQuery,
  complete: flag(
    'Count all calls and writes, also more than 10,000: a million take minutes. Default: false.',
  ),
});
export type UsageQuery = Static<typeof UsageQuery>;

const figures = {
  calls: count('Tool calls and dream runs.'),
  writes: count('Versions of files written, also by dreams, operators and imports.'),
  reads: count(),
  finds: count(),
  inputTokens: count('That models and embedders said they read.'),
  outputTokens: count(),
};

/** Who used memory, and what the models said that it took. */
export const Usage = strictObject({
  since: timeSchema,
  until: timeSchema,
  countedFrom: nullable(timeSchema, {
    description: 'Of before this time, not all calls and writes were counted; null: all were.',
  }),
  totals: strictObject(figures),
  owners: Type.Array(strictObject({ ...ownerFields, ...figures }), {
    description:
      'By user or space, the most writes first; at most 200. Both ids null: shared memory.',
  }),
  keys: Type.Array(
    strictObject({
      key: nullable(text('null: without a named key; of a removed one, the id.')),
      ...figures,
    }),
    { description: 'By API key.' },
  ),
  actors: Type.Array(strictObject({ actor: Type.String(), ...figures }), {
    description: 'By actor.',
  }),
  models: Type.Array(
    strictObject({
      provider: Type.String(),
      model: Type.String(),
      kind: Type.Enum(['llm', 'embedding']),
      calls: count('Calls of the model.'),
      inputTokens: count(),
      outputTokens: count(),
    }),
    {
      description:
        'By model. Vectors of passages are made in the background, in no call: their tokens are not counted.',
    },
  ),
  others: count('Owners that are left out.'),
});
export type Usage = Static<typeof Usage>;
