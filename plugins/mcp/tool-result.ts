import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ToolResponse } from '../../core/contracts/tool.ts';
import { ERROR_CODES, type ErrorCode, type MemoryError } from '../../core/errors.ts';

/** An error of a runner: the service throws a `MemoryError`, its client one with the same members. */
export type RunnerError = Pick<
  MemoryError,
  'code' | 'message' | 'details' | 'retryable' | 'retryAfterSeconds' | 'traceId' | 'toolCallId'
>;

/** What a call gave, for programs and as text; `_meta` names the trace that tells how it went. */
export function toCallResult(response: ToolResponse): CallToolResult {
  const { result, traceId, toolCallId, durationMs } = response;
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    ...(isObject ? { structuredContent: result as Record<string, unknown> } : {}),
    _meta: { traceId, toolCallId, durationMs },
  };
}

/**
 * What a failed call gives: text that a model can act on. A failure is no error of the protocol,
 * which would end the loop of many agents.
 */
export function toErrorResult(error: RunnerError): CallToolResult {
  const { code, retryable, traceId, toolCallId } = error;
  return {
    isError: true,
    content: [{ type: 'text', text: toErrorText(error) }],
    _meta: {
      code,
      retryable,
      ...(traceId === undefined ? {} : { traceId }),
      ...(toolCallId === undefined ? {} : { toolCallId }),
    },
  };
}

/** Code, message, what to do, and what else helps, as lines of text. */
export function toErrorText({ code, message, details, retryAfterSeconds }: RunnerError): string {
  const lines = [`Error ${code}: ${message}`, ERROR_CODES[code].action];
  if (retryAfterSeconds !== undefined) lines.push(`Try again in ${retryAfterSeconds} seconds.`);
  if (details !== undefined) lines.push(`Details: ${JSON.stringify(details)}`);
  return lines.join('\n');
}

/** The error that a runner rejected with; of one that is none of the service, nothing is told. */
export function toRunnerError(thrown: unknown): RunnerError {
  const error = Object(thrown) as Partial<RunnerError>;
  const isKnown = typeof error.code === 'string' && Object.hasOwn(ERROR_CODES, error.code);
  if (isKnown && typeof error.message === 'string') return error as RunnerError;
  const code: ErrorCode = 'INTERNAL';
  return {
    code,
    message: ERROR_CODES[code].message,
    details: undefined,
    retryable: false,
    retryAfterSeconds: undefined,
    traceId: undefined,
    toolCallId: undefined,
  };
}
