import type { Knex } from 'knex';
import type { UserListing } from '../../core/contracts/records.ts';
import type { PageRequest, PageResult } from '../../core/contracts/storage.ts';
import type { Database } from './database.ts';
import { lowerAscii } from './file-list.ts';
import { checkLimit, parsePageKey, readPage } from './page.ts';
import { toInteger, toIntegerOrNull, toText } from './rows.ts';

/** The users that have files, by user id. The page key is the user id. */
export async function listUsers(
  knex: Knex,
  { dialect }: Pick<Database, 'dialect'>,
  filter: { contains?: string | null },
  page: PageRequest,
): Promise<PageResult<UserListing>> {
  const after = parsePageKey(page.after, ['string']);
  const contains = filter.contains ?? '';
  const toUserId = (scope: unknown) => toText(scope).slice(2);
  return await readPage(knex, dialect, {
    limit: checkLimit(page.limit),
    order: page.order,
    pick: { scope: 's.scope', scope_id: 's.scope_id' },
    key: ['scope'],
    after: after === null ? null : [`u:${after[0]}`],
    isOrdered: true,
    walk: () =>
      knex
        .from(knex.raw(dialect.byIndex('svc_scope', 's', 'svc_scope_scope')))
        .where('s.scope', '>=', 'u:')
        .where('s.scope', '<', 'u;'),
    complete: (query) => {
      query
        .joinRaw('cross join svc_scope s on s.scope_id = k.scope_id')
        .joinRaw('left join svc_file_stat t on t.scope_id = k.scope_id and t.file_no = 0')
        .select('s.files', 's.bytes', 's.revisions', 's.last_write_at', 't.last_read_at');
    },
    filters: [
      (query) => void query.where('s.files', '>', 0),
      (query) => {
        if (contains === '') return;
        const condition = dialect.containsText('substr(s.scope, 3)');
        query.where(knex.raw(condition, [lowerAscii(contains)]));
      },
    ],
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
