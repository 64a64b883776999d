/**
 * Milliseconds that a call may take from its arrival when it waits only for the database. Tools and
 * routes that wait for something else have a `deadlineMs` of their own.
 */
export const CALL_DEADLINE_MS = 15_000;

/** The whole milliseconds left of `limitMs` from `arrivedAt`, a point of `performance.now()`. */
export function msLeft(limitMs: number, arrivedAt: number): number {
  return Math.floor(arrivedAt + limitMs - performance.now());
}

/** What a step leaves of the time of a call for the call's own work. */
const OWN_WORK_MS = 1_000;
/** The longest that one step of a call can wait for a provider. */
export const LONGEST_STEP_MS = CALL_DEADLINE_MS - OWN_WORK_MS;

/**
 * How long one step of a call may wait for a provider: `limitMs`, but it leaves a second of the call
 * for the call's own work, or half of what there is if that is less. A call whose time is up gets 0.
 */
export function shareOfTime(limitMs: number, deadlineAt: number | undefined): number {
  if (deadlineAt === undefined) return limitMs;
  const leftMs = deadlineAt - performance.now();
  return Math.max(0, Math.min(limitMs, Math.floor(Math.max(leftMs - OWN_WORK_MS, leftMs / 2))));
}

/** What a call needs after a model's reply, to say that it failed. */
const CLOSING_MS = 500;

/**
 * How long a model may take: `limitMs`, but it ends shortly before the call's deadline, so that the
 * error names the model.
 */
export function beforeDeadline(limitMs: number, deadlineAt: number | undefined): number {
  if (deadlineAt === undefined) return limitMs;
  const leftMs = deadlineAt - performance.now();
  return Math.max(1, Math.min(limitMs, Math.floor(Math.max(leftMs - CLOSING_MS, leftMs / 2))));
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
