import { setTimeout as sleep } from 'node:timers/promises';
import { isSqliteBusy } from './dialect.ts';

const PAUSE_MS = 10;

/** Repeats an attempt, for so many milliseconds, while another process has locked the database. */
export async function untilUnlocked<T>(attempt: () => Promise<T>, limitMs: number): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > end) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
