import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore, IndexText, OldPostings } from '../../contracts/storage.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import { hashText } from '../../files/content.ts';
import type { PathPrefix } from '../../files/paths.ts';
import type { Revisions } from '../../history/revisions.ts';
import { createPause } from '../../time/pause.ts';
import { parseTime } from '../../time/time.ts';
import { givenFiles, type MemoryFiles } from '../memory-files.ts';
import { createSearch, type Search } from '../search.ts';

/** What one call reads of the past, at most: files that existed then, and bytes of their contents. */
const LIMITS = { files: 500, bytes: 8 * 1024 * 1024 } as const;

/** Milliseconds of a moment in the past. Throws `INVALID_REQUEST` for one that has not come yet. */
export function parseAsOf(asOf: string, now: number): number {
  const at = parseTime(asOf, 'asOf');
  if (at <= now) return at;
  throw invalidField('/asOf', 'must not be in the future', 'asOf');
}

/** Memory as it stood at a moment. What was redacted or erased is not in it. */
export interface PastMemory {
  files: MemoryFiles;
  /** By words alone, ranked as ever. */
  search: Search;
  /** Which files are left out as their history is gone; `null` if there are none. */
  degraded: string | null;
}

/** Opens memory as it stood at a moment. Throws `WORK_LIMIT_EXCEEDED` when there is too much. */
export async function openMemoryAt(
  revisions: Pick<Revisions, 'fileAt' | 'memoryAt'>,
  {
    scopes,
    within,
    at,
  }: { scopes: readonly ScopeKey[]; within: readonly PathPrefix[] | null; at: number },
): Promise<PastMemory> {
  const pause = createPause();
  const files: (IndexText & { content: string })[] = [];
  let [existing, bytes, pruned] = [0, 0, 0];
  for (const scope of scopes) {
    const root = within === null ? { prefix: '' } : within.find((one) => one.scope === scope);
    if (root === undefined) continue;
    let after: string | null = null;
    do {
      const page = await revisions.memoryAt(scope, { at, prefix: root.prefix, after });
      for (const { file, revision, state } of page.files) {
        if (state === 'absent') continue;
        if ((existing += 1) > LIMITS.files) throw tooMuch('files', LIMITS.files);
        if (state === 'pruned') pruned += 1;
        if (revision === null) continue;
        const key = { scope, path: file.path };
        const content = await readAt(revisions, key, at);
        await pause();
        if (content === null) {
          pruned += 1;
          continue;
        }
        bytes += Buffer.byteLength(content);
        if (bytes > LIMITS.bytes) throw tooMuch('bytes', LIMITS.bytes);
        files.push({
          ...key,
          content,
          fileNo: file.fileNo,
          version: revision.version,
          updatedAt: revision.at,
          latestRevisionId: revision.id,
          hash: hashText(content),
        });
      }
      after = page.next;
    } while (after !== null);
  }
  const indexer = { noteSearch: () => undefined, rebuild: () => undefined };
  return {
    files: givenFiles(files),
    search: createSearch({ index: toIndex(files), indexer }),
    degraded:
      pruned === 0 ? null : `${pruned} files are left out: their history of that time is gone.`,
  };
}

/** `null` for what is pruned or redacted. */
async function readAt(
  revisions: Pick<Revisions, 'fileAt'>,
  key: { scope: ScopeKey; path: string },
  at: number,
): Promise<string | null> {
  try {
    return (await revisions.fileAt(key, { at })).content;
  } catch (error) {
    const isGone =
      error instanceof MemoryError && ['REVISION_NOT_FOUND', 'FILE_NOT_FOUND'].includes(error.code);
    if (isGone) return null;
    throw error;
  }
}

/** An index in which no file is indexed, so that a search reads these. */
function toIndex(
  files: readonly (IndexText & { content: string })[],
): Pick<IndexStore, 'snapshot'> {
  const inScope = (scope: ScopeKey) => files.filter((file) => file.scope === scope);
  return {
    snapshot: (read) =>
      read({
        open: (scopes) =>
          Promise.resolve(
            scopes.map((scope) => {
              const own = inScope(scope);
              const state = {
                generation: 0,
                format: null,
                files: own.length,
                version: 0,
                copiedTo: null,
              };
              const stale = own.map(({ fileNo, version, path, hash }) => ({
                fileNo,
                version,
                path,
                hash,
                isDeleted: false,
              }));
              return { state, stale, segments: [] };
            }),
          ),
        listFiles: (scope, prefix) =>
          Promise.resolve(inScope(scope).filter(({ path }) => path.startsWith(prefix))),
        readFiles: (keys) =>
          Promise.resolve(
            files.filter((file) =>
              keys.some(({ scope, fileNo }) => scope === file.scope && fileNo === file.fileNo),
            ),
          ),
        readHeads: () => Promise.resolve([]),
        readBlocks: () => Promise.resolve([]),
        readAllBlocks: () => Promise.resolve([]),
        old: NO_OLD_POSTINGS,
      }),
  };
}

const NO_OLD_POSTINGS: OldPostings = {
  ofTerms: () => Promise.resolve([]),
  ofBuckets: () => Promise.resolve([]),
  listTerms: () => Promise.resolve([]),
  listFiles: () => Promise.resolve([]),
};

function tooMuch(limit: keyof typeof LIMITS, max: number): MemoryError {
  const message = `The memory of that time has more than ${max} ${limit}; name a path to search less.`;
  return new MemoryError('WORK_LIMIT_EXCEEDED', message, { details: { limit, max } });
}
