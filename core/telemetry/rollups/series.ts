import type {
  ActivityPoint,
  ActivitySeries,
  Bucket,
  LatencySeries,
} from '../../contracts/admin.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { toTime } from '../../time/time.ts';
import { RELATIVE_ERROR } from './latency-sketch.ts';
import { BUCKET_MS, floor, type Range } from './range.ts';
import { CallTotals } from './rollups.ts';
import { roundMs } from './summary.ts';
import { readCalls } from './totals.ts';

/** Counts calls over time by kind. Buckets without calls are included. */
export async function readActivity(
  store: ObservationStore,
  range: Range,
  { bucket }: { bucket: Bucket },
): Promise<ActivitySeries> {
  const length = BUCKET_MS[bucket];
  const totals = new Map<number, CallTotals>();
  const totalsAt = (time: number): CallTotals => at(totals, floor(time, length));
  await readCalls(store, range, {
    finest: length,
    count: (count) => totalsAt(count.bucket).addCount(count),
    call: (call, time) => totalsAt(time).addCall(call),
  });
  const points: ActivityPoint[] = [];
  // Another instance's clock may be ahead of ours, so its events may lie after the range.
  const last = Math.max(range.until - 1, ...totals.keys());
  for (let time = floor(range.since, length); time <= last; time += length) {
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
  { bucket }: { bucket: Bucket },
): Promise<LatencySeries> {
  const length = BUCKET_MS[bucket];
  const series = new Map<string | null, Map<number, CallTotals>>();
  const totalsAt = (tool: string | null, time: number): CallTotals => {
    let buckets = series.get(tool);
    if (buckets === undefined) series.set(tool, (buckets = new Map()));
    return at(buckets, floor(time, length));
  };
  await readCalls(store, range, {
    finest: length,
    rollup: (rollup) => totalsAt(rollup.tool, rollup.bucket).addRollup(rollup),
    call: (call, time) => totalsAt(call.tool, time).addCall(call),
  });
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
