import type { Logger } from '../../core/contracts/plugin.ts';

/** A log that nobody reads. */
export const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
