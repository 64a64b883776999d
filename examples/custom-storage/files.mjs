// Memory files: reads by agents, and the admin's lists.

import { assertFileKey, assertScope, toPhysicalPath } from 'memory-service/plugin';
import { compare, contains, paginate } from './page.mjs';

/** @import { FileListing, FileState, FileStore, FolderListing } from 'memory-service/plugin' */
/** @import { Journal } from './journal.mjs' */

/**
 * @param {Journal} journal
 * @returns {FileStore}
 */
export function fileStore(journal) {
  /** @returns {FileState[]} */
  const existing = () =>
    [...journal.table('files').values()].filter(({ content }) => content !== null);

  // #region reads
  /**
   * @param {FileState} file
   * @returns {FileListing}
   */
  function toListing({ content: _content, ...file }) {
    const stat = journal.table('reads').get(`${file.scope} ${file.fileNo}`);
    return { ...file, reads: stat?.reads ?? 0, lastReadAt: stat?.lastReadAt ?? null };
  }

  return {
    async read(key) {
      assertFileKey(key);
      const file = journal.table('files').get(toPhysicalPath(key));
      return (file?.content ?? null) === null ? null : file;
    },

    async get(key) {
      assertFileKey(key);
      return journal.table('files').get(toPhysicalPath(key)) ?? null;
    },
    // #endregion

    async list(scope, { prefix, after, limit }) {
      assertScope(scope);
      return existing()
        .filter((file) => file.scope === scope && file.path.startsWith(prefix))
        .filter(({ path }) => after === null || compare(path, after) > 0)
        .sort((left, right) => compare(left.path, right.path))
        .slice(0, limit)
        .map(({ content: _content, ...file }) => file);
    },

    async listAll({ prefix, scope, contains: part }, page) {
      const { sort } = page;
      const rows = existing()
        .filter((file) => (scope ?? file.scope) === file.scope)
        .filter((file) => toPhysicalPath(file).startsWith(prefix ?? ''))
        .filter((file) => contains(toPhysicalPath(file), part))
        .map(toListing);
      return sort === 'path'
        ? paginate(rows, page, (row) => [row.scope, row.path], ['string', 'string'])
        : paginate(rows, page, (row) => [row[sort], row.scope, row.path], [
            'number',
            'string',
            'string',
          ]);
    },

    async getListing(key) {
      assertFileKey(key);
      const file = journal.table('files').get(toPhysicalPath(key));
      return file === undefined ? null : toListing(file);
    },

    async listFolder(folder, page) {
      const isFolder = folder === '' || folder.endsWith('/');
      const rows = isFolder ? rollUp(existing(), folder, toListing) : [];
      const { items, next } = paginate(rows, page, ({ name }) => [name], ['string']);
      return { items: items.map(({ entry }) => entry), next };
    },

    async listUsers({ contains: part }, page) {
      const users = [...journal.table('scopes').values()]
        .filter(({ scope, files }) => scope !== 's' && files > 0)
        .map(({ scope, files, bytes, revisions, lastWriteAt, chainHead: historyHash }) => {
          const userId = scope.slice('u:'.length);
          const shown = journal.table('reads').get(`${scope} 0`);
          const { reads = 0, lastReadAt = null, lastShownAt = null } = shown ?? {};
          const times = { lastReadAt, lastShownAt, lastWriteAt };
          return { userId, files, bytes, revisions, reads, ...times, historyHash };
        })
        .filter(({ userId }) => contains(userId, part));
      return paginate(users, page, ({ userId }) => [userId], ['string']);
    },

    async countBehind() {
      return journal.table('queue').size;
    },
  };
}

/**
 * The files and folders directly below a folder; folders have the totals of their files.
 *
 * @param {readonly FileState[]} files
 * @param {string} folder
 * @param {(file: FileState) => FileListing} toListing
 */
function rollUp(files, folder, toListing) {
  /** @type {Map<string, { name: string, entry: { folder: FolderListing } | { file: FileListing } }>} */
  const entries = new Map();
  for (const file of files) {
    const path = toPhysicalPath(file);
    if (!path.startsWith(folder)) continue;
    const slash = path.indexOf('/', folder.length);
    if (slash < 0) {
      entries.set(path, { name: path.slice(folder.length), entry: { file: toListing(file) } });
      continue;
    }
    const below = path.slice(0, slash + 1);
    const known = entries.get(below)?.entry;
    const sums =
      known !== undefined && 'folder' in known
        ? known.folder
        : { files: 0, bytes: 0, updatedAt: 0 };
    const sum = {
      path: below,
      files: sums.files + 1,
      bytes: sums.bytes + file.size,
      updatedAt: Math.max(sums.updatedAt, file.updatedAt),
    };
    // Users are sorted by id, everything else by name including the slash.
    const end = folder === 'users/' ? slash : slash + 1;
    entries.set(below, { name: path.slice(folder.length, end), entry: { folder: sum } });
  }
  return entries.values();
}
