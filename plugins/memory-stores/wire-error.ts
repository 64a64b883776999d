import { type ErrorCode, findAction, type MemoryError } from '../../core/errors.ts';

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
  504: 'timeout_error',
};

/** What to do next, where our own words name fields, tools and routes that this format lacks. */
const ACTIONS: Partial<Record<ErrorCode, string>> = {
  INVALID_REQUEST: '',
  INVALID_PATH: 'Paths are refused, never repaired.',
  INVALID_CURSOR: 'Start again without page, and keep the other parameters the same between pages.',
  NOT_FOUND: '',
  READ_ONLY_SCOPE: 'Reading works as usual.',
  SPACE_NOT_FOUND: 'List the stores with GET /v1/memory_stores.',
  SPACE_NOT_ALLOWED: 'An operator can allow more with the spaces of the API key.',
  TOOL_NOT_ALLOWED: 'An operator can allow more with the tools of the API key.',
  FILE_NOT_FOUND: 'List the memories of the store.',
  REVISION_NOT_FOUND: 'List the versions of the store: old ones may have been pruned.',
  REVISION_NOT_REDACTABLE: '',
  VERSION_CONFLICT: 'Retrieve it again, and repeat the request with what it is now.',
  PATH_CONFLICT: 'Use another path, or move or delete the memory that stands in the way.',
  CONTENT_REFUSED: 'Leave it out. An operator can change what is refused.',
  WRITES_FROZEN: 'Nothing was written; reading works as usual.',
};

/** What a memory is called here, in place of a physical path. */
const IN_SPACE = /\bspaces\/[A-Za-z0-9._@|:+=~-]+\//g;

/** An error in the format of the platforms. The action follows the message. */
export function toWireError(error: MemoryError, traceId: string): object {
  return {
    type: 'error',
    error: {
      type: typeOf(error),
      message: `${error.message.replaceAll(IN_SPACE, '/')} ${actionOf(error)}`.trim(),
      ...conflictOf(error),
    },
    request_id: error.traceId ?? traceId,
  };
}

function actionOf(error: MemoryError): string {
  const action = error.actionIn('tools');
  const own = ACTIONS[error.code];
  // One for this very error says more.
  return own !== undefined && isOfTable(error.code, action) ? own : action;
}

function isOfTable(code: ErrorCode, action: string): boolean {
  return action === findAction(code) || code === 'INVALID_REQUEST';
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
