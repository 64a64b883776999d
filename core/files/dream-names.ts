/** The lease on a user, held while a dream changes that user's memory. */
export function dreamLeaseOf(userId: string): string {
  return `dream:${userId}`;
}

/** The budget that counts the writes of a dream run. */
export function dreamBudgetOf(runId: string): string {
  return `dream:${runId}`;
}
