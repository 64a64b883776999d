import { type Migration, widen } from '../migration.ts';

const owner = { name: 'user_id', kind: 'key', length: 136 } as const;

/**
 * Spaces are dreamed of, too: in their rows, `user_id` has the folder of the space (`spaces/acme/`), which
 * no user id can be.
 */
export const runsOfSpaces: Migration = {
  version: 24,
  name: 'runs of spaces',
  steps: [
    widen('svc_dream_run', owner),
    widen('svc_dream_history', owner),
    widen('svc_plugin_user', owner),
  ],
};
