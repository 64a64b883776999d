import type { RunFilter, RunListing, RunUser } from '../../contracts/runs.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import type { Row } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import {
  isRunOf,
  joinRunUsers,
  RUN_LISTINGS,
  runUserColumns,
  runUsersOf,
  toRunUser,
} from './run-rows.ts';
import { checkLimit, matches, readPage, toIdPage, toOwnerPage, walkIndex } from '../read/page.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { walkSpaces } from '../read/space-list.ts';
import { containIn, haveFiles, walkScopes } from '../read/user-list.ts';
import { labelOf, scopesFrom } from '../../files/paths.ts';

/** Users and spaces with qualifying writes newer than their watermark, by scope. */
export async function listChangedUsers(
  connection: KnexConnection,
  plugin: string,
  { after, limit }: { after: ScopeKey | null; limit: number },
): Promise<readonly RunUser[]> {
  const users = runUsersOf(plugin);
  const [spaces, persons] = [scopesFrom('spaces'), scopesFrom('users')];
  const rows = (await connection
    .knex('svc_scope as s')
    .joinRaw(joinRunUsers(users), users.parameters)
    .where('s.scope', after === null ? '>=' : '>', after ?? spaces.from)
    .where('s.scope', '<', persons.to)
    .where((own) => {
      own.where('s.scope', '>=', persons.from).orWhere('p.dream', 1);
    })
    .whereNotNull('s.last_qualifying_at')
    .where((unseen) => {
      unseen
        .whereNull('d.watermark')
        .orWhere('s.last_qualifying_at', '>', connection.knex.ref('d.watermark'));
    })
    .orderBy('s.scope')
    .limit(checkLimit(limit))
    .select([...runUserColumns(users)])) as Row[];
  return rows.map((row) => toRunUser(users, row));
}

/** Users that have files, or all spaces, by id, with what a plugin keeps of them. */
export async function listRunUsers(
  connection: KnexConnection,
  plugin: string,
  {
    of: owners,
    contains,
    page,
  }: { of: 'users' | 'spaces'; contains: string | null; page: PageRequest },
): Promise<PageResult<RunUser>> {
  const users = runUsersOf(plugin);
  const isSpaces = owners === 'spaces';
  return await readPage(connection, {
    ...toOwnerPage(page, owners),
    walk: () => (isSpaces ? walkSpaces(connection) : walkScopes(connection)),
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw(joinRunUsers(users), users.parameters)
        .clearSelect()
        .select('k.scope_id', ...runUserColumns(users));
    },
    filters: [...(isSpaces ? [] : haveFiles()), ...containIn(connection, contains)],
    toItem: (row) => toRunUser(users, row),
  });
}

/**
 * Runs by id: those of one user along its own key, those that have not ended, and those with
 * operations that wait, along their indexes.
 */
export async function listRuns(
  connection: KnexConnection,
  plugin: string,
  { filter, page }: { filter: RunFilter; page: PageRequest },
): Promise<PageResult<RunListing>> {
  const own = isRunOf(plugin);
  const scope = filter.scope ?? null;
  const { state = null, outcome = null, isOpen = false, isWaiting = false } = filter;
  const { hasWritten = false, since = null, until = null } = filter;
  return await readPage(connection, {
    ...toIdPage(page),
    pick: { scope_id: 'h.scope_id', id: 'h.id' },
    walk: () => {
      const index =
        scope !== null
          ? null
          : isOpen
            ? 'svc_dream_history_open'
            : isWaiting
              ? 'svc_dream_history_waiting'
              : 'svc_dream_history_id';
      const query = walkIndex(connection, 'svc_dream_history', { as: 'h', index });
      if (scope !== null) query.where('h.scope_id', toScopeId(scope));
      else if (isOpen) query.whereNull('h.ended_at');
      else if (isWaiting) query.where('h.is_waiting', 1);
      return query;
    },
    complete: (query) => {
      query
        .joinRaw('cross join svc_dream_history h on h.scope_id = k.scope_id and h.id = k.id')
        .clearSelect()
        .select(RUN_LISTINGS.select('h'));
    },
    filters: [
      ...matches({
        'h.user_id': scope === null ? undefined : labelOf(scope),
        'h.state': state,
        'h.outcome': outcome,
      }),
      (query) => {
        query.whereRaw(own.sql, own.parameters);
        if (hasWritten) query.where('h.writes', '>', 0);
        if (since !== null) query.where('h.created_at', '>=', since);
        if (until !== null) query.where('h.created_at', '<', until);
        if (isOpen) query.whereNull('h.ended_at');
        if (isWaiting) query.where('h.is_waiting', 1);
      },
    ],
    toItem: (row) => RUN_LISTINGS.toRecord(row),
  });
}
