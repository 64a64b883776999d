import type { CallRecord, RollupCount, RollupRecord } from '../../contracts/records.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { toIdMs } from '../../ids/id-time.ts';
import { coverRange, type Range } from './range.ts';
import { GRAIN_MS } from './rollups.ts';

/** Calls read in one query. */
const CALLS_AT_ONCE = 5_000;

/** Receives whole roll-ups, and the single calls at the ends of the range. */
export type CallReader = {
  /** The longest roll-up to use, in milliseconds; default: any. */
  finest?: number;
  call(call: CallRecord, at: number): void;
} & (
  | { rollup(rollup: RollupRecord): void }
  /** Roll-ups without latencies, summed up in buckets of `finest` milliseconds. */
  | { count(count: RollupCount): void }
);

/**
 * Reads all calls of a range, each once: roll-ups where whole ones lie inside, the calls themselves
 * at the ends. So a count is exact for any range, and costs about as much as reading its roll-ups.
 */
export async function readCalls(
  store: ObservationStore,
  range: Range,
  reader: CallReader,
): Promise<void> {
  const { scope, tool } = range;
  const { finest } = reader;
  for (const { grain, since, until } of coverRange(range, finest)) {
    if (grain !== null && 'count' in reader) {
      const length = Math.max(GRAIN_MS[grain], finest ?? 0);
      for (const count of await store.countRollups({ grain, scope, tool, since, until, length })) {
        reader.count(count);
      }
      continue;
    }
    if (grain !== null && 'rollup' in reader) {
      for (const rollup of await store.rollups({ grain, scope, tool, since, until })) {
        reader.rollup(rollup);
      }
      continue;
    }
    let after: string | null = null;
    for (;;) {
      const page = { after, limit: CALLS_AT_ONCE };
      const calls: readonly CallRecord[] = await store.calls({ scope, tool, since, until }, page);
      for (const call of calls) reader.call(call, toIdMs(call.id));
      if (calls.length < CALLS_AT_ONCE) break;
      after = calls.at(-1)?.id ?? null;
    }
  }
}
