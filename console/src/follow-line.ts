import type {
  AdminRevision,
  AdminRevisionDetail,
  Influence,
  InfluencedAccess,
} from '../../core/contracts/admin.ts';
import type { Api } from './api.ts';
import { type Incident, type LineAt, MAX_FOLLOWED, MAX_WRITES, type Write } from './incident.ts';

/** The most readers that are listed. */
const MAX_SHOWN = 200;
/** As the service counts what a writer had probably read. */
const PROBABLY_MS = 10 * 60_000;

/** Reads who wrote a line, who was shown it, and what those wrote afterwards. */
export async function readIncident(
  api: Api,
  place: LineAt,
  signal: AbortSignal,
): Promise<Incident> {
  const { path, version, line } = place;
  const [{ blame = [] }, influence] = await Promise.all([
    api.file(path, { version, blame: true }, signal),
    api.read<Influence>(
      '/v1/admin/observability/influence',
      { path, version, line, limit: MAX_SHOWN },
      signal,
    ),
  ]);
  const blamed = blame.find((one) => one.startLine <= line && line <= one.endLine) ?? null;
  const writer =
    blamed?.revisionId === null || blamed === null
      ? null
      : await api.revision(blamed.revisionId, signal);
  const shown = influence.items;
  const found = await findWritten(api, { shown, writer, signal });
  return {
    place,
    text: influence.line?.text ?? '',
    blamed,
    writer,
    shown,
    isComplete: influence.line?.complete === true && influence.nextCursor === null,
    writes: [
      ...(writer === null ? [] : toWrites([writer], { isProbable: false })),
      ...toWrites(found.certain, { isProbable: false }),
      ...toWrites(found.probable, { isProbable: true }),
    ],
    hasAllWrites: found.isWhole && influence.nextCursor === null,
  };
}

/** What those who were shown the line wrote afterwards, oldest first. */
async function findWritten(
  api: Api,
  {
    shown,
    writer,
    signal,
  }: {
    shown: readonly InfluencedAccess[];
    writer: AdminRevisionDetail | null;
    signal: AbortSignal;
  },
): Promise<{ certain: AdminRevision[]; probable: AdminRevision[]; isWhole: boolean }> {
  const certain = new Map<string, AdminRevision>();
  const probable = new Map<string, AdminRevision>();
  const isOfWriter = (revision: AdminRevision) =>
    writer !== null && keyOf(revision) === keyOf(writer);
  // The first time that each trace, or each reader, was shown it.
  const traces = firstOf(shown, ({ runId, traceId }) => runId ?? traceId);
  const readers = firstOf(shown, ({ actor, userId }) => `${actor} ${userId ?? ''}`);
  let isWhole = traces.length <= MAX_FOLLOWED && readers.length <= MAX_FOLLOWED;
  const list = async (query: Record<string, string | number | null>) => {
    const page = await api.revisions({ ...query, order: 'asc', limit: MAX_WRITES }, signal);
    isWhole &&= page.nextCursor === null;
    return page.items;
  };

  await inTurns(traces.slice(0, MAX_FOLLOWED), async (access) => {
    const { runId, traceId } = access;
    for (const one of await list(runId === null ? { traceId } : { runId })) {
      if (one.at >= access.at && !isOfWriter(one)) certain.set(one.id, one);
    }
  });
  const paths = new Set(shown.map(({ path }) => path));
  await inTurns(readers.slice(0, MAX_FOLLOWED), async ({ actor, userId, at }) => {
    const until = new Date(Date.parse(at) + PROBABLY_MS).toISOString();
    for (const one of await list({ actor, userId, since: at, until })) {
      if (certain.has(one.id) || isOfWriter(one)) continue;
      const { afterReading } = await api.revision(one.id, signal);
      const read = afterReading.find(({ path }) => paths.has(path));
      if (read !== undefined) (read.probably ? probable : certain).set(one.id, one);
    }
  });
  const byTime = (one: AdminRevision, other: AdminRevision) => (one.id < other.id ? -1 : 1);
  return {
    certain: [...certain.values()].sort(byTime),
    probable: [...probable.values()].sort(byTime),
    isWhole,
  };
}

/** The oldest access of each key, of accesses that come newest first. */
function firstOf(
  shown: readonly InfluencedAccess[],
  keyOfAccess: (access: InfluencedAccess) => string | null,
): InfluencedAccess[] {
  const first = new Map<string, InfluencedAccess>();
  for (const access of shown) {
    const key = keyOfAccess(access);
    if (key !== null) first.set(key, access);
  }
  return [...first.values()];
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += 6) await Promise.all(items.slice(at, at + 6).map(work));
}

function keyOf({ runId, toolCallId, id }: AdminRevision): string {
  return runId ?? toolCallId ?? id;
}

function toWrites(
  revisions: readonly AdminRevision[],
  { isProbable }: { isProbable: boolean },
): Write[] {
  const writes = new Map<string, [AdminRevision, ...AdminRevision[]]>();
  for (const revision of revisions) {
    const group = writes.get(keyOf(revision));
    if (group === undefined) writes.set(keyOf(revision), [revision]);
    else group.push(revision);
  }
  return [...writes].map(([key, group]) => ({ key, revisions: group, isProbable }));
}
