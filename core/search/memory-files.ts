import type { FileRecord, ScopeKey } from '../contracts/records.ts';
import type { FileStore, IndexFileKey, IndexStore } from '../contracts/storage.ts';
import type { PathPrefix } from '../files/paths.ts';
import type { FoundFile } from './search-caches.ts';

/** A file of a memory without its content; `size` in bytes. */
export type SizedFile = Pick<
  FileRecord,
  'scope' | 'fileNo' | 'path' | 'size' | 'version' | 'updatedAt'
>;

/** The files of a memory, as it is now or as it stood at a moment. */
export interface MemoryFiles {
  /** Files whose paths start with a prefix, by path, behind `after`. */
  list(
    root: PathPrefix,
    page: { after: string | null; limit: number },
  ): Promise<readonly SizedFile[]>;
  count(root: PathPrefix): Promise<number>;
  /** These files, in any order; those that are gone are left out. */
  read(keys: readonly IndexFileKey[]): Promise<FoundFile[]>;
  /** Files of several scopes as they were together at one moment, in any order. */
  readScopes(
    scopes: readonly ScopeKey[],
    includes: (file: IndexFileKey & { path: string }) => boolean,
  ): Promise<FoundFile[]>;
}

/** Memory as it is now. */
export function presentFiles({
  files,
  index,
}: {
  files: Pick<FileStore, 'list'>;
  index: Pick<IndexStore, 'snapshot'>;
}): MemoryFiles {
  return {
    list: ({ scope, prefix }, page) => files.list(scope, { prefix, ...page }),
    count: ({ scope, prefix }) =>
      index.snapshot(async (view) => (await view.listFiles(scope, prefix)).length),
    read: (keys) => index.snapshot(async (view) => (await view.readFiles(keys)).filter(exists)),
    readScopes: (scopes, includes) =>
      index.snapshot(async (view) => {
        const keys: IndexFileKey[] = [];
        for (const scope of scopes) {
          const listed = await view.listFiles(scope, '');
          keys.push(...listed.map((file) => ({ scope, ...file })).filter(includes));
        }
        return (await view.readFiles(keys)).filter(exists);
      }),
  };
}

/** The memory that these files are. */
export function givenFiles(files: readonly FoundFile[]): MemoryFiles {
  const below = ({ scope, prefix }: PathPrefix) =>
    files.filter((file) => file.scope === scope && file.path.startsWith(prefix));
  return {
    list: (root, { after, limit }) =>
      Promise.resolve(
        below(root)
          .filter(({ path }) => after === null || path > after)
          .sort((a, b) => (a.path < b.path ? -1 : 1))
          .slice(0, limit)
          .map((file) => ({ ...file, size: Buffer.byteLength(file.content) })),
      ),
    count: (root) => Promise.resolve(below(root).length),
    read: (keys) =>
      Promise.resolve(
        files.filter((file) =>
          keys.some(({ scope, fileNo }) => scope === file.scope && fileNo === file.fileNo),
        ),
      ),
    readScopes: (scopes, includes) =>
      Promise.resolve(files.filter((file) => scopes.includes(file.scope) && includes(file))),
  };
}

function exists<File extends { content: string | null }>(
  file: File,
): file is File & { content: string } {
  return file.content !== null;
}
