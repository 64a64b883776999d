import type { Knex } from 'knex';
import type { ScopeKey, SpaceListing, SpaceRecord } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { READS, SPACES } from '../schema/records.ts';
import { toText } from '../schema/rows.ts';
import { mapTable } from '../schema/table-map.ts';
import { readPage, toOwnerPage } from './page.ts';
import { containIn, walkScopes } from './user-list.ts';

/** Lists spaces by id, which is also the page key, or the one of a scope. */
export async function listSpaces(
  connection: KnexConnection,
  { contains, scope }: { contains?: string | null; scope?: ScopeKey | null },
  page: PageRequest,
): Promise<PageResult<SpaceListing>> {
  return await readPage(connection, {
    ...toOwnerPage(page, 'spaces'),
    walk: () => {
      const query = walkSpaces(connection);
      return typeof scope === 'string' ? query.where('s.scope', scope) : query;
    },
    filters: containIn(connection, contains),
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('cross join svc_space p on p.scope_id = k.scope_id')
        .joinRaw('left join svc_file_stat t on t.scope_id = k.scope_id and t.file_no = 0')
        .select(
          ...SPACE_SCOPES.select('s'),
          ...SPACES.select('p'),
          't.reads',
          't.last_read_at',
          't.last_shown_at',
        );
    },
    toItem: (row) => {
      const scopeKey = toText(row['scope']) as ScopeKey;
      return { ...SPACES.toRecord(row, scopeKey), ...SPACE_SCOPES.toRecord(row) };
    },
  });
}

/** Walks the scopes of spaces that exist in order, as `s`, with their settings as `p`. */
export function walkSpaces(connection: KnexConnection): Knex.QueryBuilder {
  return walkScopes(connection).joinRaw('cross join svc_space p on p.scope_id = s.scope_id');
}

const SPACE_SCOPES = mapTable<Omit<SpaceListing, Exclude<keyof SpaceRecord, 'scope'>>>(
  'svc_scope',
  { scope: 'scope-text', historyHash: { name: 'chain_head' }, ...READS, lastShownAt: 'number' },
  {
    only: ['files', 'bytes', 'revisions', 'last_write_at', 'archived_at', 'quota'],
    fixed: ['scope'],
  },
);
