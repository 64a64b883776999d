/**
 * How long a call may take, from its arrival, where nothing but the database is waited for: tools
 * and routes that wait for something else say so (`deadlineMs`).
 */
export const CALL_DEADLINE_MS = 15_000;

/**
 * The result of the work, or a rejection with `onLate()` after `limitMs`. Work can't be ended from
 * here: it goes on, and what it settles with later is dropped.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  limitMs: number,
  onLate: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(onLate()), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
