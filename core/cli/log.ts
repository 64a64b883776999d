import { pino } from 'pino';
import type { Logger } from '../contracts/plugin.ts';

/** Logs JSON to standard error, one line each. Writes are synchronous, so a crash loses none. */
export function createLog(level: 'debug' | 'info' | 'warn' | 'error' | 'silent'): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
