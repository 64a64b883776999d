import type { ErasedReader } from '../contracts/admin.ts';
import type { RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { AccessFilter, PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { homeOf, toOwner, toPhysicalPath, toUserId } from '../files/paths.ts';
import { listReadBefore } from '../history/read-before.ts';
import { readRows } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';

/** Access rows examined, traces looked up, and files and spaces listed. */
const MAX_ROWS = 50_000;
const MAX_TRACES = 5_000;
const MAX_READERS = 100;
const MAX_SPACES = 1_000;

/**
 * The files of shared memory and of other users that may hold what a user's memory held: files that
 * were moved out of it, and files whose writers had read it, in the same trace or dream run, or by
 * the same actor for the same user in the ten minutes before. And the spaces that the user wrote in.
 */
export async function findReaders(
  { log, revisions }: Pick<Storage, 'log' | 'revisions'>,
  scope: ScopeKey,
): Promise<{ readers: ErasedReader[]; isComplete: boolean; spaces: string[] }> {
  const spaces = new Set<string>();
  const readers = new Map<string, ErasedReader>();
  const pause = createPause();
  let isComplete = await hasFirstRead({ log, revisions }, scope);
  const listAccess = (filter: AccessFilter) => (page: PageRequest) => log.listAccess(filter, page);
  const add = (revision: RevisionRecord, probably: boolean) => {
    const path = toPhysicalPath(revision);
    const known = readers.get(path);
    if (known === undefined && readers.size >= MAX_READERS) isComplete = false;
    else if (known === undefined || known.revisionId < revision.id) {
      readers.set(path, { path, revisionId: revision.id, probably });
    }
  };
  const each = async <Row>(
    list: (page: PageRequest) => Promise<PageResult<Row>>,
    work: (row: Row) => Promise<void> | void,
  ) => {
    let examined = 0;
    for await (const row of readRows(list)) {
      if (examined === MAX_ROWS) {
        isComplete = false;
        return;
      }
      examined += 1;
      await work(row);
      await pause();
    }
  };

  const toAnswer = () => ({
    readers: [...readers.values()].sort((one, other) => (one.path < other.path ? -1 : 1)),
    isComplete,
    spaces: [...spaces].sort(),
  });

  // Files that were moved to shared memory.
  await each(
    (page) => revisions.list({ scope, action: 'move' }, page),
    async ({ peerId }) => {
      const peer = peerId === null ? null : await revisions.get(peerId);
      if (peer !== null && peer.scope !== scope && peer.existsAfter) add(peer, false);
    },
  );

  // What the traces and runs wrote elsewhere after they had read the memory for the first time.
  const seen = new Set<string>();
  const reads = { scope, actions: ['read', 'find', 'context'], outcome: 'ok' } as const;
  await each(listAccess(reads), async ({ traceId, runId, id }) => {
    const link = runId !== null ? { runId } : traceId !== null ? { traceId } : null;
    const key = runId ?? traceId;
    if (link === null || key === null || seen.has(key)) return;
    seen.add(key);
    if (seen.size > MAX_TRACES) {
      isComplete = false;
      return;
    }
    await each(
      (page) => revisions.list(link, page),
      (revision) => {
        if (revision.scope !== scope && revision.id > id) add(revision, false);
      },
    );
  });

  // What was written to shared memory and to spaces for the user, without such a link.
  const userId = toUserId(scope);
  if (userId === null) return toAnswer();
  const writes = { userId, isElsewhere: true, action: 'write', outcome: 'ok' } as const;
  await each(listAccess(writes), async ({ revisionId, scope: written }) => {
    const { spaceId } = toOwner(written);
    if (spaceId !== null && spaces.size < MAX_SPACES) spaces.add(spaceId);
    else if (spaceId !== null && !spaces.has(spaceId)) isComplete = false;
    const revision = revisionId === null ? null : await revisions.get(revisionId);
    if (revision === null) return;
    const read = await listReadBefore(log, revision);
    const own = read.find(({ path }) => path.startsWith(homeOf(scope)));
    if (own !== undefined) add(revision, own.probably);
  });
  return toAnswer();
}

/** Whether the access log begins with the history: else its first rows have expired, or are elsewhere. */
async function hasFirstRead(
  { log, revisions }: Pick<Storage, 'log' | 'revisions'>,
  scope: ScopeKey,
): Promise<boolean> {
  const page = { limit: 1, order: 'asc', after: null } as const;
  const [first] = (await revisions.list({ scope }, page)).items;
  const [row] = (await log.listAccess({ scope }, page)).items;
  if (first === undefined) return true;
  return !first.existedBefore && row !== undefined && row.at <= first.at;
}
