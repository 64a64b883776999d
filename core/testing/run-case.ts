import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PendingCalls, toError } from './watch-calls.ts';

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Runs one case. Rejects with what it throws, with what is thrown or rejected in the background
 * meanwhile, and when it lasts longer than the limit; it is not waited for any more then.
 */
export async function runCase<T>(
  run: () => Promise<T>,
  { timeLimitMs, pending }: { timeLimitMs: number; pending: PendingCalls },
): Promise<T> {
  let fail: (error: Error) => void = () => undefined;
  const failure = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const failInBackground = (thrown: unknown) => {
    const { name, message } = toError(thrown);
    const text = `In the background, awaited by nobody, this was thrown: ${name}: ${message}`;
    fail(new assert.AssertionError({ message: text }));
  };
  const timer = setTimeout(
    () => {
      const message = `It did not end within ${timeLimitMs} ms. ${describePending(pending)}`;
      fail(new assert.AssertionError({ message }));
    },
    Math.min(timeLimitMs, MAX_DELAY_MS),
  );
  process.on('unhandledRejection', failInBackground);
  process.on('uncaughtException', failInBackground);
  try {
    return await Promise.race([runToTheEnd(run), failure]);
  } finally {
    clearTimeout(timer);
    process.off('unhandledRejection', failInBackground);
    process.off('uncaughtException', failInBackground);
  }
}

async function runToTheEnd<T>(run: () => Promise<T>): Promise<T> {
  const result = await run();
  // Node reports an unhandled rejection at the end of the turn.
  await nextTurn();
  return result;
}

function describePending(pending: PendingCalls): string {
  const names = [...pending].flatMap(([name, count]) =>
    count === 0 ? [] : [count === 1 ? name : `${name} (${count} calls)`],
  );
  return names.length === 0 ? 'No call is open.' : `Without an answer: ${names.join(', ')}.`;
}
