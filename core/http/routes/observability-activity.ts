import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { bucketSchema, rangeFields, rangeQuery } from './observability-shapes.ts';
import { countSchema, strict, timeSchema } from './shapes.ts';

const querySchema = Type.Object({ ...rangeQuery, bucket: Type.Optional(bucketSchema) }, strict);

const activitySchema = Type.Object(
  {
    ...rangeFields,
    bucket: bucketSchema,
    points: Type.Array(
      Type.Object(
        {
          at: timeSchema,
          calls: countSchema,
          failed: countSchema,
          refused: countSchema,
          reads: countSchema,
          writes: countSchema,
          finds: countSchema,
        },
        strict,
      ),
      { description: 'One for each bucket, also for those without calls.' },
    ),
  },
  strict,
);

/** Tool calls over time. */
export function observabilityActivityRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const activity: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/activity',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read the activity over time',
    description:
      'Reads, writes, finds and errors by bucket. The bucket suits the range when it is left out; at most 2,000 points.',
    querySchema,
    resultSchema: activitySchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.activity(query),
  };
  return [activity as RouteDefinition];
}
