import type { MemoryError } from '../../core/errors.ts';

/** JSON Schema of {@link toWireError}. */
export const ERROR_SCHEMA = {
  type: 'object',
  title: 'MemoryStoreError',
  description: 'An error in the format of the platforms.',
  properties: {
    type: { type: 'string', const: 'error' },
    error: {
      type: 'object',
      title: 'MemoryStoreErrorDetail',
      properties: {
        type: { type: 'string' },
        message: { type: 'string' },
        conflicting_path: { type: 'string' },
        conflicting_memory_id: { type: 'string' },
      },
      required: ['type', 'message'],
    },
    request_id: { type: 'string' },
  },
  required: ['type', 'error', 'request_id'],
};

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** An error in the format of the platforms. The action follows the message. */
export function toWireError(error: MemoryError, traceId: string): object {
  return {
    type: 'error',
    error: {
      type: typeOf(error),
      message: `${error.message} ${error.actionIn('tools')}`,
      ...conflictOf(error),
    },
    request_id: error.traceId ?? traceId,
  };
}

function typeOf({ code, status, details }: MemoryError): string {
  if (code === 'PATH_CONFLICT') return 'memory_path_conflict_error';
  if (code === 'VERSION_CONFLICT' && details?.['reason'] === 'content_sha256') {
    return 'memory_precondition_failed_error';
  }
  return TYPES[status] ?? 'api_error';
}

function conflictOf({ code, details }: MemoryError): object {
  if (code !== 'PATH_CONFLICT') return {};
  const { storePath = '', memoryId = '' } = details ?? {};
  return { conflicting_path: storePath, conflicting_memory_id: memoryId };
}
