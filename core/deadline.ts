/**
 * Milliseconds that a call may take from its arrival when it waits only for the database. Tools and
 * routes that wait for something else have a `deadlineMs` of their own.
 */
export const CALL_DEADLINE_MS = 15_000;

/** The whole milliseconds left of `limitMs` from `arrivedAt`, a point of `performance.now()`. */
export function msLeft(limitMs: number, arrivedAt: number): number {
  return Math.floor(arrivedAt + limitMs - performance.now());
}

/**
 * Resolves as `work` does, or rejects with `onLate()` after `limitMs`. It can't stop the work; a late
 * result is dropped.
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
