import type { ReadBefore } from '../contracts/admin.ts';
import type { AccessRecord, RevisionRecord } from '../contracts/records.ts';
import type { AccessFilter, LogStore } from '../contracts/storage.ts';
import { toPhysicalPath, toUserId } from '../files/paths.ts';

/** How long before a revision unlinked reads count. */
const SHORTLY_MS = 600_000;
/** How long after a revision the access row of its write may be dated. */
const WRITE_MS = 1_000;
/** The most reads examined, newest first. */
const MAX_READS = 200;

/**
 * The files that a revision's writer had read in its dream run or trace, each once, last read first.
 * Without a run and without reads in its trace: the files that the same actor read for the same user
 * in the ten minutes before.
 */
export async function listReadBefore(
  log: Pick<LogStore, 'listAccess'>,
  revision: RevisionRecord,
): Promise<ReadBefore[]> {
  const { runId, traceId } = revision;
  const linked = runId !== null ? { runId } : traceId !== null ? { traceId } : null;
  const certain = linked === null ? [] : await readsBefore(log, revision, linked);
  if (certain.length > 0 || runId !== null) return toFiles(certain, { probably: false });
  const userId = await findUser(log, revision);
  // An admin's write has no reads before it: it is not a tool call.
  if (userId === null || revision.toolCallId === null) return [];
  const { actor, at } = revision;
  const nearby = await readsBefore(log, revision, { actor, userId, since: at - SHORTLY_MS });
  return toFiles(nearby, { probably: true });
}

async function readsBefore(
  log: Pick<LogStore, 'listAccess'>,
  { id, at }: RevisionRecord,
  filter: AccessFilter,
): Promise<readonly AccessRecord[]> {
  const { items } = await log.listAccess(
    { ...filter, actions: ['read', 'find', 'context'], outcome: 'ok', until: at + 1 },
    { limit: MAX_READS, order: 'desc', after: null },
  );
  // Ids tell what came first in one millisecond.
  return items.filter((read) => read.id < id);
}

/** The user for whom a revision was written; for shared memory, its access row names the user. */
async function findUser(
  log: Pick<LogStore, 'listAccess'>,
  { id, scope, at }: RevisionRecord,
): Promise<string | null> {
  const owner = toUserId(scope);
  if (owner !== null) return owner;
  const { items } = await log.listAccess(
    // The row has the revision's time, so that no more of a busy file's rows are examined.
    { revisionId: id, action: 'write', since: at, until: at + WRITE_MS },
    { limit: 1, order: 'asc', after: null },
  );
  return items[0]?.userId ?? null;
}

function toFiles(reads: readonly AccessRecord[], kind: { probably: boolean }): ReadBefore[] {
  const files = new Map<string, ReadBefore>();
  for (const read of reads) {
    const path = toPhysicalPath(read);
    if (read.fileNo === null || files.has(path)) continue;
    files.set(path, { path, revisionId: read.revisionId, ...kind });
  }
  return [...files.values()];
}
