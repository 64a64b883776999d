import type { ErasedReader } from '../contracts/admin.ts';
import type { AccessRecord, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { AccessFilter, PageRequest, Storage } from '../contracts/storage.ts';
import { toPhysicalPath, toUserId } from '../files/paths.ts';
import { listReadBefore } from '../history/read-before.ts';
import { createPause } from '../pause.ts';

/** Access rows examined, traces looked up, and files listed. */
const MAX_ROWS = 50_000;
const MAX_TRACES = 5_000;
const MAX_READERS = 100;
const PAGE = 500;

/**
 * The files of shared memory and of other users whose writers had read a user's memory: in the same
 * trace or dream run, or by the same actor for the same user in the ten minutes before.
 */
export async function findReaders(
  { log, revisions }: Pick<Storage, 'log' | 'revisions'>,
  scope: ScopeKey,
): Promise<{ readers: ErasedReader[]; isComplete: boolean }> {
  const readers = new Map<string, ErasedReader>();
  const pause = createPause();
  let isComplete = true;
  const add = (revision: RevisionRecord, probably: boolean) => {
    const path = toPhysicalPath(revision);
    const known = readers.get(path);
    if (known === undefined && readers.size >= MAX_READERS) isComplete = false;
    else if (known === undefined || known.revisionId < revision.id) {
      readers.set(path, { path, revisionId: revision.id, probably });
    }
  };
  const each = async (filter: AccessFilter, work: (row: AccessRecord) => Promise<void>) => {
    let after: PageRequest['after'] = null;
    for (let examined = 0; ;) {
      const page = await log.listAccess(filter, { limit: PAGE, order: 'desc', after });
      for (const row of page.items) await work(row);
      await pause();
      examined += page.items.length;
      after = page.next;
      if (after === null) return;
      if (examined >= MAX_ROWS) {
        isComplete = false;
        return;
      }
    }
  };

  // What the traces and runs that read the memory wrote elsewhere.
  const seen = new Set<string>();
  const reads = { scope, actions: ['read', 'find', 'context'], outcome: 'ok' } as const;
  await each(reads, async ({ traceId, runId, id }) => {
    const link = runId !== null ? { runId } : traceId !== null ? { traceId } : null;
    const key = runId ?? traceId;
    if (link === null || key === null || seen.has(key)) return;
    seen.add(key);
    if (seen.size > MAX_TRACES) {
      isComplete = false;
      return;
    }
    const page = { limit: PAGE, order: 'desc', after: null } as const;
    for (const revision of (await revisions.list(link, page)).items) {
      if (revision.scope !== scope && revision.id > id) add(revision, false);
    }
  });

  // What was written to shared memory for the user, without such a link.
  const userId = toUserId(scope);
  await each({ scope: 's', userId, action: 'write', outcome: 'ok' }, async ({ revisionId }) => {
    const revision = revisionId === null ? null : await revisions.get(revisionId);
    if (revision === null) return;
    const read = await listReadBefore(log, revision);
    const own = read.find(({ path }) => path.startsWith(`users/${userId ?? ''}/`));
    if (own !== undefined) add(revision, own.probably);
  });
  const list = [...readers.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  return { readers: list, isComplete };
}
