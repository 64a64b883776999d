import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
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

const streamQuery = Type.Object(rangeQuery, strict);

/** Observation events, as a list and live. */
export function observabilityEventsRoutes(
  core: Pick<Core, 'observability' | 'eventStreams'>,
): RouteDefinition[] {
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
  const stream: RouteDefinition<Static<typeof streamQuery>> = {
    method: 'GET',
    path: '/v1/admin/observability/events/stream',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Watch observation events',
    description:
      'Server-sent events, of all instances: id is the event’s, data the event with its spans as JSON. With Last-Event-ID, or since, first what was recorded from there on, also after a restart. A watcher that does not keep up is cut off. Read it with fetch: the secret is a header.',
    querySchema: streamQuery,
    resultSchema: null,
    contentType: 'text/event-stream; charset=utf-8',
    errorCodes: ['INVALID_USER_ID', 'RATE_LIMITED', 'SHUTTING_DOWN'],
    handle(request) {
      // A proxy that collects answers would hold events back.
      request.setHeader('X-Accel-Buffering', 'no');
      return core.eventStreams.open({
        ...request.query,
        lastEventId: request.header('last-event-id'),
      });
    },
  };
  return [list, stream] as RouteDefinition[];
}
