import { isProviderError } from './providers/provider-failure.ts';
import { takeStart } from './encoding/take-text.ts';

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
 * that it could not read, and a model provider's, which may repeat the request. The code and the
 * frames say enough.
 */
export function describeError(thrown: unknown): DescribedError {
  return describe(thrown, { depth: 0, isProviders: false });
}

function describe(
  thrown: unknown,
  { depth, isProviders }: { depth: number; isProviders: boolean },
): DescribedError {
  if (!(thrown instanceof Error)) return { name: typeof thrown };
  const { name, message, stack, cause } = thrown;
  const { code, sql, bindings } = thrown as { code?: unknown; sql?: unknown; bindings?: unknown };
  const quotes =
    sql !== undefined ||
    bindings !== undefined ||
    String(code).startsWith('SQLITE_') ||
    isProviders ||
    thrown instanceof SyntaxError;
  // Behind the whole message: it may hold what looks like a frame itself.
  const at = stack?.indexOf(`${message}\n    at `) ?? -1;
  return {
    name: isProviders ? 'Error' : name,
    ...(typeof code === 'string' && !isProviders ? { code } : {}),
    ...(quotes ? {} : { message: takeStart(message, MESSAGE_LIMIT) }),
    ...(stack === undefined || at < 0 ? {} : { stack: stack.slice(at + message.length + 1) }),
    ...(cause === undefined || depth >= CAUSE_LIMIT
      ? {}
      : {
          cause: describe(cause, {
            depth: depth + 1,
            isProviders: isProviders || isProviderError(thrown),
          }),
        }),
  };
}
