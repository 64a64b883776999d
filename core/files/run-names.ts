import type { ScopeKey } from '../contracts/records.ts';
import { isUserId, toScope } from './paths.ts';

/** The plugin whose runs had the only names before other plugins had runs. */
export const DREAMING = 'dreaming';

const DREAM = 'dream:';
const RUN = 'run/';

/**
 * The lease on a user that a plugin holds while one of its runs changes that user's memory. No user id
 * and no plugin's name has a slash.
 */
export function userLeaseOf(plugin: string, userId: string): string {
  return plugin === DREAMING ? `${DREAM}${userId}` : `${RUN}${userId}/${plugin}`;
}

/** The bounds of the names of a user's leases, of all plugins but dreaming: both are exclusive. */
export function userLeaseBounds(userId: string): readonly [string, string] {
  return [`${RUN}${userId}/`, `${RUN}${userId}0`];
}

/** The user whose lease it is; `null` for a lease of the whole service. */
export function ownerOfLease(name: string): ScopeKey | null {
  const userId = name.startsWith(DREAM)
    ? name.slice(DREAM.length)
    : name.startsWith(RUN)
      ? name.slice(RUN.length, name.lastIndexOf('/'))
      : '';
  return isUserId(userId) ? toScope({ userId: userId }) : null;
}

/** The budget that counts the writes of a run, of any plugin. */
export function runBudgetOf(runId: string): string {
  return `${DREAM}${runId}`;
}
