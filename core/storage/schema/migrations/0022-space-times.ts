import { column, integer, type Migration } from '../migration.ts';

/** When operators, or a client of memory stores, last changed the settings of a space. */
export const spaceTimes: Migration = {
  version: 22,
  name: 'space times',
  steps: [column('svc_space', integer('updated_at', { nullable: true }))],
};
