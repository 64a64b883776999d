import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { EventRecord } from '../../core/contracts/records.ts';
import type { ExporterServices, SpanCounters } from '../../core/contracts/trace-exporter.ts';
import { type Agents, openAgents } from './agent.ts';
import type { OtlpSdk } from './sdk.ts';
import type { OtlpSettings } from './settings.ts';
import { countSpans, createTraces } from './spans.ts';
import { takeStart } from '../../core/encoding/take-text.ts';

/** In UTF-16 units: what a log line quotes of a failure. */
const REASON_LIMIT = 200;

/** The SDK's sampler, batches and exporter in a row, with each span counted once. */
export interface Pipeline {
  /** Takes an event, or drops it if its spans find no room: a trace goes out whole or not at all. */
  add(event: EventRecord): void;
  counters(): SpanCounters;
  /** Sends what waits, for `limitMs` at most; the rest then counts as failed or dropped. */
  close(limitMs: number): Promise<void>;
}

/** Rejects with `INVALID_REQUEST` for a certificate that can't be read. */
export async function openPipeline(
  sdk: OtlpSdk,
  settings: OtlpSettings,
  { version, hashUserId, log }: ExporterServices,
): Promise<Pipeline> {
  const agents = await openAgents(settings.environment);
  /** Spans on their way to the collector, and those that wait before them. */
  let sent = 0;
  let waiting = 0;
  let exported = 0;
  let dropped = 0;
  let failed = 0;
  let isFailing = false;
  let isClosing = false;
  let isOver = false;

  /** Logs the begin and the end of a failure, not each batch: a dead collector fills no log. */
  function report(error: unknown): void {
    if (error === null) {
      if (isFailing) log.info({ exporter: 'otlp' }, 'the collector takes spans again');
    } else if (!isFailing) {
      const reason = error instanceof Error ? takeStart(error.message, REASON_LIMIT) : 'unknown';
      log.warn({ exporter: 'otlp', reason }, 'the collector does not take spans');
    }
    isFailing = error !== null;
  }

  /** Counts what becomes of each batch: the SDK's processor does not tell. */
  const counting = (exporter: SpanExporter): SpanExporter => ({
    export(spans, done) {
      const count = spans.length;
      waiting -= count;
      sent += count;
      exporter.export(spans, ({ code, error }) => {
        // Spans that come back after the end are counted already.
        if (!isOver) {
          sent -= count;
          // ExportResultCode of @opentelemetry/core: 0 is success.
          if (code === 0) exported += count;
          else failed += count;
          report(code === 0 ? null : error);
        }
        // The processor would report every failed batch to the app's error handler.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  });

  const { processor, startTrace } = withEnvironment(settings.environment, () => {
    const { defaultResource, detectResources, envDetector, resourceFromAttributes } = sdk.resources;
    const own = { 'service.name': 'memory-service', 'service.version': version };
    const resource = defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] }));
    const exporter = createExporter(sdk, settings, agents);
    const processor = new sdk.node.BatchSpanProcessor(counting(exporter));
    const config = { resource, spanProcessors: [processor] };
    return { processor, startTrace: createTraces(sdk, { version, hashUserId, config }) };
  });

  return {
    add(event) {
      const endTrace = startTrace(event);
      if (endTrace === null) return;
      const spans = countSpans(event);
      // The processor drops span by span, uncounted, and forgets those on their way: it is never
      // given more than it has room for.
      if (isClosing || waiting + sent + spans > settings.maxSpans) {
        dropped += spans;
        return;
      }
      waiting += spans;
      endTrace();
    },
    counters: () => ({ queued: waiting + sent, exported, dropped, failed }),
    async close(limitMs) {
      isClosing = true;
      await withinLimit(processor.shutdown(), limitMs);
      isOver = true;
      const left = waiting + sent;
      if (left > 0) log.warn({ exporter: 'otlp', spans: left }, 'spans were left at the end');
      failed += sent;
      dropped += waiting;
      sent = 0;
      waiting = 0;
      agents.destroy();
    },
  };
}

/** Sends an export without spans. Rejects with what the collector, or the way to it, says. */
export async function sendNothing(sdk: OtlpSdk, settings: OtlpSettings): Promise<void> {
  const agents = await openAgents(settings.environment);
  const exporter = withEnvironment(settings.environment, () =>
    createExporter(sdk, settings, agents),
  );
  try {
    await new Promise<void>((resolve, reject) => {
      exporter.export([], ({ code, error }) => {
        if (code === 0) return resolve();
        const { message = '', code: reason } = (error ?? {}) as NodeJS.ErrnoException;
        const said = takeStart(message, REASON_LIMIT) || String(reason ?? 'no reason');
        reject(new Error(`the collector does not take spans: ${said}`));
      });
    });
  } finally {
    await exporter.shutdown().catch(() => undefined);
    agents.destroy();
  }
}

function createExporter(sdk: OtlpSdk, { headers }: OtlpSettings, agents: Agents): SpanExporter {
  return new sdk.OTLPTraceExporter({ headers: { ...headers }, httpAgentOptions: agents.create });
}

/**
 * Runs `create` with these variables as the only ones of the process. The SDK reads its settings from
 * `process.env` alone, when its parts are created. `create` is synchronous, so that no other code
 * sees the difference.
 */
function withEnvironment<T>(environment: Readonly<Record<string, string>>, create: () => T): T {
  /* eslint-disable no-restricted-syntax -- Reads nothing: hides the variables from the SDK. */
  const own = process.env;
  process.env = { ...environment };
  try {
    return create();
  } finally {
    process.env = own;
  }
  /* eslint-enable no-restricted-syntax */
}

/** Resolves when the work has ended, however, or took too long. */
async function withinLimit(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.catch(() => undefined), limit]);
  clearTimeout(timer);
}
