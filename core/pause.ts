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
