import { ConfigError } from '../config/error.ts';
import { MemoryError } from '../errors.ts';
import { isProviderError } from '../provider-failure.ts';

/** `EX_CONFIG` of sysexits.h: something in the configuration is at fault. */
export const EXIT_CONFIG = 78;
/** Anything else that kept the command from working. */
export const EXIT_FAILED = 1;

/** A failure of the start that the operator can act on: its message is one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** One line that says what went wrong and what to do; with the stack when nobody foresaw it. */
export function explainFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  if (error instanceof MemoryError) return explainMemoryError(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function explainMemoryError(error: MemoryError): string {
  if (isProviderError(error)) return error.message;
  // The first line: Node's own messages go on with the files that required a module.
  const reason = error.cause instanceof Error ? (error.cause.message.split('\n', 1)[0] ?? '') : '';
  return reason === '' ? error.message : `${error.message} (${reason})`;
}
