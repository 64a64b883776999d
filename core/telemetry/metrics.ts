import type { Gauge } from 'prom-client';
import type { CheckRunRecord } from '../contracts/checks.ts';
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
  /** Writes that screening changed or refused, by outcome and kind. */
  screened(): readonly { outcome: string; kind: string; writes: number }[];
  /** The last run of the stored checks; `null` before the first. */
  checks(): Promise<Pick<CheckRunRecord, 'at' | 'passed' | 'failed'> | null>;
  /** Tokens of the model that dream runs have used today. */
  dreamTokens(): Promise<number>;
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

/** The series and what each says. */
const HELP = {
  memory_service_tool_calls_total:
    'Tool calls by tool and outcome: ok, failed (5xx) or refused (4xx).',
  memory_service_key_calls_total: 'Tool calls by named key and outcome.',
  memory_service_tool_duration_seconds: 'How long tool calls took.',
  memory_service_access_rows_queued: 'Access rows that wait to be written.',
  memory_service_events_queued: 'Events that wait to be written.',
  memory_service_index_files_behind: 'Files whose search index is behind.',
  memory_service_writes_failing: '1 while the database takes no writes, else 0.',
  memory_service_screened_writes_total:
    'Writes in which screening masked something, or that it refused, by outcome and kind.',
  memory_service_checks_failed: 'Stored checks that failed in their last run.',
  memory_service_checks_passed: 'Stored checks that passed in their last run.',
  memory_service_checks_run_timestamp_seconds: 'When they were last run, since 1970.',
  memory_service_dream_tokens_today:
    'Tokens of the model that dream runs have used today (UTC), of all users and spaces.',
  memory_service_stream_watchers: 'Open live streams.',
  memory_service_events_dropped_total: 'Events that found the queue full.',
  memory_service_stream_watchers_dropped_total: 'Watchers that did not keep up.',
  memory_service_spans_total: 'Spans that were recorded, roots among them.',
  // Those of an exporter add up to the spans that it was to export: with sampling not all of them.
  memory_service_spans_exported_total: 'Spans that the receiver took.',
  memory_service_spans_dropped_total:
    'Spans that found the exporter’s queue full, or were left at the end.',
  memory_service_spans_failed_total: 'Spans that the receiver refused, or never acknowledged.',
  memory_service_spans_queued: 'Spans that wait to be exported, or are on their way.',
  process_resident_memory_bytes: 'Resident memory.',
  process_start_time_seconds: 'When the process began, since 1970.',
  process_cpu_seconds_total: 'Processor time, of the user and the system.',
} as const;

/** One value of a series with labels; those of a histogram have names of their own. */
interface Sample {
  metricName?: string;
  labels: Readonly<Record<string, string | number>>;
  value: number;
}

type Values = Readonly<Record<keyof typeof HELP, number | readonly Sample[]>>;

/**
 * Creates the metrics. Labels are only tools, outcomes, kinds, exporters and names of API keys, never users,
 * paths or actors: this keeps the number of series small and personal data out.
 */
export function createMetrics(sources: MetricsSources): Metrics {
  const tools = new Map<string, ToolFigures>();
  const keys = new Map<string, ToolFigures['outcomes']>();
  let spans = 0;

  async function read(): Promise<Values> {
    const { accessQueued, eventsQueued, eventsDropped } = sources.queues();
    const { watchers, dropped } = sources.streams();
    const exporters = sources.exporters();
    const ofExporters = (fate: keyof SpanCounters): Sample[] =>
      exporters.flatMap(({ name, spans: counters }) =>
        counters === null ? [] : [{ labels: { exporter: name }, value: counters[fate] }],
      );
    const [filesBehind, isFailing, checks, dreamTokens] = await Promise.all([
      sources.filesBehind(),
      sources.writesFail(),
      sources.checks(),
      sources.dreamTokens(),
    ]);
    const ofChecks = (value: (run: NonNullable<typeof checks>) => number): Sample[] =>
      checks === null ? [] : [{ labels: {}, value: value(checks) }];
    const { user, system } = process.cpuUsage();
    return {
      memory_service_tool_calls_total: [...tools].flatMap(([tool, { outcomes }]) =>
        toCalls({ tool }, outcomes),
      ),
      memory_service_key_calls_total: [...keys].flatMap(([key, outcomes]) =>
        toCalls({ key }, outcomes),
      ),
      memory_service_tool_duration_seconds: [...tools].flatMap(toDurations),
      memory_service_access_rows_queued: accessQueued,
      memory_service_events_queued: eventsQueued,
      memory_service_index_files_behind: filesBehind,
      memory_service_writes_failing: Number(isFailing),
      memory_service_screened_writes_total: sources
        .screened()
        .map(({ outcome, kind, writes }) => ({ labels: { outcome, kind }, value: writes })),
      memory_service_checks_failed: ofChecks(({ failed }) => failed),
      memory_service_checks_passed: ofChecks(({ passed }) => passed),
      memory_service_checks_run_timestamp_seconds: ofChecks(({ at }) => Math.round(at / 1000)),
      memory_service_dream_tokens_today: dreamTokens,
      memory_service_stream_watchers: watchers,
      memory_service_events_dropped_total: eventsDropped,
      memory_service_stream_watchers_dropped_total: dropped,
      memory_service_spans_total: spans,
      memory_service_spans_exported_total: ofExporters('exported'),
      memory_service_spans_dropped_total: ofExporters('dropped'),
      memory_service_spans_failed_total: ofExporters('failed'),
      memory_service_spans_queued: ofExporters('queued'),
      process_resident_memory_bytes: process.memoryUsage.rss(),
      process_start_time_seconds: Math.round(Date.now() / 1000 - process.uptime()),
      process_cpu_seconds_total: (user + system) / 1e6,
    };
  }

  return {
    count(events) {
      for (const event of events) {
        spans += 1 + event.spans.length;
        if (event.kind !== 'tool') continue;
        const tool = event.tool ?? 'unknown';
        let figures = tools.get(tool);
        if (figures === undefined) tools.set(tool, (figures = newFigures()));
        const outcome = outcomeOf(event);
        figures.outcomes[outcome] += 1;
        if (event.key !== null) {
          let outcomes = keys.get(event.key);
          if (outcomes === undefined) keys.set(event.key, (outcomes = newOutcomes()));
          outcomes[outcome] += 1;
        }
        const seconds = event.durationMs / 1000;
        figures.seconds += seconds;
        const bucket = BUCKETS.findIndex((end) => seconds <= end);
        const at = bucket === -1 ? BUCKETS.length : bucket;
        figures.buckets[at] = (figures.buckets[at] ?? 0) + 1;
      }
    },
    async text() {
      return await format(await read());
    },
  };
}

async function format(series: Values): Promise<string> {
  // Loaded by the first scrape: most services have none, and no command.
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  for (const [name, found] of Object.entries(series)) {
    const isCounter = name.endsWith('_total');
    const type = name === DURATIONS ? 'histogram' : isCounter ? 'counter' : 'gauge';
    const values = typeof found === 'number' ? [{ value: found }] : found;
    const help = HELP[name as keyof typeof HELP];
    const metric = { name, help, type, aggregator: 'sum', values };
    // The registry reads no more of a metric. prom-client's own would count a second time: its
    // histogram takes 5 µs per observation, more than recording the whole call.
    registry.registerMetric({ name, get: () => metric } as unknown as Gauge);
  }
  return await registry.metrics();
}

interface ToolFigures {
  outcomes: { ok: number; failed: number; refused: number };
  seconds: number;
  /** Calls in each bucket, and one entry for calls beyond the last bucket. */
  buckets: number[];
}

function newOutcomes(): ToolFigures['outcomes'] {
  return { ok: 0, failed: 0, refused: 0 };
}

function newFigures(): ToolFigures {
  return {
    outcomes: newOutcomes(),
    seconds: 0,
    buckets: new Array<number>(BUCKETS.length + 1).fill(0),
  };
}

const DURATIONS = 'memory_service_tool_duration_seconds' satisfies keyof typeof HELP;

function toCalls(labels: Sample['labels'], outcomes: ToolFigures['outcomes']): Sample[] {
  return Object.entries(outcomes).map(([outcome, value]) => ({
    labels: { ...labels, outcome },
    value,
  }));
}

/** A tool's histogram. */
function toDurations([tool, { seconds, buckets }]: [string, ToolFigures]): Sample[] {
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
}
