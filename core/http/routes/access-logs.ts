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
  userIdSchema,
} from './shapes.ts';

const actionSchema = Type.Enum(['read', 'write', 'list', 'find', 'context']);
const outcomeSchema = Type.Enum(['ok', 'denied', 'not_found', 'error']);

/** An access row as lists and traces show it. */
export const accessSchema = Type.Object(
  {
    id: Type.String(),
    at: timeSchema,
    userId: nullable(userIdSchema),
    path: Type.String({ description: 'Physical; the prefix for a listing.' }),
    actor: Type.String(),
    tool: nullable(Type.String()),
    action: actionSchema,
    toolCallId: nullable(Type.String()),
    traceId: nullable(Type.String()),
    runId: nullable(Type.String({ description: 'The dream run that it was done in.' })),
    revisionId: nullable(
      Type.String({ description: 'The revision written, or the one whose content was read.' }),
    ),
    rank: nullable(Type.Integer({ minimum: 1, description: 'Place in a search result.' })),
    outcome: outcomeSchema,
  },
  strict,
);

const querySchema = Type.Object(
  {
    path: filterText('Accesses of this physical path.'),
    prefix: filterText('Text that the physical path starts with.'),
    userId: filterText('Accesses of this user’s memory.'),
    actor: filterText('Who read or wrote.'),
    tool: filterText('By this tool.'),
    action: Type.Optional(actionSchema),
    outcome: Type.Optional(outcomeSchema),
    traceId: filterText('In this trace.'),
    runId: filterText('Done in this dream run.'),
    toolCallId: filterText('By this tool call.'),
    revisionId: filterText('That wrote or read this revision.'),
    ...sinceQuery,
    ...pageQuery,
  },
  strict,
);

/** Which files agents touched. */
export function accessLogsRoutes(core: Pick<Core, 'accessLog'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/access-logs',
    auth: 'admin',
    tag: 'Access logs',
    summary: 'List access rows',
    description: 'Which files agents touched, newest first.',
    querySchema,
    resultSchema: listOf(accessSchema),
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.accessLog.list(query),
  };
  return [list as RouteDefinition];
}
