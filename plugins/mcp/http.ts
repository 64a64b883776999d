import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { onlyUserOf } from '../../core/access/key-rules.ts';
import type { HostSettings } from '../../core/contracts/plugin.ts';
import type { RouteDefinition, RouteRequest } from '../../core/contracts/route.ts';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { MemoryError } from '../../core/errors.ts';
import { parseSpaceLine } from '../../core/access/spaces.ts';
import { spaceNotAllowed } from '../../core/files/paths.ts';
import { checkToolPrefix } from '../../core/schemas/tool-prefix.ts';
import { answerModern, createModernServer, isModern } from './modern.ts';
import { PostTransport } from './post-transport.ts';
import { REFUSAL_SCHEMA, toRefusal } from './protocol-error.ts';
import { importSdk, type McpSdk } from './sdk.ts';
import type { Call } from './resources.ts';
import type { McpOptions } from './options.ts';
import { createMcpServer } from './server.ts';

/** Messages of one POST; what the SDK's own transport takes. */
const MAX_MESSAGES = 100;
const SESSION_ID = /^[\x21-\x7e]{1,128}$/;

const bodySchema = {
  type: ['object', 'array'],
  items: { type: 'object' },
  minItems: 1,
  maxItems: MAX_MESSAGES,
  description: 'A message of JSON-RPC 2.0, or a list of them.',
};

/**
 * MCP over streamable HTTP. Each POST is answered as JSON by a server of its own, so any instance can
 * answer any of them. The session id that a client gets is kept nowhere: it only names the client
 * whose request a cancellation means.
 */
export function mcpRoute(
  runner: ToolRunner,
  options: McpOptions = {},
  { mcpResourceMetadata }: Pick<HostSettings, 'mcpResourceMetadata'> = {
    mcpResourceMetadata: null,
  },
): RouteDefinition {
  const running = new Map<string, PostTransport>();

  async function answer(
    sdk: McpSdk,
    request: RouteRequest,
    messages: readonly JSONRPCMessage[],
  ): Promise<readonly JSONRPCMessage[]> {
    const call = toCall(request, messages);
    const userId = call?.context.userId ?? null;
    const session = sessionOf(request);
    const work: JSONRPCMessage[] = [];
    for (const message of messages) {
      const cancelled = toCancelled(message);
      if (cancelled === null) work.push(message);
      else running.get(toKey(userId, session, cancelled))?.cancel(cancelled, 'cancelled');
    }
    if (messages.some(isInitialize)) request.setHeader('Mcp-Session-Id', randomUUID());

    const transport = new PostTransport();
    const server = createMcpServer(sdk, runner, call, toOptions(request, options));
    await server.connect(transport);
    const keys = work.filter(isRequest).map(({ id }) => toKey(userId, session, id));
    if (session !== null) for (const key of keys) running.set(key, transport);
    // Nobody is left to be answered: what waits for a model is worth stopping.
    const stop = (): void => transport.cancelAll('the client left');
    request.signal.addEventListener('abort', stop, { once: true });
    try {
      return await transport.deliver(work);
    } finally {
      request.signal.removeEventListener('abort', stop);
      for (const key of keys) if (running.get(key) === transport) running.delete(key);
      await server.close();
    }
  }

  return {
    method: 'POST',
    path: '/v1/mcp',
    // The tool runner has its own deadlines.
    deadlineMs: null,
    auth: 'tools',
    tag: 'Tools',
    summary: 'The tools over the Model Context Protocol',
    description:
      'Streamable HTTP, of the versions 2024-11-05 to 2025-11-25 and of 2026-07-28, with the user in x-user-id, which initialize, ping and tools/list do without, and a key for one user, and its spaces in x-spaces, as in acme:write, docs:read. Memory files are resources, too. A request is answered with a JSON-RPC message, also where it is refused; what asks for no answer with 202.',
    bodySchema,
    signedIn: {},
    resultSchema: { ...bodySchema, description: 'The answer, or a list of answers to a list.' },
    otherStatuses: { 202: 'None of the messages asks for an answer.' },
    errorCodes: ['INVALID_USER_ID', 'SPACE_NOT_ALLOWED'],
    errorBody: { schema: REFUSAL_SCHEMA, write: toRefusal },
    ...(mcpResourceMetadata === null
      ? {}
      : { challenge: `Bearer resource_metadata="${mcpResourceMetadata}"` }),
    async handle(request) {
      if (isModern(request.body, request.header('mcp-protocol-version'))) {
        const call = toCall(request, [request.body as JSONRPCMessage]);
        return await answerModern(request, (modern) =>
          createModernServer(modern, runner, call, toOptions(request, options)),
        );
      }
      const sdk = await importSdk();
      const messages = parseMessages(sdk, request.body);
      checkProtocolVersion(sdk, request, messages);
      const answers = await answer(sdk, request, messages);
      if (answers.length === 0) {
        request.setStatus(202);
        return undefined;
      }
      return Array.isArray(request.body) ? answers : answers[0];
    },
  };
}

/**
 * Who is signed in to the app around the service, or who `x-user-id` says, or the only user of the key;
 * nobody, for now, otherwise.
 */
function toCall(request: RouteRequest, messages: readonly JSONRPCMessage[]): Call | null {
  const { apiKey } = request;
  const userId = request.userId ?? request.header('x-user-id') ?? onlyUserOf(apiKey ?? undefined);
  if (userId === null) return null;
  const spaces = parseSpaceLine(request.header('x-spaces') ?? '');
  const [first] = spaces;
  // What someone who is signed in may use is for the app to say.
  if (request.userId !== null && first !== undefined) throw spaceNotAllowed(first.id);
  const traceparent = request.header('traceparent');
  // A key is for one request: the second of a list would be another one under the same key.
  const idempotencyKey = messages.length === 1 ? request.header('idempotency-key') : null;
  return {
    // The runner checks them, in the calls that need a user.
    context: { userId, ...(spaces.length === 0 ? {} : { spaces: [...spaces] }) },
    ...(apiKey === null ? {} : { apiKey }),
    // All messages of a list have one deadline; the runner refuses those that have not begun by then.
    arrivedAt: request.arrivedAt,
    ...(traceparent === null ? {} : { traceparent }),
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
  };
}

/** The actor and the prefix of the configuration hold; where it has none, a client may name them. */
function toOptions(request: RouteRequest, options: McpOptions): McpOptions {
  const actor = options.actor ?? request.header('x-actor');
  const toolPrefix = options.toolPrefix ?? request.header('x-tool-prefix');
  checkToolPrefix(toolPrefix ?? '');
  const { apiKey } = request;
  return {
    ...options,
    ...(apiKey === null ? {} : { apiKey }),
    ...(actor === null ? {} : { actor }),
    ...(toolPrefix === null ? {} : { toolPrefix }),
  };
}

function parseMessages(sdk: McpSdk, body: unknown): JSONRPCMessage[] {
  const given: unknown[] = Array.isArray(body) ? body : [body];
  if (given.length === 0 || given.length > MAX_MESSAGES) {
    throw invalid(`A list has 1 to ${MAX_MESSAGES} messages.`);
  }
  const messages = given.map((message, index) => {
    const { success, data } = sdk.JSONRPCMessageSchema.safeParse(message);
    if (success) return data;
    const which = Array.isArray(body) ? `/${index}` : 'The body';
    throw invalid(`${which} is no message of JSON-RPC 2.0.`);
  });
  const ids = messages.filter(isRequest).map(({ id }) => JSON.stringify(id));
  if (new Set(ids).size < ids.length) throw invalid('Two requests of a list have the same id.');
  if (messages.length > 1 && messages.some(isInitialize)) {
    throw invalid('initialize is not sent in a list.');
  }
  return messages;
}

function checkProtocolVersion(
  sdk: McpSdk,
  request: RouteRequest,
  messages: readonly JSONRPCMessage[],
): void {
  const version = request.header('mcp-protocol-version');
  // While a client asks which one it is, it knows none.
  if (version === null || messages.some(isInitialize)) return;
  const supported = sdk.SUPPORTED_PROTOCOL_VERSIONS;
  if (supported.includes(version)) return;
  throw invalid(`mcp-protocol-version must be one of ${supported.join(', ')}.`);
}

function isRequest(
  message: JSONRPCMessage,
): message is Extract<JSONRPCMessage, { method: string; id: RequestId }> {
  return 'method' in message && 'id' in message;
}

function isInitialize(message: JSONRPCMessage): boolean {
  return isRequest(message) && message.method === 'initialize';
}

/** The id of the request that a message cancels; `null` when it does something else. */
function toCancelled(message: JSONRPCMessage): RequestId | null {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return null;
  const { requestId } = (message.params ?? {}) as { requestId?: unknown };
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : '';
}

function sessionOf(request: RouteRequest): string | null {
  const id = request.header('mcp-session-id');
  return id !== null && SESSION_ID.test(id) ? id : null;
}

/** With the user, so that an id that leaked stops nobody else's work. */
function toKey(userId: string | null, session: string | null, id: RequestId): string {
  return JSON.stringify([userId, session, id]);
}

function invalid(message: string): MemoryError {
  const issues = [{ path: '', message: message.slice(0, -1) }];
  return new MemoryError('INVALID_REQUEST', message, { details: { issues } });
}
