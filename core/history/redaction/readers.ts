import type { ErasedReader } from '../../contracts/admin.ts';
import type { FileKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';

/** Reads of one file, writes of one trace, and files listed. */
const MOST = { reads: 2_000, writes: 500, readers: 100 } as const;

/**
 * Adds the files of other memories that were written after a file was read, in the same trace or run.
 * Returns `false` if there may be more.
 */
export async function addReaders(
  { log, revisions }: Pick<Storage, 'log' | 'revisions'>,
  key: FileKey,
  readers: Map<string, ErasedReader>,
): Promise<boolean> {
  const filter = { path: key, actions: ['read', 'find', 'context'], outcome: 'ok' } as const;
  const seen = new Set<string>();
  let [reads, writes] = [0, 0];
  for await (const read of readRows((page) => log.listAccess(filter, page))) {
    reads += 1;
    if (reads > MOST.reads) return false;
    const { runId, traceId, id } = read;
    const link = runId !== null ? { runId } : traceId !== null ? { traceId } : null;
    const name = runId ?? traceId;
    if (link === null || name === null || seen.has(name)) continue;
    seen.add(name);
    for await (const revision of readRows((page) => revisions.list(link, page))) {
      writes += 1;
      if (writes > MOST.writes) return false;
      if (revision.scope === key.scope || revision.id < id) continue;
      if (readers.size >= MOST.readers) return false;
      const path = toPhysicalPath(revision);
      readers.set(path, { path, revisionId: revision.id, probably: false });
    }
  }
  return true;
}
