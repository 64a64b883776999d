import type { ScopeKey } from '../contracts/records.ts';
import type { IndexStore, IndexText, IndexView } from '../contracts/storage.ts';
import type { ScopeVectors } from '../contracts/vectors.ts';

/** A file with the content that it would have. */
export type DraftFile = Pick<IndexText, 'scope' | 'fileNo' | 'path' | 'version' | 'hash'> & {
  content: string;
};

/**
 * The search index as it would be right after some files of a memory got other contents: they are stale, so
 * that a search reads them, with the vectors that their new passages would get.
 */
export function draftIndex(
  index: Pick<IndexStore, 'snapshot'>,
  files: readonly DraftFile[],
  vectors: ScopeVectors['vectors'],
): Pick<IndexStore, 'snapshot'> {
  const find = (scope: ScopeKey, fileNo: number) =>
    files.find((file) => file.scope === scope && file.fileNo === fileNo);
  const overlay = (view: IndexView): IndexView => ({
    ...view,
    async open(scopes, known) {
      const opened = await view.open(scopes, known);
      return opened.map((one, at) => {
        const scope = scopes[at] as ScopeKey;
        const own = files
          .filter((file) => file.scope === scope)
          .map(({ fileNo, version, path, hash }) => ({
            fileNo,
            version,
            path,
            hash,
            isDeleted: false,
          }));
        const others = one.stale.filter(({ fileNo }) => find(scope, fileNo) === undefined);
        return { ...one, stale: [...others, ...own] };
      });
    },
    async readFiles(keys) {
      const read = await view.readFiles(keys);
      return read.map((file) => ({ ...file, ...find(file.scope, file.fileNo) }));
    },
    ...(view.vectors && {
      async vectors(scope, options) {
        const read = await (view.vectors as NonNullable<IndexView['vectors']>)(scope, options);
        const own = files.some((file) => file.scope === scope) ? vectors : [];
        return { ...read, vectors: [...read.vectors, ...own] };
      },
    }),
  });
  return { snapshot: (read) => index.snapshot((view) => read(overlay(view))) };
}
