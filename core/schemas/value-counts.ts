import Type, { type Static } from 'typebox';
import { count, nullable, strictObject, text, timeSchema } from './shapes.ts';

/** How often a field of a list has each value. */
export const FieldValues = strictObject(
  {
    field: text('The name of the filter.'),
    values: Type.Array(strictObject({ value: Type.String(), count: count() }), {
      description: 'The most frequent first, at most 50.',
    }),
    others: count('Different values that are left out.'),
  },
  {
    description: 'Counted with all filters but its own, so that other values can be seen.',
  },
);
export type FieldValues = Static<typeof FieldValues>;

/** The values that the filters of a list could have. */
export const ValueCounts = strictObject({
  rows: count('Rows that pass all filters, of those that were looked at.'),
  from: nullable(timeSchema, {
    description: 'Where older rows were not looked at: the time of the oldest that was.',
  }),
  fields: Type.Array(FieldValues),
  without: Type.Array(
    strictObject({ filter: Type.String(), rows: count(), isMore: Type.Boolean() }),
    {
      description:
        'Where no row passes: how many would without one of the filters; isMore: or more.',
    },
  ),
});
export type ValueCounts = Static<typeof ValueCounts>;
