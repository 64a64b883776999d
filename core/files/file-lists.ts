import type {
  AdminFile,
  AdminFileAnswer,
  AdminFileContent,
  AdminFolder,
  AdminUser,
  EarlierFile,
  FileListQuery,
  FileQuery,
  ListAnswer,
  UserListQuery,
} from '../contracts/admin.ts';
import type { FileKey, FileListing, FolderListing } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { answerList } from '../lists/page.ts';
import {
  fileNotFound,
  parsePhysicalPath,
  parsePhysicalPrefix,
  toFilteredScope,
  toPhysicalPath,
  toOwner,
  toVirtualPath,
  homeOf,
} from './paths.ts';
import { toExpiredLines } from '../markdown/valid-until.ts';
import type { Revisions } from '../history/revisions.ts';
import { listUsers } from './user-list.ts';
import { parseTime, toTime, toTimeOrNull } from '../time/time.ts';

/** Reads users and files for the admin, without access rows. */
export interface FileLists {
  users(query: UserListQuery): Promise<ListAnswer<AdminUser>>;
  files(query: FileListQuery): Promise<ListAnswer<AdminFile | AdminFolder | EarlierFile>>;
  /** A file without its content; `null` if it doesn't exist. */
  present(physicalPath: unknown): Promise<AdminFile | null>;
  /** A file with its content: the current one, or that of a version or a time. */
  file(physicalPath: unknown, query: FileQuery): Promise<AdminFileAnswer>;
}

interface FileListDependencies {
  storage: Storage;
  revisions: Revisions;
  /** In which the days of memory end. */
  timeZone: string;
  now: () => number;
}

/** Creates the admin's lists over a storage. */
export function createFileLists({
  storage,
  revisions,
  timeZone,
  now,
}: FileListDependencies): FileLists {
  return {
    users: (query) => listUsers(storage, query),

    async files(query) {
      const { at } = query;
      if (at !== undefined) return await listFilesAt(revisions, { ...query, at });
      const { prefix, userId, spaceId, q, depth, sort = 'path' } = query;
      const list = {
        list: 'files',
        sort,
        // Paths sort ascending by default, everything else descending.
        defaultOrder: sort === 'path' ? ('asc' as const) : ('desc' as const),
        filters: { prefix, userId, spaceId, q, depth },
      };
      if (depth === 1) {
        return await answerList(query, {
          ...list,
          read: (page) => storage.files.listFolder(toFolder(query), page),
          toItem: (item) =>
            'folder' in item ? toAdminFolder(item.folder) : toAdminFile(item.file),
        });
      }
      return await answerList(query, {
        ...list,
        read(page) {
          const filter = {
            prefix: prefix === undefined ? null : parsePhysicalPrefix(prefix),
            scope: toFilteredScope({ userId, spaceId }),
            contains: q ?? null,
          };
          return storage.files.listAll(filter, { ...page, sort });
        },
        toItem: toAdminFile,
      });
    },

    async present(physicalPath) {
      const listing = await storage.files.getListing(parsePhysicalPath(physicalPath));
      return listing === null ? null : toAdminFile(listing);
    },

    async file(physicalPath, { blame, ...point }) {
      const { version, at } = point;
      const key = parsePhysicalPath(physicalPath);
      if (version !== undefined && at !== undefined) {
        throw invalidAt('must not come with version');
      }
      const listing = await storage.files.getListing(key);
      if (listing === null) throw fileNotFound(toPhysicalPath(key));
      const file =
        version !== undefined || at !== undefined
          ? { ...toAdminFile(listing), ...(await revisions.contentAt(key, point)) }
          : await readPresent(key, listing);
      const moment = { at: at === undefined ? now() : parseTime(at, 'at'), timeZone };
      const lines = { startLine: 1, endLine: Infinity };
      const expired = toExpiredLines(file.content, moment, lines);
      const answer = expired === undefined ? { file } : { file, expired };
      return blame === true ? { ...answer, ...(await revisions.blame(key, file)) } : answer;
    },
  };

  async function readPresent(key: FileKey, listing: FileListing): Promise<AdminFileContent> {
    const file = await storage.files.get(key);
    if (file === null || file.content === null) throw fileNotFound(toPhysicalPath(key));
    // Content and facts must come from one read; the second one adds only counts.
    return { ...toAdminFile({ ...listing, ...file }), content: file.content };
  }
}

/** The files that a user had at a time, by path. */
async function listFilesAt(
  revisions: Pick<Revisions, 'memoryAt'>,
  query: FileListQuery & { at: string },
): Promise<ListAnswer<EarlierFile>> {
  const { prefix, userId, spaceId, q, depth, sort, order, at } = query;
  const scope = toFilteredScope({ userId, spaceId });
  if (scope === null || [q, depth, sort, order].some((one) => one !== undefined)) {
    throw invalidAt('needs userId or spaceId, and takes no q, depth, sort or order');
  }
  const time = parseTime(at, 'at');
  const home = homeOf(scope);
  if (prefix !== undefined && !prefix.startsWith(home))
    throw invalidAt(`takes a prefix in ${home}`);
  const inside = prefix === undefined ? '' : parsePhysicalPrefix(prefix).slice(home.length);
  return await answerList(query, {
    list: 'files',
    sort: 'path',
    defaultOrder: 'asc',
    async read({ limit, after }) {
      const page = await revisions.memoryAt(scope, {
        at: time,
        prefix: inside,
        limit,
        after: after === null ? null : String(after[0]),
      });
      return {
        items: page.files.filter(({ state }) => state !== 'absent'),
        next: page.next === null ? null : [page.next],
      };
    },
    toItem: ({ file, revision }) => ({
      path: toPhysicalPath(file),
      virtualPath: toVirtualPath(file),
      ...toOwner(scope),
      at: toTime(time),
      isKnown: revision !== null,
      version: revision?.version ?? null,
      size: revision?.size ?? null,
      latestActor: revision?.actor ?? null,
      latestRevisionId: revision?.id ?? null,
      updatedAt: toTimeOrNull(revision?.at ?? null),
    }),
  });
}

function invalidAt(message: string): MemoryError {
  return invalidField('/at', message, 'at');
}

/** A file as the admin API shows it. */
function toAdminFile(file: FileListing): AdminFile {
  return {
    path: toPhysicalPath(file),
    virtualPath: toVirtualPath(file),
    ...toOwner(file.scope),
    size: file.size,
    lines: file.lines,
    version: file.version,
    reads: file.reads,
    writes: file.writes,
    revisions: file.revisions,
    latestActor: file.latestActor,
    latestRevisionId: file.latestRevisionId,
    createdAt: toTime(file.createdAt),
    updatedAt: toTime(file.updatedAt),
    lastReadAt: toTimeOrNull(file.lastReadAt),
  };
}

function toAdminFolder({ path, files, bytes, updatedAt }: FolderListing): AdminFolder {
  return { path, folder: true, files, size: bytes, updatedAt: toTime(updatedAt) };
}

/** The folder that `?depth=1` lists. Refuses `q` and other sort orders with it. */
function toFolder({ prefix = '', userId, spaceId, q, sort }: FileListQuery): string {
  const issues: { path: string; message: string }[] = [];
  if (q !== undefined) issues.push({ path: '/q', message: 'must not come with depth' });
  if (sort !== undefined && sort !== 'path') {
    issues.push({ path: '/sort', message: 'must be path with depth' });
  }
  const scope = toFilteredScope({ userId, spaceId });
  const home = scope === null ? '' : homeOf(scope);
  const folder = prefix === '' ? home : prefix;
  if (!folder.startsWith(home)) {
    issues.push({
      path: '/prefix',
      message: 'must lie in the folder of userId or spaceId with depth',
    });
  }
  if (folder !== '' && !folder.endsWith('/')) {
    issues.push({ path: '/prefix', message: 'must end in / with depth' });
  }
  const [issue] = issues;
  if (issue !== undefined) {
    throw new MemoryError('INVALID_REQUEST', `${issue.path.slice(1)} ${issue.message}.`, {
      details: { issues },
    });
  }
  return folder === 'users/' || folder === 'spaces/' || folder === ''
    ? folder
    : parsePhysicalPrefix(folder);
}
