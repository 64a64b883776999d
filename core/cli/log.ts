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

/** The log of a command that does one thing and ends: what goes well is not worth a line. */
export function createCommandLog(level: Parameters<typeof createLog>[0]): Logger {
  return createLog(level === 'info' ? 'warn' : level);
}
