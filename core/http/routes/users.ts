import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import {
  countSchema,
  filterText,
  listOf,
  nullable,
  pageQuery,
  strict,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

const userSchema = Type.Object(
  {
    userId: userIdSchema,
    files: countSchema,
    bytes: countSchema,
    revisions: countSchema,
    lastReadAt: nullable(timeSchema),
    lastWriteAt: nullable(timeSchema),
  },
  strict,
);

const querySchema = Type.Object(
  { q: filterText('Text that the user id contains, without regard to ASCII case.'), ...pageQuery },
  strict,
);

/** The users that have memory files. */
export function usersRoutes(core: Pick<Core, 'fileLists'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/users',
    auth: 'admin',
    tag: 'Users',
    summary: 'List user scopes',
    description: 'User scopes that have memory files, by user id.',
    querySchema,
    resultSchema: listOf(userSchema),
    errorCodes: ['INVALID_CURSOR'],
    handle: ({ query }) => core.fileLists.users(query),
  };
  return [list as RouteDefinition];
}
