import { pino } from 'pino';
import type { Logger } from '../contracts/plugin.ts';

/** JSON logs on standard error, a line each; written at once, so that a crash loses none. */
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
