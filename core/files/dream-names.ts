/** The lease on a user: whoever changes that user's memory by dreaming holds it. */
export function dreamLeaseOf(userId: string): string {
  return `dream:${userId}`;
}

/** The budget that the writes of a dream run are counted in. */
export function dreamBudgetOf(runId: string): string {
  return `dream:${runId}`;
}
