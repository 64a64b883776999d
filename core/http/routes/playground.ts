import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { ToolRequest } from '../../contracts/tool.ts';
import type { Core } from '../../service.ts';
import { createSecretCheck } from '../middleware/secret.ts';
import { strict } from './shapes.ts';
import { argumentsSchema, contextSchema, executeResult, toolSchema } from './tools.ts';

type PlaygroundBody = { checkKey: string } | Pick<ToolRequest, 'context' | 'arguments'>;

const bodySchema = {
  type: 'object',
  // One of two bodies, chosen by the member that only one of them has, so that a fault is named
  // for the body that was meant.
  if: { type: 'object', required: ['checkKey'], properties: { checkKey: {} } },
  then: Type.Object(
    { checkKey: Type.String({ description: 'Says whether this is a valid API key.' }) },
    strict,
  ),
  else: Type.Object({ context: contextSchema, arguments: Type.Optional(argumentsSchema) }, strict),
};

const resultSchema = Type.Union([executeResult, Type.Object({ valid: Type.Boolean() }, strict)]);

const toolsResult = Type.Object({ tools: Type.Array(toolSchema) }, strict);

/** Tool calls of the Playground: the API key stays on the server. */
export function playgroundRoutes(core: Pick<Core, 'tools' | 'settings'>): RouteDefinition[] {
  const isKey = createSecretCheck(core.settings.apiKey ?? []);
  const list: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/playground',
    auth: 'admin',
    tag: 'Playground',
    summary: 'List the tools of the Playground',
    description: 'The tools as GET /v1/tools lists them, for who has the admin secret alone.',
    resultSchema: toolsResult,
    errorCodes: [],
    handle: async () => ({ tools: await core.tools.listTools() }),
  };

  const run: RouteDefinition<unknown, PlaygroundBody> = {
    method: 'POST',
    path: '/v1/admin/playground/:name',
    // The runner of the tools has it.
    deadlineMs: null,
    auth: 'admin',
    tag: 'Playground',
    summary: 'Run a tool from the Playground',
    description:
      'The body of a tool call, run with the actor playground; or { checkKey }, which says whether another API key is valid.',
    bodySchema,
    resultSchema,
    errorCodes: ['INVALID_USER_ID', 'TOOL_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'RATE_LIMITED'],
    async handle(request) {
      const { body } = request;
      if ('checkKey' in body) return { valid: isKey !== null && isKey(toLatin1(body.checkKey)) };
      const call: ToolRequest = {
        context: body.context,
        arguments: body.arguments ?? {},
        signal: request.signal,
      };
      const idempotencyKey = request.header('idempotency-key');
      if (idempotencyKey !== null) call.idempotencyKey = idempotencyKey;
      const traceparent = request.header('traceparent');
      if (traceparent !== null) call.traceparent = traceparent;
      const { result, traceId, toolCallId, durationMs, replayed } = await core.tools.executeAs(
        request.params['name'] ?? '',
        call,
        'playground',
      );
      request.setHeader('X-Request-Id', traceId);
      if (replayed === true) request.setHeader('Idempotency-Replayed', 'true');
      return { result, traceId, toolCallId, durationMs };
    },
  };
  return [list, run as RouteDefinition];
}

/** As a header would have brought it: bytes as Latin-1. */
function toLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
