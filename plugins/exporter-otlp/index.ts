import type { ExporterServices, TraceExporter } from '../../core/contracts/trace-exporter.ts';
import { MemoryError } from '../../core/errors.ts';
import { readActiveContext, runWithSpan } from './app-context.ts';
import { openPipeline, type Pipeline, sendNothing } from './pipeline.ts';
import { importSdk, type OtlpSdk } from './sdk.ts';
import { type OtlpOptions, type OtlpSettings, readSettings } from './settings.ts';

export type { OtlpOptions, Protocol } from './settings.ts';

/** How long closing the service may wait for the collector. */
const CLOSE_MS = 3_000;

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
      running ??= await open(settings, service);
    },
    async export(events) {
      if (running === null) throw new MemoryError('INTERNAL', 'The exporter is not open.');
      for (const event of events) running.pipeline.add(event);
    },
    check: async () => sendNothing(await importSdk(settings.protocol), settings),
    counters: () =>
      running?.pipeline.counters() ?? { queued: 0, exported: 0, dropped: 0, failed: 0 },
    activeContext: () => (running === null ? null : readActiveContext(running.sdk.api)),
    runWithin: (span, work) =>
      running === null ? work() : runWithSpan(running.sdk.api, span, work),
    async close() {
      await running?.pipeline.close(CLOSE_MS);
    },
  };
}

/** An exporter that is open. */
interface Running {
  sdk: OtlpSdk;
  pipeline: Pipeline;
}

async function open(settings: OtlpSettings, service: ExporterServices): Promise<Running> {
  const sdk = await importSdk(settings.protocol);
  return { sdk, pipeline: await openPipeline(sdk, settings, service) };
}
