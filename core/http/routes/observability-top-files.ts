import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { countedFields, countedQuery } from './observability-shapes.ts';
import {
  countSchema,
  nullable,
  physicalPathSchema,
  strict,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

const querySchema = Type.Object(
  {
    ...countedQuery,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 500, description: 'Files; default 20.' }),
    ),
  },
  strict,
);

const topFilesSchema = Type.Object(
  {
    ...countedFields,
    items: Type.Array(
      Type.Object(
        {
          path: physicalPathSchema,
          userId: nullable(userIdSchema),
          accesses: countSchema,
          reads: countSchema,
          writes: countSchema,
          finds: Type.Integer({ minimum: 0, description: 'How often a search returned it.' }),
          lastAt: timeSchema,
        },
        strict,
      ),
    ),
  },
  strict,
);

/** The files that were touched most. */
export function observabilityTopFilesRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const topFiles: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/top-files',
    auth: 'admin',
    tag: 'Observability',
    summary: 'List the most accessed files',
    description:
      'By the accesses that went well, under the path that the file had then; without since, of the last 24 hours.',
    querySchema,
    resultSchema: topFilesSchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.topFiles(query),
  };
  return [topFiles as RouteDefinition];
}
