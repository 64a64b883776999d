import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import {
  filterText,
  listOf,
  nullable,
  pageQuery,
  sinceQuery,
  strict,
  timeSchema,
} from './shapes.ts';

const auditSchema = Type.Object(
  {
    id: Type.String(),
    at: timeSchema,
    action: Type.String({ description: 'files.write, revisions.prune, dream.config …' }),
    target: Type.String({ description: 'A physical path, a revision id, a user id, a key.' }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Counts, versions and settings: never content.',
    }),
    address: nullable(Type.String()),
    traceId: nullable(Type.String()),
  },
  strict,
);

const querySchema = Type.Object(
  { action: filterText('Only this action.'), ...sinceQuery, ...pageQuery },
  strict,
);

/** What operators changed. */
export function auditRoutes(core: Pick<Core, 'accessLog'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/audit',
    auth: 'admin',
    tag: 'Audit',
    summary: 'List changes made through the admin API',
    description:
      'Every change, newest first; each row was written in the transaction of its change.',
    querySchema,
    resultSchema: listOf(auditSchema),
    errorCodes: ['INVALID_CURSOR'],
    handle: ({ query }) => core.accessLog.audit(query),
  };
  return [list as RouteDefinition];
}
