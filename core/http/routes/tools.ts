import Type, { type Static } from 'typebox';
import { isKeyTool } from '../../access/key-rules.ts';
import type { RouteDefinition, RouteRequest } from '../../contracts/route.ts';
import type { ToolRequest, ToolResponse } from '../../contracts/tool.ts';
import { invalidField } from '../../errors.ts';
import { defineRoute } from '../../schemas/define-route.ts';
import { flag, nullable, strict, strictObject } from '../../schemas/shapes.ts';
import { ListedTool, ToolAnswer, ToolContext } from '../../schemas/tools.ts';
import type { Core } from '../../service.ts';
import { refuseOtherUser, refuseSpaces } from '../signed-in.ts';
import { hasStrictMode, TOOL_FORMATS, toToolFormat } from '../tool-formats.ts';

const ListQuery = strictObject({
  format: Type.Optional(
    Type.Enum([...TOOL_FORMATS], {
      description: 'The tools that can be used, in the form that this API takes.',
    }),
  ),
  strict: flag('With format openai or openai-responses: the form of OpenAI’s strict mode.'),
});

const ToolList = strictObject({
  tools: Type.Array(
    Type.Union([
      ListedTool,
      Type.Record(Type.String(), Type.Unknown(), { description: 'With format.' }),
    ]),
  ),
});

const toolArguments = Type.Optional(
  nullable(Type.Record(Type.String(), Type.Unknown()), {
    description: 'As the tool’s inputSchema says.',
  }),
);

/** The body of a tool call. */
export const ExecuteBody = strictObject({ context: ToolContext, arguments: toolArguments });
export type ExecuteBody = Static<typeof ExecuteBody>;

/** The body for mounts where the surrounding app knows the user. */
const SignedInBody = strictObject({
  context: Type.Optional(Type.Partial(ToolContext, strict)),
  arguments: toolArguments,
});
type SignedInBody = Static<typeof SignedInBody>;

/** The tools over HTTP. */
export function toolsRoutes(core: Pick<Core, 'tools'>): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tools',
      auth: 'tools',
      tag: 'Tools',
      tagDescription: 'What agents call to read, write and search the memory of one user.',
      summary: 'List the tools',
      description:
        'With their schemas, also those that lack a model (available: false). With a named key, those that it is for.',
      querySchema: ListQuery,
      signedIn: {},
      resultSchema: ToolList,
      async handle({ query: { format, strict: isStrict }, apiKey }) {
        if (isStrict !== undefined && !hasStrictMode(format)) {
          throw invalidField('/strict', 'needs format=openai or format=openai-responses');
        }
        const all = await core.tools.listTools();
        const tools = all.filter((tool) => isKeyTool(apiKey ?? undefined, tool));
        if (format === undefined) return { tools };
        const usable = tools.filter(({ available }) => available);
        return { tools: usable.map((tool) => toToolFormat(tool, format, { strict: isStrict })) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tools/:name/execute',
      // The tool runner has its own deadline.
      deadlineMs: null,
      auth: 'tools',
      tag: 'Tools',
      summary: 'Run a tool',
      description:
        'traceparent joins the caller’s trace. With an Idempotency-Key, a repeat of a write within 24 hours gets the first answer, and Idempotency-Replayed: true.',
      bodySchema: ExecuteBody,
      signedIn: { bodySchema: SignedInBody },
      resultSchema: ToolAnswer,
      errorCodes: [
        'INVALID_USER_ID',
        'USER_NOT_ALLOWED',
        'TOOL_NOT_ALLOWED',
        'SPACE_NOT_ALLOWED',
        'TOOL_NOT_FOUND',
        'IDEMPOTENCY_KEY_REUSED',
        'RATE_LIMITED',
      ],
      handle: (request) =>
        runTool(request, { ...request.body, context: toContext(request) }, (name, call) => {
          // An abort signal costs more than a read, so only calls that may wait for a model get
          // one.
          const isSlow = core.tools.definitions.some(
            (tool) => tool.requiresModel && tool.name === name,
          );
          return core.tools.execute(name, isSlow ? { ...call, signal: request.signal } : call);
        }),
    }),
  ];
}

/** Runs the tool that a request names and returns its result. */
export async function runTool(
  request: RouteRequest,
  { context, arguments: args }: ExecuteBody,
  run: (name: string, call: ToolRequest) => Promise<ToolResponse>,
): Promise<ToolAnswer> {
  const idempotencyKey = request.header('idempotency-key');
  const traceparent = request.header('traceparent');
  const { result, traceId, toolCallId, durationMs, replayed } = await run(
    request.params['name'] ?? '',
    {
      context,
      arguments: args ?? {},
      arrivedAt: request.arrivedAt,
      ...(request.apiKey === null ? {} : { apiKey: request.apiKey }),
      ...(idempotencyKey === null ? {} : { idempotencyKey }),
      ...(traceparent === null ? {} : { traceparent }),
    },
  );
  request.setHeader('X-Request-Id', traceId);
  if (replayed === true) request.setHeader('Idempotency-Replayed', 'true');
  return { result, traceId, toolCallId, durationMs };
}

/** The user comes from the sign-in, or from the body if its schema has one. */
function toContext({
  userId,
  body: { context },
}: RouteRequest<unknown, SignedInBody>): ToolRequest['context'] {
  if (userId === null) return context as ToolRequest['context'];
  refuseOtherUser(userId, context?.userId, '/context/userId');
  refuseSpaces(context?.spaces);
  return { ...context, userId };
}
