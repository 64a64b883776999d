import { context, type Span, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import Koa from 'koa';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import { createMemoryService } from '../../../core/index.ts';
import { otlp } from '../../../plugins/exporter-otlp/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { API_KEY, asAgent, requester } from '../../core/http/serve.ts';
import { startCollector } from '../../support/collector.ts';
import { temporaryDatabase } from '../../support/service.ts';

/** The app's own OpenTelemetry, as it would set it up: its spans go elsewhere. */
const appSpans = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(appSpans)] });
beforeAll(() => provider.register());
beforeEach(() => appSpans.reset());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});

/** A tool below which the app's instrumentation makes a span, as for a request or a query. */
const instrumented: Plugin = {
  name: 'instrumented',
  apiVersion: 2,
  setup: () => ({
    tools: [
      {
        name: 'fetch_weather',
        title: 'Weather',
        description: 'Asks the weather.',
        inputSchema: { type: 'object' },
        outputSchema: {},
        readOnly: true,
        requiresModel: false,
        errorCodes: [],
        example: { arguments: {}, result: {} },
        async run() {
          await Promise.resolve();
          trace.getTracer('app').startSpan('GET /weather').end();
          return {};
        },
      },
    ],
  }),
};

async function makeService() {
  const collector = await startCollector();
  const service = createMemoryService({
    storage: sqlite({ filename: await temporaryDatabase() }),
    apiKey: API_KEY,
    plugins: [instrumented],
    exporters: [otlp({ endpoint: collector.url })],
  });
  onTestFinished(() => service.close());
  return { service, collector };
}

async function openService() {
  const made = await makeService();
  await made.service.ready();
  return made;
}

const inSpan = <T>(name: string, work: (span: Span) => Promise<T>): Promise<T> =>
  trace.getTracer('app').startActiveSpan(name, (span) => work(span).finally(() => span.end()));
const request = (more: object = {}) => ({ context: { userId: 'alice' }, arguments: {}, ...more });

it('a call made in process is a child of the app’s active span', async () => {
  const { service, collector } = await openService();
  const parent = await inSpan('agent turn', async (span) => {
    const answer = await service.tools.execute('memory_list', request());
    expect(answer.traceId).toBe(span.spanContext().traceId);
    return span.spanContext();
  });
  const alone = await service.tools.execute('memory_list', request());
  expect(alone.traceId).not.toBe(parent.traceId);
  await service.close();
  const roots = collector.spans.filter(({ name }) => name === 'execute_tool memory_list');
  expect(roots).toMatchObject([
    { traceId: parent.traceId, parentSpanId: parent.spanId },
    { traceId: alone.traceId, parentSpanId: '' },
  ]);
});

it('a call that comes before the service is ready is a child of the app’s active span too', async () => {
  const { service, collector } = await makeService();
  const parent = await inSpan('agent turn', async (span) => {
    await Promise.all([
      service.tools.execute('memory_list', request()),
      service.tools.execute('fetch_weather', request()),
    ]);
    return span.spanContext();
  });
  await service.close();
  const roots = collector.spans.filter(({ name }) => name.startsWith('execute_tool '));
  expect(roots).toHaveLength(2);
  for (const root of roots)
    expect(root).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId });
});

it('what the app records below a tool is a child of the tool’s span', async () => {
  const { service, collector } = await openService();
  await service.tools.execute('fetch_weather', request());
  await service.close();
  const [below] = appSpans.getFinishedSpans();
  const root = collector.spans.find(({ name }) => name === 'execute_tool fetch_weather');
  expect(below?.name).toBe('GET /weather');
  expect(below?.parentSpanContext?.spanId).toBe(root?.spanId);
  expect(below?.spanContext().traceId).toBe(root?.traceId);
});

it('mounted, a call is below the span that the app has for the request', async () => {
  const { service, collector } = await openService();
  const app = new Koa();
  const requestSpans: Span[] = [];
  app.use((ctx, next) =>
    inSpan(`${ctx.method} ${ctx.path}`, async (span) => {
      requestSpans.push(span);
      await next();
    }),
  );
  app.use(service.middleware());
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = requester((server.address() as AddressInfo).port);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const { json } = await client.request('POST', '/v1/tools/memory_list/execute', {
    headers: asAgent,
    body: { context: { userId: 'alice' } },
  });
  await service.close();
  const parent = requestSpans[0]?.spanContext();
  expect((json as { traceId: string }).traceId).toBe(parent?.traceId);
  const root = collector.spans.find(({ name }) => name === 'execute_tool memory_list');
  expect(root).toMatchObject({ traceId: parent?.traceId, parentSpanId: parent?.spanId });
});

it('a traceparent of another trace wins over the app’s span, one of the same trace does not', async () => {
  const { service, collector } = await openService();
  const [other, caller] = ['ab'.repeat(16), 'cd'.repeat(8)];
  const active = await inSpan('agent turn', async (span) => {
    const { traceId, spanId } = span.spanContext();
    await service.tools.execute(
      'memory_list',
      request({ traceparent: `00-${other}-${caller}-01` }),
    );
    await service.tools.execute(
      'memory_list',
      request({ traceparent: `00-${traceId}-${caller}-01` }),
    );
    return { traceId, spanId };
  });
  await service.close();
  const roots = collector.spans.filter(({ name }) => name === 'execute_tool memory_list');
  expect(roots).toMatchObject([
    { traceId: other, parentSpanId: caller },
    { traceId: active.traceId, parentSpanId: active.spanId },
  ]);
  // Bit 9 says that the parent is another process's.
  expect(roots.map(({ flags }) => (flags & 0x200) !== 0)).toEqual([true, false]);
});

it('the app’s instrumentation makes no span of a request to the collector', async () => {
  const { service, collector } = await openService();
  const seen: boolean[] = [];
  // What an instrumentation of HTTP does when a request begins.
  const instrument = () => {
    const span = trace.getTracer('http').startSpan('POST');
    seen.push(span.isRecording());
    span.end();
  };
  subscribe('http.client.request.start', instrument);
  onTestFinished(() => void unsubscribe('http.client.request.start', instrument));
  await inSpan('agent turn', () => service.tools.execute('memory_list', request()));
  await service.close();
  expect(collector.requests).toHaveLength(1);
  expect(seen).toEqual([false]);
});
