import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { KnownErasures } from '../files/known-erasures.ts';
import { createWriteHealth } from '../files/write-health.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import { createAccessQueue } from '../telemetry/access-queue.ts';
import { createEventStreams } from '../telemetry/events/event-stream.ts';
import { observationsOf } from '../telemetry/events/observation-store.ts';
import { createExporters } from '../telemetry/exporters.ts';
import { DREAMING } from '../files/run-names.ts';
import { toUtcDay } from '../time/time.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createRollUp } from '../telemetry/rollups/rollups.ts';
import type { Basis } from './basis.ts';

/** What takes the rows and events that calls leave. */
export type Telemetry = ReturnType<typeof createTelemetry>;

/** Connects the queue of the log with those that get its events. */
export function createTelemetry(
  { storage, screening, log, ids, now }: Basis,
  {
    exporters: given,
    erasureLookMs,
  }: { exporters: readonly TraceExporter[]; erasureLookMs?: number | undefined },
) {
  const exporters = createExporters(given, {
    config: storage.config,
    log,
    version: findPackageRoot().version,
  });
  const writeHealth = createWriteHealth(storage);
  const knownErasures = new KnownErasures({
    storage,
    lookMs: erasureLookMs,
    now,
    onEnd: () => queue.forgetCounts(),
  });
  const queue = createAccessQueue({
    store: storage.log,
    latestErasure: () => knownErasures.latest(),
    health: writeHealth,
    exporters: exporters.active,
    log,
    rollUp: createRollUp(ids.next()),
    onWritten(events) {
      metrics.count(events);
      eventStreams.wake();
    },
  });
  const eventStreams = createEventStreams({ store: observationsOf(storage), now, log });
  const metrics = createMetrics({
    queues: () => queue.counters(),
    streams: () => eventStreams.counters(),
    filesBehind: () => storage.files.countBehind(),
    writesFail: async () => (await writeHealth.check()).status === 'failing',
    screened: () => screening.counts(),
    dreamTokens: async () => (await storage.runs?.of(DREAMING).countTokens(toUtcDay(now()))) ?? 0,
    checks: async () => (await storage.checks.runs({ limit: 1 }))[0] ?? null,
    exporters: () => exporters.describe(),
  });
  return { exporters, writeHealth, knownErasures, queue, eventStreams, metrics };
}
