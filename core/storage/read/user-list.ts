import type { Knex } from 'knex';
import type { ScopeKey, UserListing } from '../../contracts/records.ts';
import type { FileStore, PageRequest, PageResult } from '../../contracts/storage.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { type Filter, readPage, toOwnerPage, walkIndex, containsText } from './page.ts';
import { READS } from '../schema/records.ts';
import { toText } from '../schema/rows.ts';
import { mapTable } from '../schema/table-map.ts';
import { ownerOf, ownerSql } from '../../files/paths.ts';

/** Lists the users with files, by user id, which is also the page key. */
export async function listUsers(
  connection: KnexConnection,
  filter: Parameters<FileStore['listUsers']>[0],
  page: PageRequest,
): Promise<PageResult<UserListing>> {
  const { contains, notShownSince = null, existsSince = null } = filter;
  return await readPage(connection, {
    ...toOwnerPage(page, 'users'),
    walk: () => walkScopes(connection),
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('left join svc_file_stat t on t.scope_id = k.scope_id and t.file_no = 0')
        .select(...USERS.select('s'), 't.reads', 't.last_read_at', 't.last_shown_at');
    },
    filters: [
      ...haveFiles(),
      ...containIn(connection, contains),
      ...(notShownSince === null ? [] : [wereNotShown(notShownSince)]),
      ...(existsSince === null ? [] : [existed(existsSince)]),
    ],
    toItem: (row) => USERS.toRecord(row),
  });
}

/** Limits a query to scopes of which no agent was shown anything since a time. */
function wereNotShown(since: number): Filter {
  const shown =
    'select 1 from svc_file_stat t' +
    ' where t.scope_id = s.scope_id and t.file_no = 0 and t.last_shown_at >= ?';
  return (query) => void query.whereRaw(`not exists (${shown})`, [since]);
}

/** Limits a query to scopes with a file from before a time. */
function existed(before: number): Filter {
  const old =
    'select 1 from svc_file f' +
    ' where f.scope_id = s.scope_id and f.deleted_at is null and f.created_at < ?';
  return (query) => void query.whereRaw(`exists (${old})`, [before]);
}

const USERS = mapTable<UserListing>(
  'svc_scope',
  {
    userId: { name: 'scope', fromCell: (cell) => ownerOf(toText(cell) as ScopeKey) },
    historyHash: { name: 'chain_head' },
    ...READS,
    lastShownAt: 'number',
  },
  { only: ['files', 'bytes', 'revisions', 'last_write_at'] },
);

/** Walks the scopes in order, as `s`. */
export function walkScopes(connection: KnexConnection): Knex.QueryBuilder {
  return walkIndex(connection, 'svc_scope', { as: 's', index: 'svc_scope_scope' });
}

/** Limits a query to scopes with files. */
export function haveFiles(): Filter[] {
  return [(query) => void query.where('s.files', '>', 0)];
}

/** Limits a query to ids that contain a text, if there is one. */
export function containIn(connection: KnexConnection, text: string | null | undefined): Filter[] {
  return containsText(connection, ownerSql('s.scope'), text);
}
