import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { countedFields, countedQuery } from './observability-shapes.ts';
import { countSchema, strict } from './shapes.ts';

const querySchema = Type.Object(countedQuery, strict);

const topologySchema = Type.Object(
  {
    ...countedFields,
    nodes: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'The kind and the name: tool:memory_read.' }),
          kind: Type.Enum(['scope', 'actor', 'tool', 'file']),
          label: Type.String({
            description: 'users/<userId>, shared, or a name or physical path.',
          }),
          weight: countSchema,
        },
        strict,
      ),
    ),
    edges: Type.Array(
      Type.Object({ from: Type.String(), to: Type.String(), weight: countSchema }, strict),
      { description: 'From scopes to actors, from actors to tools, from tools to files.' },
    ),
    omitted: Type.Integer({
      minimum: 0,
      description: 'Nodes that were left out, the least used ones.',
    }),
  },
  strict,
);

/** Who touches what, by which tool. */
export function observabilityTopologyRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const topology: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/topology',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Read the topology of memory',
    description: 'Scopes, actors, tools and files, and how many accesses lie between them.',
    querySchema,
    resultSchema: topologySchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.topology(query),
  };
  return [topology as RouteDefinition];
}
