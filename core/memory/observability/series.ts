import type { ActivityPoint, ActivitySeries, LatencySeries } from '../../contracts/admin.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { toTime } from '../time.ts';
import { RELATIVE_ERROR } from './latency-sketch.ts';
import { type Bucket, BUCKET_MS, floor, type Range } from './range.ts';
import { CallTotals } from './rollups.ts';
import { roundMs } from './summary.ts';
import { readCalls } from './totals.ts';

/** How many calls there were over time, of which kind; buckets without calls are there too. */
export async function readActivity(
  store: ObservationStore,
  range: Range,
  bucket: Bucket,
): Promise<ActivitySeries> {
  const length = BUCKET_MS[bucket];
  const series = await readSeries(store, range, length, () => '');
  const totals = series.get('') ?? new Map<number, CallTotals>();
  const points: ActivityPoint[] = [];
  // An event from a clock that is ahead of ours is counted, so it is shown.
  const last = Math.max(range.until - 1, ...totals.keys());
  for (let at = floor(range.since, length); at <= last; at += length) {
    const { calls, failed, refused, reads, writes, finds } = totals.get(at) ?? EMPTY;
    points.push({ at: toTime(at), calls, failed, refused, reads, writes, finds });
  }
  return { since: toTime(range.since), until: toTime(range.until), bucket, points };
}

const EMPTY = new CallTotals();

/** How long the calls of each tool took over time; only buckets with calls are there. */
export async function readLatency(
  store: ObservationStore,
  range: Range,
  bucket: Bucket,
): Promise<LatencySeries> {
  const series = await readSeries(store, range, BUCKET_MS[bucket], (tool) => tool ?? '');
  const tools = [...series].map(([tool, buckets]) => ({
    tool: tool === '' ? null : tool,
    points: [...buckets]
      .filter(([, { latency }]) => latency.count > 0)
      .sort(([left], [right]) => left - right)
      .map(([at, { latency }]) => ({
        at: toTime(at),
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

/** Totals by line and bucket. */
async function readSeries(
  store: ObservationStore,
  range: Range,
  length: number,
  toLine: (tool: string | null) => string,
): Promise<Map<string, Map<number, CallTotals>>> {
  const lines = new Map<string, Map<number, CallTotals>>();
  const totalsAt = (tool: string | null, time: number): CallTotals => {
    const line = toLine(tool);
    let buckets = lines.get(line);
    if (buckets === undefined) lines.set(line, (buckets = new Map()));
    const at = floor(time, length);
    let totals = buckets.get(at);
    if (totals === undefined) buckets.set(at, (totals = new CallTotals()));
    return totals;
  };
  await readCalls(
    store,
    range,
    {
      rollup: (rollup) => totalsAt(rollup.tool, rollup.bucket).addRollup(rollup),
      call: (call, at) => totalsAt(call.tool, at).addCall(call),
    },
    length,
  );
  return lines;
}
