import type { BlamedLines, ReadBefore } from '../contracts/admin.ts';
import type { RevisionRecord } from '../contracts/records.ts';
import type { LogStore } from '../contracts/storage.ts';
import { toTime, toTimeOrNull } from '../time/time.ts';
import type { BlamedRange } from './blame.ts';
import { listReadBefore } from './read-before.ts';

/** How many of a blame's revisions include what their writer had read. */
const READ_BEFORE_REVISIONS = 50;
/** The longest JSON of these reads, and of the lines of a blame, in UTF-16 units. */
const READ_BEFORE_LENGTH = 1024 * 1024;
const BLAME_LENGTH = 4 * 1024 * 1024;

/** The lines as the admin API shows them, from the first on, as many as may be sent. */
export async function toBlameAnswer(
  ranges: readonly BlamedRange[],
  { log, oldestAt }: { log: Pick<LogStore, 'listAccess'>; oldestAt: number | null },
): Promise<{ blame: BlamedLines[]; blameEnd: number | null }> {
  const readBefore = await listReads(log, ranges);
  const blame: BlamedLines[] = [];
  const seen = new Set<string>();
  let length = 0;
  for (const { startLine, endLine, revision, putBackBy } of ranges) {
    const id = revision?.id ?? null;
    const lines: BlamedLines = {
      startLine,
      endLine,
      revisionId: id,
      version: revision?.version ?? null,
      actor: revision?.actor ?? null,
      reason: revision?.reason ?? null,
      tool: revision?.tool ?? null,
      toolCallId: revision?.toolCallId ?? null,
      at: toTimeOrNull(revision?.at ?? null),
      ...(revision?.redacted === true ? { redacted: true } : {}),
      ...(putBackBy === null ? {} : { putBackBy: toPutBack(putBackBy) }),
      before: revision === null ? toTimeOrNull(oldestAt) : null,
      ...(id !== null && seen.has(id) ? {} : { afterReading: readBefore.get(id ?? '') ?? null }),
    };
    length += JSON.stringify(lines).length;
    if (length > BLAME_LENGTH) return { blame, blameEnd: startLine - 1 };
    if (id !== null) seen.add(id);
    blame.push(lines);
  }
  return { blame, blameEnd: null };
}

function toPutBack({ id, version, actor, at }: RevisionRecord) {
  return { revisionId: id, version, actor, at: toTime(at) };
}

/** What the writers of the newest revisions had read, by revision. */
async function listReads(
  log: Pick<LogStore, 'listAccess'>,
  ranges: readonly BlamedRange[],
): Promise<ReadonlyMap<string, ReadBefore[]>> {
  const newest = [...new Map(ranges.map(({ revision }) => [revision?.id, revision])).values()]
    .filter((revision) => revision !== null)
    .sort((one, other) => other.at - one.at)
    .slice(0, READ_BEFORE_REVISIONS);
  const readBefore = new Map<string, ReadBefore[]>();
  let length = 0;
  for (const revision of newest) {
    const reads = await listReadBefore(log, revision);
    length += JSON.stringify(reads).length;
    if (length > READ_BEFORE_LENGTH) break;
    readBefore.set(revision.id, reads);
  }
  return readBefore;
}
