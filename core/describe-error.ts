/** An error as the log has it. */
export interface DescribedError {
  name: string;
  code?: string;
  message?: string;
  /** Frames without the message above them. */
  stack?: string;
  cause?: DescribedError;
}

const CAUSE_LIMIT = 4;
const MESSAGE_LIMIT = 500;

/**
 * An unexpected error for the log. A database error's message is left out: it quotes the statement
 * with its values, and memory content belongs in no log. So is a parser's, which quotes the text
 * that it could not read. The code and the frames say enough.
 */
export function describeError(thrown: unknown, depth = 0): DescribedError {
  if (!(thrown instanceof Error)) return { name: typeof thrown };
  const { name, message, stack, cause } = thrown;
  const { code, sql, bindings } = thrown as { code?: unknown; sql?: unknown; bindings?: unknown };
  const quotes =
    sql !== undefined ||
    bindings !== undefined ||
    String(code).startsWith('SQLITE_') ||
    thrown instanceof SyntaxError;
  const frames = stack?.slice(stack.indexOf('\n    at ') + 1);
  return {
    name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(quotes ? {} : { message: message.slice(0, MESSAGE_LIMIT) }),
    ...(frames?.startsWith('    at ') === true ? { stack: frames } : {}),
    ...(cause === undefined || depth >= CAUSE_LIMIT
      ? {}
      : { cause: describeError(cause, depth + 1) }),
  };
}
