import type { Bucket, RangeQuery } from '../../contracts/admin.ts';
import type { RollupGrain, ScopeKey } from '../../contracts/records.ts';
import type { CountedRange } from '../../contracts/storage.ts';
import { invalidField } from '../../errors.ts';
import { toFilteredScope } from '../../files/paths.ts';
import { parseTimeOrNull } from '../../time/time.ts';
import { GRAIN_MS, KEPT_GRAINS } from './rollups.ts';

export const BUCKET_MS: Readonly<Record<Bucket, number>> = {
  '1m': 60_000,
  '5m': 300_000,
  '1h': 3_600_000,
  '1d': 86_400_000,
};

/** The range without `since`. */
const DEFAULT_RANGE_MS = BUCKET_MS['1d'];
/** The most points of a series. */
const POINT_LIMIT = 2_000;
/** Up to this length, a user's default bucket may be minutes, which are counted call by call. */
const COUNTED_RANGE_MS = 6 * BUCKET_MS['1h'];
/** The most points of a default bucket, about the width of a chart. */
const CHOSEN_POINTS = 400;

/** A parsed query: a time range, of one scope or of all. */
export interface Range {
  since: number;
  until: number;
  /** The end of counting: without `until` the end of today, so that whole buckets are used. */
  countUntil: number;
  scope: ScopeKey | null;
  tool: string | null;
}

/**
 * Parses the filters of an answer. `since` is inclusive, `until` exclusive; without `until` the range is
 * open, without `since` it starts a day before its end. Throws `INVALID_REQUEST` for a range that ends
 * before it begins, and `INVALID_USER_ID`.
 */
export function parseRange(query: RangeQuery, now: number): Range {
  const until = parseTimeOrNull(query.until, 'until');
  const end = until ?? now;
  // On the hour, so that roll-ups cover the whole range.
  const since =
    parseTimeOrNull(query.since, 'since') ?? floor(end - DEFAULT_RANGE_MS, GRAIN_MS.hour);
  if (until !== null && until <= since) refuse('until', 'must be after since');
  const countUntil = until ?? floor(Math.max(end, since), GRAIN_MS.day) + GRAIN_MS.day;
  return {
    since: Math.max(since, 0),
    until: Math.max(end, since),
    countUntil,
    scope: toFilteredScope(query),
    tool: query.tool ?? null,
  };
}

/** The requested bucket, or one that fits the range. Throws `INVALID_REQUEST` for too many points. */
export function chooseBucket(range: Range, wanted: Bucket | undefined): Bucket {
  const length = range.until - range.since;
  if (wanted !== undefined) {
    const points = length / BUCKET_MS[wanted];
    if (points <= POINT_LIMIT) return wanted;
    return refuse('bucket', `makes more than ${POINT_LIMIT} points: choose a longer one`);
  }
  // A user's minutes are counted call by call, so they are the default for a few hours at most.
  const isCounted = range.scope !== null && length > COUNTED_RANGE_MS;
  const order = isCounted ? (['1h', '1d'] as const) : (['1m', '5m', '1h', '1d'] as const);
  const chosen = order.find((bucket) => length / BUCKET_MS[bucket] <= CHOSEN_POINTS) ?? '1d';
  return length / BUCKET_MS[chosen] <= POINT_LIMIT
    ? chosen
    : refuse('since', `is too far back for a series: ${POINT_LIMIT} days at most`);
}

/**
 * Splits a range into pieces that whole roll-ups cover, with the longest grains possible, and the
 * rest at the ends (`grain: null`), where calls are counted one by one. The pieces are in order,
 * without gap or overlap.
 *
 * @param finest the longest grain to use, so that a series can have such buckets.
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

/** The start of the bucket that contains a time. */
export function floor(time: number, length: number): number {
  return Math.floor(time / length) * length;
}

function ceil(time: number, length: number): number {
  return Math.ceil(time / length) * length;
}

function refuse(field: string, message: string): never {
  throw invalidField(`/${field}`, message, field);
}
