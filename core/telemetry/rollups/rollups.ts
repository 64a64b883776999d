import { LRUCache } from 'lru-cache';
import type {
  CallRecord,
  EventRecord,
  RollupCount,
  RollupGrain,
  RollupKey,
  RollupRecord,
} from '../../contracts/records.ts';
import type { RollUp } from '../../contracts/storage.ts';
import { toIdMs } from '../../ids/id-time.ts';
import { LatencySketch } from './latency-sketch.ts';
import { activityOf, outcomeOf } from '../events/outcome.ts';

/** The length of a bucket of each grain, in milliseconds. */
export const GRAIN_MS: Readonly<Record<RollupGrain, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/**
 * The stored grains, longest first. Scopes have no minutes: few scopes have more than some calls in a
 * minute, and counting those one by one is as fast.
 */
export const KEPT_GRAINS = {
  all: ['day', 'hour', 'minute'],
  scope: ['day', 'hour'],
} as const satisfies Record<string, readonly RollupGrain[]>;

/** Totals of calls. */
export class CallTotals {
  calls = 0;
  failed = 0;
  refused = 0;
  reads = 0;
  writes = 0;
  finds = 0;
  /** The latency of all but refused calls, which take no time and would hide the others. */
  readonly latency = new LatencySketch();

  addCall(call: Pick<CallRecord, 'tool' | 'status' | 'errorCode' | 'durationMs'>): void {
    this.calls += 1;
    const outcome = outcomeOf(call);
    if (outcome === 'refused') {
      this.refused += 1;
      return;
    }
    this.latency.add(call.durationMs);
    if (outcome === 'failed') {
      this.failed += 1;
      return;
    }
    const activity = activityOf(call.tool);
    if (activity !== null) this[activity] += 1;
  }

  add(other: CallTotals): void {
    for (const count of COUNTS) this[count] += other[count];
    this.latency.merge(other.latency);
  }

  copy(): CallTotals {
    const copy = new CallTotals();
    copy.add(this);
    return copy;
  }

  addCount(counts: RollupCount): void {
    for (const count of COUNTS) this[count] += counts[count];
  }

  addRollup(rollup: RollupRecord): void {
    for (const count of COUNTS) this[count] += rollup[count];
    this.latency.addPacked(rollup.latency);
  }

  toRollup(key: RollupKey, instanceId: string): RollupRecord {
    const { calls, failed, refused, reads, writes, finds } = this;
    const latency = this.latency.pack();
    return { ...key, instanceId, calls, failed, refused, reads, writes, finds, latency };
  }
}

const COUNTS = ['calls', 'failed', 'refused', 'reads', 'writes', 'finds'] as const;

/** The most cached rows, of about 1 KB each: enough for a thousand active users. */
const KNOWN_LIMIT = 5_000;

/** A {@link RollUp} that caches its rows, and so must learn whether they were written. */
export interface RememberedRollUp extends RollUp {
  /** Call this when the rows of the last `count` were written. */
  commit(): void;
  /** Call this when it is unknown whether they were written: clears the cache. */
  forget(): void;
}

/**
 * Counts the events of a batch by minute, hour and day for all scopes together, and by hour and day
 * for each scope. Each instance has its own rows, so that instances don't wait for each other and
 * recently written rows needn't be read again.
 */
export function createRollUp(instanceId: string): RememberedRollUp {
  const known = new LRUCache<string, CallTotals>({ max: KNOWN_LIMIT });
  /** The totals of the rows of the current batch. */
  const pending = new Map<string, CallTotals>();
  return {
    count(events) {
      pending.clear();
      const sums = sumUp(events);
      const whole: RollupRecord[] = [];
      const added: RollupRecord[] = [];
      for (const [name, { key, totals }] of sums) {
        const before = known.get(name);
        if (before !== undefined) totals.add(before);
        pending.set(name, totals);
        (before === undefined ? added : whole).push(totals.toRollup(key, instanceId));
      }
      return { whole, added };
    },
    merge(kept, added) {
      const totals = new CallTotals();
      totals.addRollup(kept);
      totals.addRollup(added);
      const { grain, bucket, scope, tool } = added;
      const key = { grain, bucket, scope, tool };
      pending.set(nameOf(key), totals);
      return totals.toRollup(key, added.instanceId);
    },
    commit() {
      for (const [name, totals] of pending) known.set(name, totals);
      pending.clear();
    },
    forget() {
      pending.clear();
      known.clear();
    },
  };
}

function sumUp(
  events: readonly EventRecord[],
): Map<string, { key: RollupKey; totals: CallTotals }> {
  const sums = new Map<string, { key: RollupKey; totals: CallTotals }>();
  for (const leaf of countLeaves(events)) {
    for (const key of keysOf(leaf.key)) {
      const name = nameOf(key);
      const sum = sums.get(name);
      if (sum === undefined) sums.set(name, { key, totals: leaf.totals.copy() });
      else sum.totals.add(leaf.totals);
    }
  }
  return sums;
}

/** Counts each call once, by the finest key: a batch has few users and tools, but five rows each. */
function countLeaves(events: readonly EventRecord[]) {
  const leaves = new Map<string, { key: RollupKey; totals: CallTotals }>();
  for (const event of events) {
    if (event.kind !== 'tool') continue;
    const { scope, tool } = event;
    const at = toIdMs(event.id);
    const key: RollupKey = { grain: 'minute', bucket: at - (at % GRAIN_MS.minute), scope, tool };
    const name = nameOf(key);
    let leaf = leaves.get(name);
    if (leaf === undefined) leaves.set(name, (leaf = { key, totals: new CallTotals() }));
    leaf.totals.addCall(event);
  }
  return leaves.values();
}

function* keysOf({ bucket, scope, tool }: RollupKey): Generator<RollupKey> {
  const startOf = (grain: RollupGrain) => bucket - (bucket % GRAIN_MS[grain]);
  for (const grain of KEPT_GRAINS.all) yield { grain, bucket: startOf(grain), scope: null, tool };
  for (const grain of KEPT_GRAINS.scope) yield { grain, bucket: startOf(grain), scope, tool };
}

function nameOf({ grain, bucket, scope, tool }: RollupKey): string {
  return `${grain} ${bucket} ${scope ?? ''} ${tool ?? ''}`;
}
