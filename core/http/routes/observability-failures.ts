import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { rangeQuery } from './observability-shapes.ts';
import { listOf, pageQuery, strict } from './shapes.ts';
import { eventFields } from './traces.ts';

const reasonSchema = Type.Enum(['failed', 'refused', 'slow']);

const querySchema = Type.Object(
  { ...rangeQuery, reason: Type.Optional(reasonSchema), ...pageQuery },
  strict,
);

const failureSchema = Type.Object({ ...eventFields, reasons: Type.Array(reasonSchema) }, strict);

/** Calls that failed or were slow. */
export function observabilityFailuresRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const failures: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/failures',
    auth: 'admin',
    tag: 'Observability',
    summary: 'List failed and slow calls',
    description:
      'Newest first. Slow is what took SERVICE_SLOW_CALL_MS or longer. Refused input is listed with reason=refused alone.',
    querySchema,
    resultSchema: listOf(failureSchema),
    errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.observability.failures(query),
  };
  return [failures as RouteDefinition];
}
