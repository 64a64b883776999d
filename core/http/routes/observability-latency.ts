import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import {
  bucketSchema,
  rangeFields,
  rangeQuery,
  relativeErrorSchema,
} from './observability-shapes.ts';
import { countSchema, nullable, strict, timeSchema } from './shapes.ts';

const querySchema = Type.Object({ ...rangeQuery, bucket: Type.Optional(bucketSchema) }, strict);

const msSchema = Type.Number({ minimum: 0 });

const latencySchema = Type.Object(
  {
    ...rangeFields,
    bucket: bucketSchema,
    relativeError: relativeErrorSchema,
    tools: Type.Array(
      Type.Object(
        {
          tool: nullable(Type.String({ description: 'null: tools that there are not.' })),
          points: Type.Array(
            Type.Object(
              { at: timeSchema, calls: countSchema, p50: msSchema, p95: msSchema, p99: msSchema },
              strict,
            ),
            { description: 'Milliseconds, of buckets with calls that were not refused.' },
          ),
        },
        strict,
      ),
    ),
  },
  strict,
);

/** How long tools took over time. */
export function observabilityLatencyRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const latency: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/latency',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read the latency over time',
    description: 'Percentiles by tool and bucket, from sketches that are merged.',
    querySchema,
    resultSchema: latencySchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.latency(query),
  };
  return [latency as RouteDefinition];
}
