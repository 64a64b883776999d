import type { ScopeKey } from '../contracts/records.ts';
import { isUserId, ownerOf, toScope, toUserId } from './paths.ts';

/** The plugin whose runs had the only names before other plugins had runs. */
export const DREAMING = 'dreaming';

const DREAM = 'dream:';
const RUN = 'run/';
const SPACE_RUN = 'space-run/';

/**
 * The lease on a user or a space that a plugin holds while one of its runs changes that memory. No id and
 * no plugin's name has a slash.
 */
export function scopeLeaseOf(plugin: string, scope: ScopeKey): string {
  if (plugin === DREAMING && toUserId(scope) !== null) return `${DREAM}${ownerOf(scope)}`;
  return `${homeOfLeases(scope)}${plugin}`;
}

/** The bounds of the names of a scope's leases, but for that of dreaming on a user: both are exclusive. */
export function scopeLeaseBounds(scope: ScopeKey): readonly [string, string] {
  const start = homeOfLeases(scope);
  return [start, `${start.slice(0, -1)}0`];
}

function homeOfLeases(scope: ScopeKey): string {
  return `${toUserId(scope) === null ? SPACE_RUN : RUN}${ownerOf(scope)}/`;
}

/** The user or the space whose lease it is; `null` for a lease of the whole service. */
export function ownerOfLease(name: string): ScopeKey | null {
  const idBetween = (start: string, end: number) => {
    const id = name.startsWith(start) ? name.slice(start.length, end) : '';
    return isUserId(id) ? id : null;
  };
  const spaceId = idBetween(SPACE_RUN, name.lastIndexOf('/'));
  if (spaceId !== null) return toScope({ spaceId });
  const userId = idBetween(DREAM, name.length) ?? idBetween(RUN, name.lastIndexOf('/'));
  return userId === null ? null : toScope({ userId });
}

/** The budget that counts the writes of a run, of any plugin. */
export function runBudgetOf(runId: string): string {
  return `${DREAM}${runId}`;
}
