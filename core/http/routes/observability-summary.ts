import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { rangeFields, rangeQuery, relativeErrorSchema } from './observability-shapes.ts';
import { countSchema, nullable, strict } from './shapes.ts';

const querySchema = Type.Object(rangeQuery, strict);

const msSchema = nullable(Type.Number({ minimum: 0 }));

const summarySchema = Type.Object(
  {
    ...rangeFields,
    calls: countSchema,
    failed: Type.Integer({
      minimum: 0,
      description: '5xx, and what models, embeddings and storage failed with.',
    }),
    refused: Type.Integer({ minimum: 0, description: '4xx: input that was not accepted.' }),
    errorRate: Type.Number({ minimum: 0, maximum: 1, description: 'failed / calls' }),
    latency: Type.Object(
      { p50: msSchema, p95: msSchema, p99: msSchema, relativeError: relativeErrorSchema },
      { ...strict, description: 'Milliseconds, of the calls that were not refused.' },
    ),
    activeScopes: Type.Integer({ minimum: 0, description: 'Users with calls.' }),
    reads: Type.Integer({ minimum: 0, description: 'Calls of memory_read and memory_context.' }),
    writes: Type.Integer({ minimum: 0, description: 'Calls of the tools that write.' }),
    finds: Type.Integer({ minimum: 0, description: 'Calls of memory_find.' }),
    readWriteRatio: nullable(Type.Number({ minimum: 0, description: 'null without writes.' })),
    sla: Type.Object(
      {
        state: Type.Enum(['ok', 'watch', 'breached']),
        reason: Type.String(),
        limits: Type.Object(
          {
            p95Ms: Type.Number(),
            errorRate: Type.Number(),
            slowCallMs: Type.Number({
              description: 'A call that takes as long is listed as slow.',
            }),
          },
          strict,
        ),
      },
      strict,
    ),
  },
  strict,
);

/** The figures at the top of the dashboard. */
export function observabilitySummaryRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const summary: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/summary',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read the summary of tool calls',
    description:
      'Without since, of the last 24 hours, from the beginning of an hour. A call counts at the time of its end.',
    querySchema,
    resultSchema: summarySchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.summary(query),
  };
  return [summary as RouteDefinition];
}
