// An app with its own OpenTelemetry; the spans of its memory are in the same trace.
//
//   node examples/otlp/main.mjs [collector]      default: http://127.0.0.1:4318

// #region app
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
// #endregion
// #region service
import { createMemoryService } from 'memory-service';
import { otlp } from 'memory-service/plugins/exporter-otlp';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
// #endregion

const collector = process.argv[2] ?? 'http://127.0.0.1:4318';

// #region app
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'travel-agent' }),
  spanProcessors: [
    new BatchSpanProcessor(new OTLPTraceExporter({ url: `${collector}/v1/traces` })),
  ],
});
// Also sets up the context that follows your code through promises.
provider.register();
const tracer = trace.getTracer('travel-agent');
// #endregion

// #region service
const exporter = otlp({ endpoint: collector });
const service = createMemoryService({
  storage: sqlite({ filename: ':memory:' }),
  exporters: [exporter],
});
// From here on, the active span is the parent of a call.
await service.ready();
// #endregion

/**
 * @param {string} name
 * @param {object} args
 */
function callTool(name, args) {
  return service.tools.execute(name, { context: { userId: 'anna' }, arguments: args });
}

// #region call
await tracer.startActiveSpan('answer a question', async (span) => {
  try {
    await callTool('memory_write', { path: 'user/profile.md', content: 'Lives in Bergen.\n' });
    await callTool('memory_find', { query: 'Where does Anna live?' });
    // The file does not exist: the span is an error with the code as its type.
    await callTool('memory_read', { path: 'user/travel.md' });
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    console.log(`The app's span: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    span.end();
    console.log(`Trace ${span.spanContext().traceId}`);
  }
});
// #endregion

// #region close
// Writes and sends the queued spans; waits at most 3 seconds for the collector.
await service.close();
await provider.shutdown();
const { exported, dropped, failed } = exporter.counters?.() ?? {};
// #endregion
console.log(`${exported} spans of memory exported, ${dropped} dropped, ${failed} failed`);
