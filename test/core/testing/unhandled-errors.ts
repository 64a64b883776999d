import { onTestFinished } from 'vitest';

const EVENTS = ['unhandledRejection', 'uncaughtException'] as const;

/**
 * What nobody handled until the test ends. The test runner's own listeners, which would fail the
 * run, are put aside until then.
 */
export function unhandledErrors(): readonly unknown[] {
  const errors: unknown[] = [];
  const listener = (error: unknown) => errors.push(error);
  for (const event of EVENTS) {
    const others = process.rawListeners(event) as ((...args: unknown[]) => void)[];
    process.removeAllListeners(event);
    process.on(event, listener);
    onTestFinished(() => {
      process.off(event, listener);
      for (const other of others) process.on(event, other);
    });
  }
  return errors;
}
