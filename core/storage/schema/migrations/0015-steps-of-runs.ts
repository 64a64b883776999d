import { column, integer, type Migration } from '../migration.ts';

/** The row of a run counts its changes, so that it shows whether one of them was committed. */
export const stepsOfRuns: Migration = {
  version: 15,
  name: 'steps of runs',
  steps: [column('svc_dream_history', integer('step'), 0)],
};
