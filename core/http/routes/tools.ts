import Type, { type Static } from 'typebox';
import type { RouteDefinition, RouteRequest } from '../../contracts/route.ts';
import type { ToolRequest } from '../../contracts/tool.ts';
import type { Core } from '../../service.ts';
import { refuseOtherUser } from '../signed-in.ts';
import { TOOL_FORMATS, toToolFormat } from '../tool-formats.ts';
import { strict } from './shapes.ts';

const listQuery = Type.Object(
  {
    format: Type.Optional(
      Type.Enum([...TOOL_FORMATS], { description: 'The same in the form that this API takes.' }),
    ),
  },
  strict,
);

const schemaSchema = Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema.' });

/** A tool as lists show it. */
export const toolSchema = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    description: Type.String(),
    inputSchema: schemaSchema,
    outputSchema: schemaSchema,
    requiresModel: Type.Boolean(),
    readOnly: Type.Boolean(),
    destructive: Type.Boolean({ description: 'It may replace or remove what is there.' }),
    idempotent: Type.Boolean({ description: 'Repeated, it changes nothing more.' }),
    available: Type.Boolean({ description: 'It can be used with what is configured.' }),
  },
  strict,
);

const listResult = Type.Object(
  {
    tools: Type.Array(
      Type.Union([
        toolSchema,
        Type.Record(Type.String(), Type.Unknown(), { description: 'With format.' }),
      ]),
    ),
  },
  strict,
);

/** Who a tool runs for: bound by the caller, never by a model. */
export const contextSchema = Type.Object(
  {
    userId: Type.String({
      description: 'From a trusted identity of the server: the service authenticates no end users.',
    }),
    actor: Type.Optional(
      Type.String({ description: 'Who reads or writes, 1 to 64 characters; default agent.' }),
    ),
    toolCallId: Type.Optional(
      Type.String({ description: 'The framework’s own id of this call, kept beside.' }),
    ),
    timeZone: Type.Optional(
      Type.String({
        description: 'The user’s time zone, as in Europe/Berlin; default SERVICE_TIME_ZONE.',
      }),
    ),
  },
  strict,
);

export const argumentsSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'As the tool’s inputSchema says.',
});

/** The body of a tool call. */
const executeBody = Type.Object(
  { context: contextSchema, arguments: Type.Optional(argumentsSchema) },
  strict,
);

/** The same where the app around the service says who the user is. */
const signedInBody = Type.Object(
  {
    context: Type.Optional(Type.Partial(contextSchema, strict)),
    arguments: Type.Optional(argumentsSchema),
  },
  strict,
);

/** The answer of a tool call. */
export const executeResult = Type.Object(
  {
    result: Type.Unknown({ description: 'As the tool’s outputSchema says.' }),
    traceId: Type.String(),
    toolCallId: Type.String({ description: 'The service’s own id of this call.' }),
    durationMs: Type.Number({ minimum: 0 }),
  },
  strict,
);

/** The tools over HTTP. */
export function toolsRoutes(core: Pick<Core, 'tools'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof listQuery>> = {
    method: 'GET',
    path: '/v1/tools',
    auth: 'tools',
    tag: 'Tools',
    summary: 'List the tools',
    querySchema: listQuery,
    signedIn: {},
    resultSchema: listResult,
    errorCodes: [],
    async handle({ query: { format } }) {
      const tools = await core.tools.listTools();
      if (format === undefined) return { tools };
      return { tools: tools.map((tool) => toToolFormat(tool, format)) };
    },
  };

  const execute: RouteDefinition<
    unknown,
    Static<typeof executeBody> | Static<typeof signedInBody>
  > = {
    method: 'POST',
    path: '/v1/tools/:name/execute',
    // The runner of the tools has it.
    deadlineMs: null,
    auth: 'tools',
    tag: 'Tools',
    summary: 'Run a tool',
    description:
      'traceparent joins the caller’s trace. With an Idempotency-Key, a repeat of a write within 24 hours gets the first answer, and Idempotency-Replayed: true.',
    bodySchema: executeBody,
    signedIn: { bodySchema: signedInBody },
    resultSchema: executeResult,
    errorCodes: ['INVALID_USER_ID', 'TOOL_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'RATE_LIMITED'],
    async handle(request) {
      const name = request.params['name'] ?? '';
      const { arguments: args } = request.body;
      const call: ToolRequest = { context: toContext(request), arguments: args ?? {} };
      const idempotencyKey = request.header('idempotency-key');
      if (idempotencyKey !== null) call.idempotencyKey = idempotencyKey;
      const traceparent = request.header('traceparent');
      if (traceparent !== null) call.traceparent = traceparent;
      // A signal costs more than a read. What waits for a model is worth stopping.
      if (core.tools.definitions.some((tool) => tool.requiresModel && tool.name === name)) {
        call.signal = request.signal;
      }
      const { result, traceId, toolCallId, durationMs, replayed } = await core.tools.execute(
        name,
        call,
      );
      request.setHeader('X-Request-Id', traceId);
      if (replayed === true) request.setHeader('Idempotency-Replayed', 'true');
      return { result, traceId, toolCallId, durationMs };
    },
  };

  return [list, execute] as RouteDefinition[];
}

/** Who is signed in, or who the body says: its schema is the one of the two that names a user. */
function toContext({
  userId,
  body: { context },
}: RouteRequest<unknown, Static<typeof signedInBody>>): ToolRequest['context'] {
  if (userId === null) return context as ToolRequest['context'];
  refuseOtherUser(userId, context?.userId, '/context/userId');
  return { ...context, userId };
}
