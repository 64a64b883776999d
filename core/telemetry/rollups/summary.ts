import type { ObservabilitySummary, SlaWatch } from '../../contracts/admin.ts';
import type { Settings } from '../../config/settings.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { toTime } from '../../time/time.ts';
import { RELATIVE_ERROR } from './latency-sketch.ts';
import { coverRange, type Range } from './range.ts';
import { CallTotals } from './rollups.ts';
import { readCalls } from './totals.ts';
import { toPercent } from '../../encoding/percent.ts';
import { SHARED } from '../../files/paths.ts';

/** The watch warns from this share of a limit on. */
const WATCH_SHARE = 0.8;

/** Reads the figures at the top of the dashboard. */
export async function readSummary(
  store: ObservationStore,
  range: Range,
  { sla }: { sla: Settings['sla'] },
): Promise<ObservabilitySummary> {
  const totals = new CallTotals();
  await readCalls(store, range, {
    rollup: (rollup) => totals.addRollup(rollup),
    call: (call) => totals.addCall(call),
  });
  const { calls, failed, refused, reads, writes, finds, latency } = totals;
  const quantile = (q: number) => roundMs(latency.quantile(q));
  const errorRate = calls === 0 ? 0 : failed / calls;
  const p95 = quantile(0.95);
  return {
    since: toTime(range.since),
    until: toTime(range.until),
    calls,
    failed,
    refused,
    errorRate,
    latency: { p50: quantile(0.5), p95, p99: quantile(0.99), relativeError: RELATIVE_ERROR },
    activeScopes: await countScopes(store, range, { calls }),
    reads,
    writes,
    finds,
    readWriteRatio: writes === 0 ? null : reads / writes,
    sla: watchSla({ calls, errorRate, p95 }, sla),
  };
}

async function countScopes(
  store: ObservationStore,
  range: Range,
  { calls }: { calls: number },
): Promise<number> {
  if (range.scope !== null) return calls > 0 ? 1 : 0;
  const kept = coverRange({ ...range, scope: SHARED });
  return await store.countScopes(kept, range.tool);
}

/** A duration to the microsecond. */
export function roundMs(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}

/** Whether calls keep within the SLA's limits; the reason names the worst figure. */
export function watchSla(
  { calls, errorRate, p95 }: { calls: number; errorRate: number; p95: number | null },
  sla: Settings['sla'],
): SlaWatch {
  const { p95Ms, errorRate: mostErrors, slowCallMs, minCalls } = sla;
  const limits = { p95Ms, errorRate: mostErrors, slowCallMs, minCalls };
  if (calls === 0) return { state: 'ok', reason: 'There were no calls.', limits };
  const findings = [
    {
      share: toShare(p95 ?? 0, sla.p95Ms),
      text: `The 95th percentile is ${Math.round(p95 ?? 0)} ms, the limit ${sla.p95Ms} ms.`,
    },
    {
      share: toShare(errorRate, sla.errorRate),
      text: `${toPercent(errorRate)} of the calls failed, the limit is ${toPercent(sla.errorRate)}.`,
    },
  ].sort((left, right) => right.share - left.share);
  const worst = findings[0] as (typeof findings)[number];
  if (worst.share > 1 && calls < minCalls) {
    const few = calls === 1 ? 'was only 1 call' : `were only ${calls} calls`;
    const reason = `${worst.text} There ${few}: a breach counts from ${minCalls} calls on.`;
    return { state: 'watch', reason, limits };
  }
  if (worst.share > 1) return { state: 'breached', reason: worst.text, limits };
  if (worst.share >= WATCH_SHARE) return { state: 'watch', reason: worst.text, limits };
  return { state: 'ok', reason: 'Errors and latency are within their limits.', limits };
}

/** How much of a limit is used up; of a limit of 0, all or nothing. */
function toShare(value: number, limit: number): number {
  if (limit > 0) return value / limit;
  return value > 0 ? Infinity : 0;
}
