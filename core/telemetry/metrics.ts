import type { Gauge, Registry } from 'prom-client';
import type { EventRecord } from '../contracts/records.ts';
import type { SpanCounters } from '../contracts/trace-exporter.ts';
import { outcomeOf } from './events/outcome.ts';

/** Upper ends of the histogram's buckets, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Where the metrics read their values on each scrape. */
interface MetricsSources {
  queues(): { accessQueued: number; eventsQueued: number; eventsDropped: number };
  streams(): { watchers: number; dropped: number };
  filesBehind(): Promise<number>;
  /** Makes a test write if the latest write is old. */
  writesFail(): Promise<boolean>;
  /** The exporters; `spans` is `null` for one that doesn't count. */
  exporters(): readonly { name: string; spans: SpanCounters | null }[];
}

/** Figures of this instance for Prometheus. */
export interface Metrics {
  /** Counts written events; this costs a few additions per event. */
  count(events: readonly EventRecord[]): void;
  /** The text exposition format, version 0.0.4. */
  text(): Promise<string>;
}

/**
 * Creates the metrics. Labels are only tools, outcomes and exporters, never users, paths or actors:
 * this keeps the number of series small and personal data out.
 */
export function createMetrics(sources: MetricsSources): Metrics {
  const tools = new Map<string, ToolFigures>();
  let spans = 0;
  let registry: Promise<Registry> | null = null;

  return {
    count(events) {
      for (const event of events) {
        spans += 1 + event.spans.length;
        if (event.kind !== 'tool') continue;
        const tool = event.tool ?? 'unknown';
        let figures = tools.get(tool);
        if (figures === undefined) tools.set(tool, (figures = newFigures()));
        figures.outcomes[outcomeOf(event)] += 1;
        const seconds = event.durationMs / 1000;
        figures.seconds += seconds;
        const bucket = BUCKETS.findIndex((end) => seconds <= end);
        const at = bucket === -1 ? BUCKETS.length : bucket;
        figures.buckets[at] = (figures.buckets[at] ?? 0) + 1;
      }
    },
    async text() {
      registry ??= createRegistry(sources, { tools, spans: () => spans });
      return (await registry).metrics();
    },
  };
}

/** The series, read from the counts and the sources on each scrape. */
async function createRegistry(
  sources: MetricsSources,
  { tools, spans }: { tools: ReadonlyMap<string, ToolFigures>; spans: () => number },
): Promise<Registry> {
  // Loaded by the first scrape: most services have none, and no command.
  const { Counter, Gauge, Registry } = await import('prom-client');
  const registers = [new Registry()];
  const [registry] = registers as [Registry];

  new Counter({
    name: 'memory_service_tool_calls_total',
    help: 'Tool calls by tool and outcome: ok, failed (5xx) or refused (4xx).',
    labelNames: ['tool', 'outcome'],
    registers,
    collect() {
      this.reset();
      for (const [tool, { outcomes }] of tools) {
        for (const [outcome, calls] of Object.entries(outcomes)) this.inc({ tool, outcome }, calls);
      }
    },
  });
  registry.registerMetric(durationsOf(tools));
  gauge('memory_service_access_rows_queued', 'Access rows that wait to be written.', () => {
    return sources.queues().accessQueued;
  });
  gauge('memory_service_events_queued', 'Events that wait to be written.', () => {
    return sources.queues().eventsQueued;
  });
  gauge('memory_service_index_files_behind', 'Files whose search index is behind.', () =>
    sources.filesBehind(),
  );
  gauge(
    'memory_service_writes_failing',
    '1 while the database takes no writes, else 0.',
    async () => Number(await sources.writesFail()),
  );
  gauge('memory_service_stream_watchers', 'Open live streams.', () => sources.streams().watchers);
  counter('memory_service_events_dropped_total', 'Events that found the queue full.', () => {
    return sources.queues().eventsDropped;
  });
  counter('memory_service_stream_watchers_dropped_total', 'Watchers that did not keep up.', () => {
    return sources.streams().dropped;
  });
  counter('memory_service_spans_total', 'Spans that were recorded, roots among them.', spans);
  // Those of an exporter add up to the spans that it was to export: with sampling not all of them.
  for (const [fate, help] of [
    ['exported', 'Spans that the receiver took.'],
    ['dropped', 'Spans that found the exporter’s queue full, or were left at the end.'],
    ['failed', 'Spans that the receiver refused, or never acknowledged.'],
  ] as const) {
    new Counter({
      name: `memory_service_spans_${fate}_total`,
      help,
      labelNames: ['exporter'],
      registers,
      collect() {
        this.reset();
        for (const { name, counters } of exportersThatCount()) {
          this.inc({ exporter: name }, counters[fate]);
        }
      },
    });
  }
  new Gauge({
    name: 'memory_service_spans_queued',
    help: 'Spans that wait to be exported, or are on their way.',
    labelNames: ['exporter'],
    registers,
    collect() {
      this.reset();
      for (const { name, counters } of exportersThatCount()) {
        this.inc({ exporter: name }, counters.queued);
      }
    },
  });
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('process_start_time_seconds', 'When the process began, since 1970.', () =>
    Math.round(Date.now() / 1000 - process.uptime()),
  );
  counter('process_cpu_seconds_total', 'Processor time, of the user and the system.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });

  function exportersThatCount(): { name: string; counters: SpanCounters }[] {
    return sources
      .exporters()
      .flatMap(({ name, spans: counters }) => (counters === null ? [] : [{ name, counters }]));
  }

  function gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  }

  function counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  return registry;
}

interface ToolFigures {
  outcomes: { ok: number; failed: number; refused: number };
  seconds: number;
  /** Calls in each bucket, and one entry for calls beyond the last bucket. */
  buckets: number[];
}

function newFigures(): ToolFigures {
  return {
    outcomes: { ok: 0, failed: 0, refused: 0 },
    seconds: 0,
    buckets: new Array<number>(BUCKETS.length + 1).fill(0),
  };
}

const DURATIONS = 'memory_service_tool_duration_seconds';

/**
 * A histogram built from our own counters: prom-client's takes 5 µs per observation, more than
 * recording the whole call.
 */
function durationsOf(tools: ReadonlyMap<string, ToolFigures>) {
  const get = () => ({
    name: DURATIONS,
    help: 'How long tool calls took.',
    type: 'histogram',
    aggregator: 'sum',
    values: [...tools].flatMap(([tool, { seconds, buckets }]) => {
      let calls = 0;
      const ends = [...BUCKETS, '+Inf'].map((le, at) => {
        calls += buckets[at] ?? 0;
        return { metricName: `${DURATIONS}_bucket`, labels: { le, tool }, value: calls };
      });
      return [
        ...ends,
        { metricName: `${DURATIONS}_sum`, labels: { tool }, value: seconds },
        { metricName: `${DURATIONS}_count`, labels: { tool }, value: calls },
      ];
    }),
  });
  // The registry reads only a metric's name and values.
  return { name: DURATIONS, get } as unknown as Gauge;
}
