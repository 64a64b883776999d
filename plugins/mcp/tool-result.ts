import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ToolResponse } from '../../core/contracts/tool.ts';
import { MemoryError, toErrorText } from '../../core/errors.ts';

/** An error of a runner: the service throws a `MemoryError`, its client one with the same members. */
export type RunnerError = Pick<
  MemoryError,
  | 'code'
  | 'message'
  | 'status'
  | 'details'
  | 'retryable'
  | 'retryAfterSeconds'
  | 'traceId'
  | 'toolCallId'
> & {
  /** What to do. A service of an older version says nothing. */
  readonly action?: string | undefined;
};

/**
 * What a call gave, for programs and as text. `_meta` holds no more than the ids, since some frameworks
 * put it in front of the model.
 */
export function toCallResult(response: ToolResponse): CallToolResult {
  const { result, traceId, toolCallId } = response;
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    ...(isObject ? { structuredContent: result as Record<string, unknown> } : {}),
    _meta: { traceId, toolCallId },
  };
}

/**
 * What a failed call gives: text that a model can act on, in which `rename` names the tools as it knows
 * them. A failure is no error of the protocol,
 * which would end the loop of many agents.
 */
export function toErrorResult(
  error: RunnerError,
  rename: (text: string) => string = (text) => text,
): CallToolResult {
  const { code, traceId, toolCallId } = error;
  return {
    isError: true,
    content: [{ type: 'text', text: rename(toErrorText(error)) }],
    _meta: {
      code,
      ...(traceId === undefined ? {} : { traceId }),
      ...(toolCallId === undefined ? {} : { toolCallId }),
    },
  };
}

/** The error that a runner rejected with; of one that is none of the service, nothing is told. */
export function toRunnerError(thrown: unknown): RunnerError {
  const { code, message, status, retryable } = Object(thrown) as Partial<RunnerError>;
  const isOurs = typeof code === 'string' && typeof status === 'number';
  return isOurs && message !== undefined && retryable !== undefined
    ? (thrown as RunnerError)
    : new MemoryError('INTERNAL');
}
