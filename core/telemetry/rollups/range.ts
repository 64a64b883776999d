import type { Bucket, RangeQuery } from '../../contracts/admin.ts';
import type { RollupGrain, ScopeKey } from '../../contracts/records.ts';
import type { CountedRange } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { parseUserId, toScope } from '../../files/paths.ts';
import { parseTimeOrNull } from '../../time.ts';
import { GRAIN_MS, KEPT_GRAINS } from './rollups.ts';

export const BUCKET_MS: Readonly<Record<Bucket, number>> = {
  '1m': 60_000,
  '5m': 300_000,
  '1h': 3_600_000,
  '1d': 86_400_000,
};

/** Without `since` the last day is meant. */
const DEFAULT_RANGE_MS = BUCKET_MS['1d'];
/** A series has no more points than this. */
const POINT_LIMIT = 2_000;
/** Up to this length a user's calls are counted by minutes where no bucket is asked for. */
const COUNTED_RANGE_MS = 6 * BUCKET_MS['1h'];
/** A bucket that is chosen makes about as many points as a chart is wide. */
const CHOSEN_POINTS = 400;

/** A query that was parsed: a range of times, of one scope or of all. */
export interface Range {
  since: number;
  until: number;
  /** What to count up to: without `until`, the end of today, which whole buckets reach. */
  countUntil: number;
  scope: ScopeKey | null;
  userId: string | null;
  tool: string | null;
}

/**
 * Parses what narrows an answer. Times are inclusive and exclusive; without `until` all that there
 * is counts, without `since` the last day before it. Throws `INVALID_REQUEST` for a range that
 * ends before it begins, and `INVALID_USER_ID`.
 */
export function parseRange(query: RangeQuery, now: number): Range {
  const until = parseTimeOrNull(query.until, 'until');
  const end = until ?? now;
  // On the hour, so that roll-ups cover all of it.
  const since =
    parseTimeOrNull(query.since, 'since') ?? floor(end - DEFAULT_RANGE_MS, GRAIN_MS.hour);
  if (until !== null && until <= since) refuse('until', 'must be after since');
  const userId = query.userId === undefined ? null : parseUserId(query.userId);
  const countUntil = until ?? floor(Math.max(end, since), GRAIN_MS.day) + GRAIN_MS.day;
  return {
    since: Math.max(since, 0),
    until: Math.max(end, since),
    countUntil,
    scope: userId === null ? null : toScope(userId),
    userId,
    tool: query.tool ?? null,
  };
}

/** The bucket asked for, or one that suits the range. Throws `INVALID_REQUEST` for too many points. */
export function chooseBucket(range: Range, wanted: Bucket | undefined): Bucket {
  const length = range.until - range.since;
  if (wanted !== undefined) {
    const points = length / BUCKET_MS[wanted];
    if (points <= POINT_LIMIT) return wanted;
    return refuse('bucket', `makes more than ${POINT_LIMIT} points: choose a longer one`);
  }
  // Of one user shorter buckets than roll-ups have are counted call by call, for some hours at most.
  const isCounted = range.scope !== null && length > COUNTED_RANGE_MS;
  const order = isCounted ? (['1h', '1d'] as const) : (['1m', '5m', '1h', '1d'] as const);
  const chosen = order.find((bucket) => length / BUCKET_MS[bucket] <= CHOSEN_POINTS) ?? '1d';
  return length / BUCKET_MS[chosen] <= POINT_LIMIT
    ? chosen
    : refuse('since', `is too far back for a series: ${POINT_LIMIT} days at most`);
}

/**
 * Cuts a range into pieces that whole roll-ups cover, the longest grains first, and what is left at
 * the ends (`grain: null`), where calls are counted one by one. In order, without gap or overlap.
 *
 * @param finest pieces are no longer than this, for a series of such buckets.
 */
export function coverRange(
  range: Pick<Range, 'since' | 'countUntil' | 'scope'>,
  finest: number = GRAIN_MS.day,
): CountedRange[] {
  const kept: readonly RollupGrain[] = range.scope === null ? KEPT_GRAINS.all : KEPT_GRAINS.scope;
  const grains = kept.filter((grain) => GRAIN_MS[grain] <= finest);
  return cover(range.since, range.countUntil, grains);
}

function cover(since: number, until: number, grains: readonly RollupGrain[]): CountedRange[] {
  if (since >= until) return [];
  const [grain, ...finer] = grains;
  if (grain === undefined) return [{ grain: null, since, until }];
  const from = ceil(since, GRAIN_MS[grain]);
  const to = floor(until, GRAIN_MS[grain]);
  if (from >= to) return cover(since, until, finer);
  return [
    ...cover(since, from, finer),
    { grain, since: from, until: to },
    ...cover(to, until, finer),
  ];
}

/** The start of the bucket that a time is in. */
export function floor(time: number, length: number): number {
  return Math.floor(time / length) * length;
}

function ceil(time: number, length: number): number {
  return Math.ceil(time / length) * length;
}

function refuse(field: string, message: string): never {
  throw new MemoryError('INVALID_REQUEST', `${field} ${message}.`, {
    details: { issues: [{ path: `/${field}`, message }] },
  });
}
