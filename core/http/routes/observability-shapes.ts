import Type from 'typebox';
import { filterText, sinceQuery, timeSchema } from './shapes.ts';

/** Parts of schemas that the routes of the dashboard share. */

/** What narrows every answer of the dashboard. */
export const rangeQuery = {
  ...sinceQuery,
  userId: filterText('Calls for this user.'),
  tool: filterText('Calls of this tool.'),
};

/** The range that an answer is about. */
export const rangeFields = {
  since: timeSchema,
  until: timeSchema,
};

export const bucketSchema = Type.Enum(['1m', '5m', '1h', '1d']);

/** The same, for an answer that counts accesses. */
export const countedQuery = {
  ...rangeQuery,
  complete: Type.Optional(
    Type.Boolean({
      description: 'Count all accesses of the range, however many: a million take some seconds.',
    }),
  ),
};

/** What the newest accesses of a range come to. */
export const countedFields = {
  ...rangeFields,
  countedFrom: Type.Union([timeSchema, Type.Null()], {
    description:
      'Accesses before this time were not counted: one answer looks at 5,000 rows, unless complete is asked for. null: all were.',
  }),
};

export const relativeErrorSchema = Type.Number({
  description: 'Each percentile is within this share of the exact one.',
});
