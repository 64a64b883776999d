import type { Knex } from 'knex';
import type { UserListing } from '../../../core/contracts/records.ts';
import type { PageRequest, PageResult } from '../../../core/contracts/storage.ts';
import type { KnexConnection } from '../dialects/dialect.ts';
import { lowerAscii } from './file-list.ts';
import { checkLimit, type Filter, parsePageKey, readPage } from './page.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';

/** The users that have files, by user id. The page key is the user id. */
export async function listUsers(
  connection: KnexConnection,
  filter: { contains?: string | null },
  page: PageRequest,
): Promise<PageResult<UserListing>> {
  const after = parsePageKey(page.after, ['string']);
  const toUserId = (scope: unknown) => toText(scope).slice(2);
  return await readPage(connection, {
    limit: checkLimit(page.limit),
    order: page.order,
    pick: { scope: 's.scope', scope_id: 's.scope_id' },
    key: ['scope'],
    after: after === null ? null : [`u:${after[0]}`],
    isOrdered: true,
    walk: () => walkScopes(connection),
    bounds: ofUsers,
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('left join svc_file_stat t on t.scope_id = k.scope_id and t.file_no = 0')
        .select('s.files', 's.bytes', 's.revisions', 's.last_write_at', 't.last_read_at');
    },
    filters: haveFiles(connection, filter.contains),
    toItem: (row) => ({
      userId: toUserId(row['scope']),
      files: toInteger(row['files']),
      bytes: toInteger(row['bytes']),
      revisions: toInteger(row['revisions']),
      lastReadAt: toIntegerOrNull(row['last_read_at']),
      lastWriteAt: toIntegerOrNull(row['last_write_at']),
    }),
    toPageKey: (row) => [toUserId(row['scope'])],
  });
}

/** The scopes in their order, as `s`. */
export function walkScopes(connection: KnexConnection): Knex.QueryBuilder {
  return connection.knex.from(
    connection.knex.raw(connection.dialect.byIndex('svc_scope', 's', 'svc_scope_scope')),
  );
}

/** Bounds of the users' scopes. */
export function ofUsers(query: Knex.QueryBuilder): void {
  query.where('s.scope', '>=', 'u:').where('s.scope', '<', 'u;');
}

/** Those that have files, and whose user id contains a text where one is asked for. */
export function haveFiles(
  connection: KnexConnection,
  contains: string | null | undefined,
): Filter[] {
  const filters: Filter[] = [(query) => void query.where('s.files', '>', 0)];
  if (typeof contains === 'string' && contains !== '') {
    const condition = connection.dialect.containsText('substr(s.scope, 3)');
    filters.push(
      (query) => void query.where(connection.knex.raw(condition, [lowerAscii(contains)])),
    );
  }
  return filters;
}
