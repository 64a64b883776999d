import { ConfigError } from '../config/error.ts';
import { MemoryError } from '../errors.ts';
import { isProviderError } from '../providers/provider-failure.ts';

/** `EX_CONFIG` of sysexits.h: a mistake in the configuration. */
export const EXIT_CONFIG = 78;
/** The exit code of any other failure. */
export const EXIT_FAILED = 1;

/** The exit code of an undo that had to leave some files as they are. */
export const EXIT_LEFT = 2;

/** A failure that the operator can fix. Its message is one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** One line that says what went wrong and what to do; an unexpected error also gets its stack. */
export function explainFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  if (error instanceof MemoryError) return explainMemoryError(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function explainMemoryError(error: MemoryError): string {
  if (isProviderError(error)) return error.message;
  // The first line only: Node lists the requiring files after it.
  const reason = error.cause instanceof Error ? (error.cause.message.split('\n', 1)[0] ?? '') : '';
  return reason === '' ? error.message : `${error.message} (${reason})`;
}
