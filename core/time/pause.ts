import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Called after each piece of work that may be one of many: a promise when it is time to let others
 * have their turn, else `undefined`, which costs no turn.
 */
export type Pause = () => Promise<void> | undefined;

const SLICE_MS = 5;

/** Makes the pause of one task, whose first slice begins now. */
export function createPause(): Pause {
  let sliceEnd = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < sliceEnd) return undefined;
    return nextTurn().then(() => void (sliceEnd = performance.now() + SLICE_MS));
  };
}

/** How many items are gone through between two looks at the time. */
const PART = 8_192;

/** Goes through the numbers from 0 up to, but not including, `count`, with pauses. */
export async function inParts(
  count: number,
  pause: Pause,
  work: (from: number, to: number) => void,
): Promise<void> {
  for (let from = 0; from < count; from += PART) {
    work(from, Math.min(count, from + PART));
    await pause();
  }
}

/** Runs steps to their end, and lets others have their turn between them. */
export async function inSlices<T>(
  steps: Generator<unknown, T>,
  pause: Pause = createPause(),
): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs steps to their end at once. */
export function atOnce<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The result of work that may come in steps. */
export function* finish<T extends string | boolean | null>(
  work: T | Generator<null, T>,
): Generator<null, T> {
  return typeof work === 'object' && work !== null ? yield* work : work;
}
