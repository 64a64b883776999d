import type {
  ActivityPoint,
  ActivitySeries,
  Bucket,
  LatencySeries,
} from '../../contracts/admin.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { startsOfLocalDays, toTime } from '../../time/time.ts';
import { RELATIVE_ERROR } from './latency-sketch.ts';
import { BUCKET_MS, floor, type Range } from './range.ts';
import { CallTotals } from './rollups.ts';
import { roundMs } from './summary.ts';
import { type CallReader, readCalls } from './totals.ts';

/** The buckets of a series. */
export interface SeriesOptions {
  bucket: Bucket;
  /** Days begin at midnight here; `null`: in UTC. */
  timeZone: string | null;
}

/**
 * Reads the calls of a range bucket by bucket, and returns where the buckets start.
 *
 * @param makeReader makes the reader of a part of the range, from what says in which bucket a time is
 * and the longest roll-up that lies in one bucket.
 */
async function readBuckets(
  store: ObservationStore,
  range: Range,
  { bucket, timeZone }: SeriesOptions,
  makeReader: (startOf: (time: number) => number, finest: number) => CallReader,
): Promise<number[]> {
  const length = BUCKET_MS[bucket];
  if (bucket !== '1d' || timeZone === null) {
    const startOf = (time: number) => floor(time, length);
    await readCalls(store, range, makeReader(startOf, length));
    const until = Math.max(range.until, range.countUntil);
    const starts: number[] = [];
    for (let time = startOf(range.since); time < until; time += length) starts.push(time);
    return starts;
  }
  const starts = startsOfLocalDays(range.since, range.countUntil, timeZone);
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? Infinity;
    const part = {
      ...range,
      since: Math.max(range.since, start),
      countUntil: Math.min(range.countUntil, end),
    };
    // Days of most zones begin on the hour of UTC, and the others have some minutes beside their hours.
    await readCalls(
      store,
      part,
      makeReader(() => start, BUCKET_MS['1h']),
    );
  }
  return starts;
}

/** Counts calls over time by kind. Buckets without calls are included. */
export async function readActivity(
  store: ObservationStore,
  range: Range,
  options: SeriesOptions,
): Promise<ActivitySeries> {
  const { bucket } = options;
  const totals = new Map<number, CallTotals>();
  const starts = await readBuckets(store, range, options, (startOf, finest) => ({
    finest,
    count: (count) => at(totals, startOf(count.bucket)).addCount(count),
    call: (call, time) => at(totals, startOf(time)).addCall(call),
  }));
  const points: ActivityPoint[] = [];
  // Another instance's clock may be ahead of ours, so its events may lie after the range.
  const last = Math.max(range.until - 1, ...totals.keys());
  for (const time of starts) {
    if (time > last) break;
    const { calls, failed, refused, reads, writes, finds } = totals.get(time) ?? EMPTY;
    points.push({ at: toTime(time), calls, failed, refused, reads, writes, finds });
  }
  return { since: toTime(range.since), until: toTime(range.until), bucket, points };
}

const EMPTY = new CallTotals();

/** The latency of each tool's calls over time. Buckets without calls are left out. */
export async function readLatency(
  store: ObservationStore,
  range: Range,
  options: SeriesOptions,
): Promise<LatencySeries> {
  const { bucket } = options;
  const series = new Map<string | null, Map<number, CallTotals>>();
  const totalsAt = (tool: string | null, time: number): CallTotals => {
    let buckets = series.get(tool);
    if (buckets === undefined) series.set(tool, (buckets = new Map()));
    return at(buckets, time);
  };
  await readBuckets(store, range, options, (startOf, finest) => ({
    finest,
    rollup: (rollup) => totalsAt(rollup.tool, startOf(rollup.bucket)).addRollup(rollup),
    call: (call, time) => totalsAt(call.tool, startOf(time)).addCall(call),
  }));
  const tools = [...series].map(([tool, buckets]) => ({
    tool,
    points: [...buckets]
      .filter(([, { latency }]) => latency.count > 0)
      .sort(([left], [right]) => left - right)
      .map(([time, { latency }]) => ({
        at: toTime(time),
        calls: latency.count,
        p50: roundMs(latency.quantile(0.5)) ?? 0,
        p95: roundMs(latency.quantile(0.95)) ?? 0,
        p99: roundMs(latency.quantile(0.99)) ?? 0,
      })),
  }));
  return {
    since: toTime(range.since),
    until: toTime(range.until),
    bucket,
    relativeError: RELATIVE_ERROR,
    tools: tools
      .filter(({ points }) => points.length > 0)
      .sort((left, right) => ((left.tool ?? '') < (right.tool ?? '') ? -1 : 1)),
  };
}

function at(buckets: Map<number, CallTotals>, time: number): CallTotals {
  let totals = buckets.get(time);
  if (totals === undefined) buckets.set(time, (totals = new CallTotals()));
  return totals;
}
