import type { RunnerError } from './tool-result.ts';

/** Codes of JSON-RPC 2.0 and MCP. They are here, because the SDK may not be installed. */
const CODES = {
  invalidRequest: -32_600,
  invalidParams: -32_602,
  internalError: -32_603,
  /** `RESOURCE_NOT_FOUND` of the specification; the SDK has no name for it. */
  resourceNotFound: -32_002,
  /** Of this server: refused for another reason than the request's form; `data.code` says which. */
  refused: -32_010,
} as const;

/** The `error` of a JSON-RPC answer. */
interface ProtocolError {
  code: number;
  message: string;
  data: Record<string, unknown>;
}

/** The error of a method of the protocol, with the service's own code and advice as `data`. */
export function toProtocolError(error: RunnerError): ProtocolError {
  const { code, message, details, retryable, retryAfterSeconds, action } = error;
  return {
    code: toCode(error),
    message,
    data: {
      code,
      retryable,
      ...(action === undefined ? {} : { action }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(details === undefined ? {} : { details }),
    },
  };
}

/** The answer to a request that was refused before one of its messages was read. */
export function toRefusal(error: RunnerError, traceId: string): object {
  const { code, message, data } = toProtocolError(error);
  return {
    jsonrpc: '2.0',
    // The request's own id may not have arrived.
    id: null,
    error: {
      code: code === CODES.invalidParams ? CODES.invalidRequest : code,
      message,
      data: { ...data, traceId },
    },
  };
}

/** JSON Schema of {@link toRefusal}. */
export const REFUSAL_SCHEMA = {
  type: 'object',
  title: 'JsonRpcError',
  description: 'An error of JSON-RPC 2.0; data.code is the code of the service.',
  properties: {
    jsonrpc: { type: 'string', const: '2.0' },
    id: { type: 'null' },
    error: {
      type: 'object',
      title: 'JsonRpcErrorDetail',
      properties: {
        code: { type: 'integer' },
        message: { type: 'string' },
        data: { type: 'object' },
      },
      required: ['code', 'message', 'data'],
    },
  },
  required: ['jsonrpc', 'id', 'error'],
};

function toCode({ code, status }: RunnerError): number {
  if (code === 'FILE_NOT_FOUND') return CODES.resourceNotFound;
  if (status === 400) return CODES.invalidParams;
  return status < 500 ? CODES.refused : CODES.internalError;
}
