import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { accessSchema } from './access-logs.ts';
import { rangeQuery } from './observability-shapes.ts';
import { revisionSchema } from './revisions.ts';
import { nullable, pageQuery, strict } from './shapes.ts';

const querySchema = Type.Object(
  {
    revisionId: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The revision that made the content.',
    }),
    ...rangeQuery,
    ...pageQuery,
  },
  strict,
);

const influenceSchema = Type.Object(
  {
    revision: nullable(revisionSchema),
    items: Type.Array(accessSchema, {
      description: 'Reads, contexts and finds that were given this content.',
    }),
    nextCursor: nullable(Type.String({ description: 'null at the end of the list.' })),
  },
  strict,
);

/** Who was shown a content. */
export function observabilityInfluenceRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const influence: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/influence',
    auth: 'admin',
    tag: 'Observability',
    summary: 'List who read a content',
    description:
      'Which tool calls were shown what a revision made, newest first; also of a revision that is pruned (revision is null then).',
    querySchema,
    resultSchema: influenceSchema,
    errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.observability.influence(query),
  };
  return [influence as RouteDefinition];
}
