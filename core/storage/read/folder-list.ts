import type { FileListing, FolderListing, ScopeKey } from '../../contracts/records.ts';
import type { PageRequest, PageResult } from '../../contracts/storage.ts';
import type { Row } from '../dialect.ts';
import type { KnexConnection } from '../knex-connection.ts';
import { checkLimit, parsePageKey } from './page.ts';
import { toPrefixRange } from './physical-prefix.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { hasScope } from './revision-list.ts';
import { ofUsers } from './user-list.ts';
import { FILE_LISTINGS, FILES } from '../schema/records.ts';
import { ownerOf, SHARED, scopeKeyOf, userFolder } from '../../files/paths.ts';

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
  if (folder === 'users/') return await listUserFolders(connection, page, after ?? null);
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
  const sharedId = toScopeId(SHARED);
  const folders: FolderListing[] = [];
  for (const name of ['shared/', 'users/']) {
    const isShared = name === 'shared/';
    const sums = (await connection
      .knex('svc_scope')
      .where('scope', isShared ? '=' : '<>', SHARED)
      .sum({ files: 'files', bytes: 'bytes' })
      .first()) as Row | undefined;
    const newest = (await connection
      .knex('svc_file')
      .where('scope_id', isShared ? '=' : '<>', sharedId)
      .whereNull('deleted_at')
      .orderBy('updated_at', 'desc')
      .first('updated_at')) as Row | undefined;
    if (newest === undefined) continue;
    folders.push(toFolder(name, { ...sums, updated_at: newest['updated_at'] }));
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

async function listUserFolders(
  connection: KnexConnection,
  page: PageRequest,
  after: string | null,
): Promise<PageResult<Entry>> {
  const query = connection.knex('svc_scope as s').where('s.files', '>', 0);
  // The page's bound comes first: of two bounds on one side, SQLite seeks to the first and tests
  // the second.
  if (after !== null) {
    query.where('s.scope', page.order === 'asc' ? '>' : '<', scopeKeyOf(after.replace(/\/$/, '')));
  }
  ofUsers(query);
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
  const nameOf = (row: Row) => ownerOf(toText(row['scope']) as ScopeKey);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => ({ folder: toFolder(userFolder(nameOf(row)), row) })),
    next: rows.length > page.limit && last !== undefined ? [`${nameOf(last)}/`] : null,
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
