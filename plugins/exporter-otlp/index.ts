import type { EventRecord } from '../../core/contracts/records.ts';
import type { ExporterServices, TraceExporter } from '../../core/contracts/trace-exporter.ts';
import { MemoryError } from '../../core/errors.ts';
import { readActiveContext, runWithSpan } from './app-context.ts';
import { createSpanQueue, type SpanQueue } from './queue.ts';
import { createSampler } from './sampler.ts';
import { importSdk, type OtlpSdk } from './sdk.ts';
import { type OtlpOptions, type OtlpSettings, readSettings } from './settings.ts';
import { toReadableSpans } from './spans.ts';
import { openTransport } from './transport.ts';

export type { OtlpOptions, Protocol } from './settings.ts';

/** How long closing the service may wait for the collector. */
const CLOSE_MS = 3_000;

/** In UTF-16 units: what a log line quotes of a failure. */
const REASON_LIMIT = 200;

/**
 * Sends the spans of tool calls to an OpenTelemetry collector, over OTLP/HTTP. At most 2,048 spans
 * wait; what finds no room is dropped and counted, and no tool call waits. Needs the packages
 * `@opentelemetry/api`, `@opentelemetry/resources`, `@opentelemetry/sdk-trace-node` and the exporter
 * of the protocol (`@opentelemetry/exporter-trace-otlp-proto`, or `…-http` for JSON), which are
 * imported when the service opens.
 *
 * Throws `INVALID_REQUEST` that names the option, or the `OTEL_*` variable, that is wrong.
 *
 * @example
 * createMemoryService({ storage, exporters: [otlp({ endpoint: 'http://127.0.0.1:4318' })] });
 */
export function otlp(options: OtlpOptions = {}): TraceExporter {
  const settings = readSettings(options);
  let running: Running | null = null;
  return {
    name: 'otlp',
    async open(service) {
      running ??= await run(settings, service);
    },
    async export(events) {
      if (running === null) throw new MemoryError('INTERNAL', 'The exporter is not open.');
      const { queue, isSampled } = running;
      for (const event of events) if (isSampled(event)) queue.add(event);
    },
    counters: () => running?.queue.counters() ?? { queued: 0, exported: 0, dropped: 0, failed: 0 },
    activeContext: () => (running === null ? null : readActiveContext(running.sdk.api)),
    runWithin: (span, work) =>
      running === null ? work() : runWithSpan(running.sdk.api, span, work),
    async close() {
      await running?.close();
    },
  };
}

/** An exporter that is open. */
interface Running {
  sdk: OtlpSdk;
  queue: SpanQueue;
  isSampled(event: EventRecord): boolean;
  close(): Promise<void>;
}

async function run(settings: OtlpSettings, service: ExporterServices): Promise<Running> {
  const { version, hashUserId, log } = service;
  const sdk = await importSdk(settings.protocol);
  const { defaultResource, resourceFromAttributes } = sdk.resources;
  const resource = defaultResource().merge(
    resourceFromAttributes({ 'service.version': version, ...settings.resource }),
  );
  const source = { api: sdk.api, resource, version, hashUserId };
  const transport = await openTransport(sdk, settings);

  let isFailing = false;
  /** Said once when it begins and once when it ends: a dead collector fills no log. */
  function report(error: unknown): void {
    if (error === null) {
      if (isFailing) log.info({ exporter: 'otlp' }, 'the collector takes spans again');
    } else if (!isFailing) {
      const reason = error instanceof Error ? error.message.slice(0, REASON_LIMIT) : 'unknown';
      log.warn({ exporter: 'otlp', reason }, 'the collector does not take spans');
    }
    isFailing = error !== null;
  }

  const queue = createSpanQueue(
    settings.queue,
    async (events) => transport.send(events.flatMap((event) => toReadableSpans(event, source))),
    report,
  );
  return {
    sdk,
    queue,
    isSampled: createSampler(sdk, settings.sampler),
    async close() {
      const spans = await queue.close(CLOSE_MS);
      if (spans > 0) log.warn({ exporter: 'otlp', spans }, 'spans were left at the end');
      transport.close();
    },
  };
}
