import type { ScopeKey, SpaceListing, SpaceRecord } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import { ownerOf, ownerSql, scopesFrom } from '../../files/paths.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { READS, SPACES } from '../schema/records.ts';
import { toText } from '../schema/rows.ts';
import { mapTable } from '../schema/table-map.ts';
import { lowerAscii } from './file-list.ts';
import { checkLimit, type Filter, parsePageKey, readPage } from './page.ts';
import { walkScopes } from './user-list.ts';

/** Lists spaces by id, which is also the page key, or the one of a scope. */
export async function listSpaces(
  connection: KnexConnection,
  { contains, scope }: { contains?: string | null; scope?: ScopeKey | null },
  page: PageRequest,
): Promise<PageResult<SpaceListing>> {
  const key = parsePageKey(page.after, ['string']);
  const filters: Filter[] = [];
  if (typeof contains === 'string' && contains !== '') {
    const condition = connection.dialect.containsText(ownerSql('s.scope'));
    filters.push((query) => void query.whereRaw(condition, [lowerAscii(contains)]));
  }
  const { from, to } = scopesFrom('spaces');
  return await readPage(connection, {
    limit: checkLimit(page.limit),
    order: page.order,
    pick: { scope: 's.scope', scope_id: 's.scope_id' },
    key: ['scope'],
    after: key === null ? null : [scopesFrom('spaces', `${key[0]}`).from],
    isOrdered: true,
    toPageKey: (row) => [ownerOf(toText(row['scope']) as ScopeKey)],
    walk: () => {
      const query = walkScopes(connection).joinRaw(
        'cross join svc_space p on p.scope_id = s.scope_id',
      );
      return typeof scope === 'string' ? query.where('s.scope', scope) : query;
    },
    bounds: (query) => void query.where('s.scope', '>=', from).where('s.scope', '<', to),
    filters,
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

const SPACE_SCOPES = mapTable<Omit<SpaceListing, Exclude<keyof SpaceRecord, 'scope'>>>(
  'svc_scope',
  { scope: 'scope-text', historyHash: { name: 'chain_head' }, ...READS, lastShownAt: 'number' },
  {
    only: ['files', 'bytes', 'revisions', 'last_write_at', 'archived_at', 'quota'],
    fixed: ['scope'],
  },
);
