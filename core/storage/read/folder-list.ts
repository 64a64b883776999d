import type { Knex } from 'knex';
import type { FileListing, FolderListing, ScopeKey } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import type { Row } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { checkLimit, parsePageKey } from './page.ts';
import { inScopeRange } from './file-list.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { hasScope } from './revision-list.ts';
import { FILE_LISTINGS, FILES } from '../schema/records.ts';
import { homeOf, ownerOf, scopesFrom, toPrefixRange } from '../../files/paths.ts';

type Entry = { folder: FolderListing } | { file: FileListing };

/**
 * Lists the entries directly below a physical folder, sorted by their text, where a folder ends in
 * `/`. The page key is that text, relative to the folder.
 */
export async function listFolder(
  connection: KnexConnection,
  folder: string,
  page: PageRequest,
): Promise<PageResult<Entry>> {
  checkLimit(page.limit);
  const after = parsePageKey(page.after, ['string'])?.[0] as string | undefined;
  if (folder === '') return await listRoots(connection, page, after ?? null);
  if (folder === 'users/' || folder === 'spaces/') {
    const owners = folder === 'users/' ? 'users' : 'spaces';
    return await listOwnerFolders(connection, owners, { ...page, afterName: after ?? null });
  }
  const range = toPrefixRange(folder);
  if (!folder.endsWith('/') || range.kind !== 'scope') return { items: [], next: null };
  if (!(await hasScope(connection, range.scope))) return { items: [], next: null };

  const scopeId = toScopeId(range.scope);
  const { sql, parameters } = connection.dialect.folderEntries({
    scopeId,
    folder: range.pathPrefix,
    after: after ?? null,
    order: page.order,
    limit: page.limit + 1,
  });
  const rows = await connection.all(sql, parameters);
  const entries = rows
    .map((row) => ({ name: toText(row['entry']), row }))
    .sort((left, right) => Buffer.compare(Buffer.from(left.name), Buffer.from(right.name)));
  if (page.order === 'desc') entries.reverse();
  const shown = entries.slice(0, page.limit);

  const paths = shown
    .filter(({ name }) => !name.endsWith('/'))
    .map(({ name }) => range.pathPrefix + name);
  const files = await readListings(connection, range.scope, paths);
  const items: Entry[] = [];
  for (const { name, row } of shown) {
    if (name.endsWith('/')) {
      items.push({ folder: toFolder(folder + name, row) });
      continue;
    }
    const file = files.get(range.pathPrefix + name);
    // The file may have been deleted between the two queries.
    if (file !== undefined) items.push({ file });
  }
  const last = shown.at(-1);
  return { items, next: entries.length > page.limit && last !== undefined ? [last.name] : null };
}

async function listRoots(
  connection: KnexConnection,
  page: PageRequest,
  after: string | null,
): Promise<PageResult<Entry>> {
  const folders: FolderListing[] = [];
  for (const name of ['shared/', 'spaces/', 'users/']) {
    const inRoot = (query: Knex.QueryBuilder) => inScopeRange(query, toPrefixRange(name));
    const sums = (await inRoot(connection.knex('svc_scope as s'))
      .sum({ files: 's.files', bytes: 's.bytes' })
      .max({ updated_at: 's.last_write_at' })
      .first()) as Row | undefined;
    if ((toIntegerOrNull(sums?.['files']) ?? 0) > 0) folders.push(toFolder(name, sums as Row));
  }
  if (page.order === 'desc') folders.reverse();
  const rest = folders.filter(({ path }) =>
    after === null ? true : page.order === 'asc' ? path > after : path < after,
  );
  const shown = rest.slice(0, page.limit);
  return {
    items: shown.map((folder) => ({ folder })),
    next: rest.length > shown.length ? [shown.at(-1)?.path ?? ''] : null,
  };
}

/** Lists the folders of all users, or of all spaces. */
async function listOwnerFolders(
  connection: KnexConnection,
  owners: Parameters<typeof scopesFrom>[0],
  page: PageRequest & { afterName: string | null },
): Promise<PageResult<Entry>> {
  const query = connection.knex('svc_scope as s').where('s.files', '>', 0);
  // The page's bound comes first: of two bounds on one side, SQLite seeks to the first and tests
  // the second.
  if (page.afterName !== null) {
    const last = scopesFrom(owners, page.afterName.replace(/\/$/, '')).from;
    query.where('s.scope', page.order === 'asc' ? '>' : '<', last);
  }
  const { from, to } = scopesFrom(owners);
  query.where('s.scope', '>=', from).where('s.scope', '<', to);
  const newest = connection
    .knex('svc_file as f')
    .whereRaw('f.scope_id = s.scope_id')
    .whereNull('f.deleted_at')
    .max('f.updated_at')
    .as('updated_at');
  const rows = (await query
    .orderBy('s.scope', page.order)
    .limit(page.limit + 1)
    .select('s.scope', 's.files', 's.bytes', newest)) as Row[];
  const shown = rows.slice(0, page.limit);
  const scopeOf = (row: Row) => toText(row['scope']) as ScopeKey;
  const last = shown.at(-1);
  return {
    items: shown.map((row) => ({ folder: toFolder(homeOf(scopeOf(row)), row) })),
    next: rows.length > page.limit && last !== undefined ? [`${ownerOf(scopeOf(last))}/`] : null,
  };
}

async function readListings(
  connection: KnexConnection,
  scope: ScopeKey,
  paths: readonly string[],
): Promise<Map<string, FileListing>> {
  const files = new Map<string, FileListing>();
  if (paths.length === 0) return files;
  const rows = (await connection
    .knex('svc_file as f')
    .leftJoin('svc_file_stat as t', (join) =>
      join.on('t.scope_id', 'f.scope_id').andOn('t.file_no', 'f.file_no'),
    )
    .where('f.scope_id', toScopeId(scope))
    .whereIn('f.path', paths)
    .whereNull('f.deleted_at')
    .select(...FILES.select('f'), 't.reads', 't.last_read_at')) as Row[];
  for (const row of rows) {
    const file = FILE_LISTINGS.toRecord(row, scope);
    files.set(file.path, file);
  }
  return files;
}

function toFolder(path: string, row: Row): FolderListing {
  return {
    path,
    files: toInteger(row['files']),
    bytes: toInteger(row['bytes']),
    updatedAt: toIntegerOrNull(row['updated_at']) ?? 0,
  };
}
