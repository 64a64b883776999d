import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../core.ts';
import { rangeQuery } from './observability-shapes.ts';
import { filterText, listOf, pageQuery, strict } from './shapes.ts';
import { eventFields, eventSchema } from './traces.ts';

const querySchema = Type.Object(
  {
    ...rangeQuery,
    kind: Type.Optional(Type.Enum(['tool', 'dream.run'])),
    status: Type.Optional(Type.Enum(['ok', 'error'])),
    actor: filterText('Who called.'),
    errorCode: filterText('Failed with this code.'),
    spans: Type.Optional(Type.Boolean({ description: 'Each with its spans; default false.' })),
    ...pageQuery,
  },
  strict,
);

const listedEventSchema = Type.Object(
  { ...eventFields, spans: Type.Optional(Type.Array(eventSchema)) },
  strict,
);

/** Observation events. */
export function observabilityEventsRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/events',
    auth: 'admin',
    tag: 'Observability',
    summary: 'List observation events',
    description:
      'Tool calls and dream runs, newest first, by the time at which they ended. They hold no content.',
    querySchema,
    resultSchema: listOf(listedEventSchema),
    errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.observability.events(query),
  };
  return [list as RouteDefinition];
}
