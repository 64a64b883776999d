import { diag } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SpanCounters, TraceExporter } from '../../../core/contracts/trace-exporter.ts';
import type { Core } from '../../../core/service.ts';
import { otlp } from '../../../plugins/exporter-otlp/index.ts';
import { asAdmin, serveCore } from '../../core/http/serve.ts';
import { startCollector } from '../../support/collector.ts';
import { call } from '../../support/service.ts';

/** F13: a sample in the tests, and more for a release. */
const SPANS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 10_000 : 100_000;

/** Exported, dropped, failed and queued together are what the calls produced. */
function countersOf(core: Core): SpanCounters {
  const [exporter] = core.parts.exporters();
  const spans = exporter?.spans ?? null;
  if (spans === null) throw new Error('the exporter does not count');
  return spans;
}

/** A service with the exporter, and a second one that counts the spans that calls produce. */
async function serveExporting(endpoint: string) {
  const exporter = otlp({ endpoint, environment: { OTEL_BSP_SCHEDULE_DELAY: '10' } });
  const produced = { spans: 0 };
  const counting: TraceExporter = {
    name: 'counting',
    async export(events) {
      for (const { spans } of events) produced.spans += 1 + spans.length;
    },
  };
  const served = await serveCore({ exporters: [exporter, counting] });
  return { ...served, produced };
}

/** Makes calls until they have produced so many spans; all of them are answered. */
async function produce(core: Core, produced: { spans: number }): Promise<void> {
  const file = { path: 'user/a.md', content: '# Tea\n' };
  await call(core, 'alice', 'memory_write', file);
  while (produced.spans < SPANS) {
    const answers = await Promise.all(
      Array.from({ length: 400 }, () => call(core, 'alice', 'memory_read', { path: file.path })),
    );
    expect(answers.map(({ result }) => result['content'])).toEqual(answers.map(() => file.content));
    await core.queue.flush();
  }
}

/** What /metrics says of spans. */
async function metricsOf(
  request: Awaited<ReturnType<typeof serveCore>>['request'],
): Promise<Record<string, number>> {
  const { text } = await request('GET', '/metrics', { headers: asAdmin });
  const samples = text.matchAll(/^memory_service_(spans_\w+)(?:\{exporter="otlp"\})? (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]));
}

const sum = ({ queued, exported, dropped, failed }: SpanCounters) =>
  queued + exported + dropped + failed;

describe('while the collector', { timeout: 180_000 + 12 * SPANS }, () => {
  it('is well, every span is exported or dropped, and each is counted once', async () => {
    const collector = await startCollector();
    const { core, produced } = await serveExporting(collector.url);
    await produce(core, produced);
    // A close waits for three seconds.
    await expect.poll(() => countersOf(core).queued).toBe(0);
    await core.close();
    const counters = countersOf(core);
    expect(sum(counters)).toBe(produced.spans);
    expect(counters).toMatchObject({ queued: 0, failed: 0, exported: collector.spans.length });
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(counters.exported);
  });

  it(`is dead, ${SPANS.toLocaleString('en-US')} spans cost no tool call anything: at most 2,048 wait, the rest are dropped and counted`, async () => {
    const collector = await startCollector();
    await collector.close();
    const { core, log, request, produced } = await serveExporting(collector.url);
    await produce(core, produced);
    // A batch may be given up between the two requests: then they are made again.
    await vi.waitFor(async () => {
      const { json } = await request('GET', '/v1/admin/status', { headers: asAdmin });
      const [item] = (json as { exporters: { items: { spans: SpanCounters }[] } }).exporters.items;
      expect(item).toMatchObject({ name: 'otlp', problem: null, spans: { exported: 0 } });
      expect(item?.spans.queued).toBeLessThanOrEqual(2_048);
      expect(item?.spans.dropped).toBeGreaterThan(0);
      expect(sum(item?.spans as SpanCounters)).toBe(produced.spans);
      expect(await metricsOf(request)).toEqual({
        spans_total: produced.spans,
        spans_queued: item?.spans.queued,
        spans_exported_total: 0,
        spans_dropped_total: item?.spans.dropped,
        spans_failed_total: item?.spans.failed,
      });
    });
    await core.close();
    const counters = countersOf(core);
    expect(sum(counters)).toBe(produced.spans);
    expect(counters).toMatchObject({ queued: 0, exported: 0 });
    // Said once, not for each batch.
    const said = log.lines.map(({ message }) => message);
    expect(said.filter((message) => message === 'spans were left at the end')).toHaveLength(1);
    const failures = said.filter((message) => message === 'the collector does not take spans');
    expect(failures.length).toBeLessThanOrEqual(1);
  });

  it('never answers, calls go on, and closing gives up on it', async () => {
    const collector = await startCollector();
    collector.behave('hang');
    const { core, produced } = await serveExporting(collector.url);
    await produce(core, produced);
    await collector.waitForRequest();
    expect(countersOf(core).queued).toBeLessThanOrEqual(2_048);
    // It resolves, although no answer ever comes.
    await core.close();
    const counters = countersOf(core);
    expect(counters).toMatchObject({ queued: 0, exported: 0 });
    expect(counters.failed).toBeGreaterThan(0);
    expect(sum(counters)).toBe(produced.spans);
  });

  it('refuses, its spans are counted as failed, and later ones arrive once it takes them again', async () => {
    const diagnosed: unknown[] = [];
    const silent = () => undefined;
    const error = (...said: unknown[]) => diagnosed.push(said);
    diag.setLogger({ error, warn: silent, info: silent, debug: silent, verbose: silent });
    onTestFinished(() => diag.disable());
    const collector = await startCollector();
    collector.behave(400);
    const { core, log } = await serveExporting(collector.url);
    await call(core, 'alice', 'memory_list', {});
    await core.queue.flush();
    await collector.waitForRequest();
    await expect.poll(() => countersOf(core).failed).toBeGreaterThan(0);
    collector.behave(200);
    const { toolCallId } = await call(core, 'alice', 'memory_list', {});
    await core.queue.flush();
    await collector.waitFor(1);
    await core.close();
    const counters = countersOf(core);
    expect(counters).toMatchObject({ dropped: 0, queued: 0, exported: collector.spans.length });
    expect(counters.failed).toBe(counters.exported);
    for (const { attributes } of collector.spans) {
      expect(attributes['memory.tool_call.id']).toBe(toolCallId);
    }
    const about = /collector/;
    const said = log.lines.filter(({ message }) => about.test(message));
    expect(said.map(({ level }) => level)).toEqual(['warn', 'info']);
    // The app's own diagnostics hear nothing of it.
    expect(diagnosed).toEqual([]);
  });
});

describe('an exporter that cannot be opened', () => {
  it('leaves the service running, and the status says why', async () => {
    const { core, log, request } = await serveCore({
      exporters: [otlp({ environment: { OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem' } })],
    });
    await call(core, 'alice', 'memory_list', {});
    const { json } = await request('GET', '/v1/admin/status', { headers: asAdmin });
    const problem = 'OTEL_EXPORTER_OTLP_CERTIFICATE names a file that cannot be read (ENOENT).';
    expect((json as { exporters: unknown }).exporters).toEqual({
      configured: false,
      names: [],
      hint: problem,
      items: [{ name: 'otlp', problem, spans: null }],
    });
    expect(
      log.lines.some(({ level, fields }) => level === 'error' && fields['problem'] === problem),
    ).toBe(true);
  });
});
