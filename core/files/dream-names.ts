import type { ScopeKey } from '../contracts/records.ts';
import { isUserId, toScope } from './paths.ts';

const PREFIX = 'dream:';

/** The lease on a user, held while a dream changes that user's memory. */
export function dreamLeaseOf(userId: string): string {
  return `${PREFIX}${userId}`;
}

/** The user whose lease it is; `null` for a lease of the whole service. */
export function ownerOfLease(name: string): ScopeKey | null {
  const userId = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
  return isUserId(userId) ? toScope(userId) : null;
}

/** The budget that counts the writes of a dream run. */
export function dreamBudgetOf(runId: string): string {
  return `${PREFIX}${runId}`;
}
