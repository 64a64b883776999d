import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { accessSchema } from './access-logs.ts';
import { revisionSchema } from './revisions.ts';
import { nullable, strict, timeSchema, userIdSchema } from './shapes.ts';

/** The fields of an observation event. */
export const eventFields = {
  id: Type.String(),
  traceId: Type.String(),
  spanId: Type.String(),
  parentSpanId: nullable(Type.String()),
  toolCallId: Type.String(),
  callerToolCallId: nullable(Type.String({ description: 'The framework’s own id of the call.' })),
  kind: Type.Enum([
    'tool',
    'db.read',
    'db.write',
    'search.bm25',
    'search.vector',
    'search.hybrid',
    'embedding',
    'llm',
    'revision.write',
    'access_log.write',
    'dream.run',
    'dream.check',
  ]),
  name: Type.String(),
  userId: nullable(userIdSchema),
  tool: nullable(Type.String()),
  actor: Type.String(),
  status: Type.Enum(['ok', 'error']),
  errorCode: nullable(Type.String()),
  startedAt: timeSchema,
  durationMs: Type.Number({ minimum: 0 }),
  attributes: Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
    {
      description:
        'Counts, sizes, versions, model names, and in reason why a provider failed: never content.',
    },
  ),
};

/** An observation event: the root of a call, or a span of it. */
export const eventSchema = Type.Object(eventFields, strict);

const toolCallSchema = Type.Object(
  {
    traceId: Type.String(),
    toolCallId: Type.String(),
    root: eventSchema,
    spans: Type.Array(eventSchema),
    accesses: Type.Array(accessSchema, { description: 'Files read, listed, found and written.' }),
    revisions: Type.Array(revisionSchema, { description: 'Revisions written.' }),
  },
  strict,
);

const traceSchema = Type.Object(
  { traceId: Type.String(), calls: Type.Array(toolCallSchema) },
  strict,
);

/** Single traces and tool calls. */
export function tracesRoutes(core: Pick<Core, 'traces'>): RouteDefinition[] {
  const trace: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/observability/traces/:traceId',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read a trace',
    description: 'Its tool calls, oldest first: a caller’s own trace may hold several.',
    resultSchema: traceSchema,
    errorCodes: ['TRACE_NOT_FOUND'],
    handle: ({ params }) => core.traces.trace(params['traceId'] ?? ''),
  };
  const toolCall: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/observability/tool-calls/:toolCallId',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read a tool call',
    description: 'The root event, its spans, and the files it read and wrote.',
    resultSchema: toolCallSchema,
    errorCodes: ['TRACE_NOT_FOUND'],
    handle: ({ params }) => core.traces.toolCall(params['toolCallId'] ?? ''),
  };
  return [trace, toolCall];
}
