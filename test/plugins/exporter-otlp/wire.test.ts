import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../../core/contracts/records.ts';
import type { TraceExporter } from '../../../core/contracts/trace-exporter.ts';
import { type OtlpOptions, otlp } from '../../../plugins/exporter-otlp/index.ts';
import { type CollectedSpan, startCollector } from '../../support/collector.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const SOON = { OTEL_BSP_SCHEDULE_DELAY: '10' };
const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** An exporter that keeps what it is given, to compare with what arrives. */
function keeper(): TraceExporter & { events: EventRecord[] } {
  const events: EventRecord[] = [];
  return {
    name: 'keeper',
    events,
    async export(given) {
      events.push(...given);
    },
  };
}

async function openExporting(options: OtlpOptions) {
  const kept = keeper();
  const core = await openCore({ exporters: [otlp(options), kept], tools: { move: true } });
  return { core, kept };
}

const byId = (spans: readonly CollectedSpan[]) => new Map(spans.map((span) => [span.spanId, span]));

describe.each(PROTOCOLS)('over %s', (protocol) => {
  it('each recorded span arrives with its own ids, its parent and its times', async () => {
    const collector = await startCollector();
    const { core, kept } = await openExporting({
      endpoint: collector.url,
      protocol,
      environment: SOON,
    });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: '# Tea\n\ngreen\n' });
    await call(core, 'alice', 'memory_find', { query: 'tea' });
    await call(core, 'alice', 'memory_read', { path: 'user/no.md' }).catch(() => null);
    await core.queue.flush();
    const records = kept.events.flatMap((event) => [event, ...event.spans]);
    const arrived = byId(await collector.waitFor(records.length));
    expect(arrived.size).toBe(records.length);
    expect(kept.events).toHaveLength(3);
    for (const event of kept.events) {
      for (const record of [event, ...event.spans]) {
        const span = arrived.get(record.spanId);
        const duration = BigInt(Math.round(record.durationMs * 1e6));
        expect(span).toMatchObject({
          traceId: event.traceId,
          parentSpanId: record.parentSpanId ?? '',
          start: BigInt(record.startedAt) * 1_000_000n,
          end: BigInt(record.startedAt) * 1_000_000n + duration,
          statusCode: record.status === 'error' ? 2 : 0,
          statusMessage: '',
          scope: { name: 'memory-service' },
        });
        expect(span?.attributes['error.type'] ?? null).toBe(record.errorCode);
        expect(span?.attributes['memory.kind']).toBe(record.kind);
      }
    }
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: {
        'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      },
    });
  });

  it('a call is an execute_tool span by the conventions for generative AI, with its user as a hash', async () => {
    const collector = await startCollector();
    const { core } = await openExporting({ endpoint: collector.url, protocol, environment: SOON });
    const { toolCallId } = await call(core, 'alice', 'memory_list', {}, { actor: 'bob the agent' });
    await core.queue.flush();
    const [root] = await collector.waitFor(1);
    expect(root).toMatchObject({
      name: 'execute_tool memory_list',
      kind: 1,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'memory_list',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': toolCallId,
        'memory.tool_call.id': toolCallId,
        // A caller may name itself as it likes.
        'memory.actor': 'custom',
        'user.hash': expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      },
    });
  });
});

const event = (more: Partial<EventRecord> = {}): EventRecord => ({
  id: '019c1350-2d80-7000-8a31-6f4f1c2b9d10',
  kind: 'tool',
  name: 'execute_tool memory_context',
  scope: 'u:alice',
  userId: 'alice',
  tool: 'memory_context',
  key: null,
  actor: 'agent',
  toolCallId: '019c1350-2d80-7000-8a31-6f4f1c2b9d11',
  callerToolCallId: null,
  traceId: 'ab'.repeat(16),
  spanId: 'cd'.repeat(8),
  parentSpanId: null,
  status: 'ok',
  errorCode: null,
  startedAt: 1_767_225_600_999,
  durationMs: 1.25,
  attributes: {},
  spans: [],
  ...more,
});

const span = (kind: EventRecord['kind'], attributes: EventRecord['attributes'], n: number) => ({
  spanId: n.toString(16).padStart(16, '0'),
  parentSpanId: 'cd'.repeat(8),
  kind,
  name: 'whatever a plugin says',
  status: 'ok' as const,
  errorCode: null,
  startedAt: 1_767_225_600_999,
  durationMs: 0.5,
  attributes,
});

/** Exports events by the exporter alone. */
async function send(events: readonly EventRecord[], options: OtlpOptions): Promise<TraceExporter> {
  const exporter = otlp(options);
  const silent = () => undefined;
  await exporter.open?.({
    log: { debug: silent, info: silent, warn: silent, error: silent },
    version: '1.2.3',
    hashUserId: (userId) => `hash of ${userId}`,
  });
  await exporter.export(events);
  await exporter.close?.();
  return exporter;
}

describe('what a span says', () => {
  it('of a model is its operation, its names and its tokens', async () => {
    const collector = await startCollector();
    const names = { provider: 'openai', model: 'm-1' };
    await send(
      [
        event({
          spans: [
            span('llm', { ...names, inputTokens: 120, outputTokens: 7 }, 1),
            span('embedding', { ...names, dimensions: 64, inputTokens: 3 }, 2),
            span('search.hybrid', { candidates: 9, degraded: 'timeout', fuzzy: true }, 3),
            span('db.read', { rows: 2 }, 4),
          ],
        }),
      ],
      { endpoint: collector.url },
    );
    const [, llm, embedding, search, read] = collector.spans;
    expect(llm).toMatchObject({
      name: 'chat m-1',
      kind: 3,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'm-1',
        'gen_ai.usage.input_tokens': 120,
        'gen_ai.usage.output_tokens': 7,
      },
    });
    expect(embedding).toMatchObject({
      name: 'embeddings m-1',
      kind: 3,
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.embeddings.dimension.count': 64,
        'gen_ai.usage.input_tokens': 3,
      },
    });
    expect(search).toMatchObject({
      name: 'search.hybrid',
      kind: 1,
      attributes: {
        'gen_ai.operation.name': 'retrieval',
        'memory.candidates': 9,
        'memory.degraded': 'timeout',
        'memory.fuzzy': true,
      },
    });
    expect(read).toMatchObject({ name: 'db.read', kind: 3, attributes: { 'memory.rows': 2 } });
    for (const one of collector.spans) expect(one.attributes['user.hash']).toBe('hash of alice');
  });

  it('is exact to the microsecond, also across a second', async () => {
    const collector = await startCollector();
    const events = [event(), event({ startedAt: 1_767_225_600_000, durationMs: 61_000.001 })];
    await send(events, { endpoint: collector.url });
    expect(collector.spans.map(({ start, end }) => [start, end])).toEqual([
      [1_767_225_600_999_000_000n, 1_767_225_601_000_250_000n],
      [1_767_225_600_000_000_000n, 1_767_225_661_000_001_000n],
    ]);
  });

  it('goes out with its whole trace, or the whole trace is dropped and counted', async () => {
    const collector = await startCollector();
    const phases = (n: number) => [span('db.read', {}, n), span('db.write', {}, n + 1)];
    const exporter = await send([event({ spans: phases(1) }), event({ spans: phases(3) })], {
      endpoint: collector.url,
      environment: { OTEL_BSP_MAX_QUEUE_SIZE: '5' },
    });
    expect(exporter.counters?.()).toEqual({ queued: 0, exported: 3, dropped: 3, failed: 0 });
    expect(collector.spans.map(({ spanId }) => spanId)).toEqual([
      'cd'.repeat(8),
      ...phases(1).map(({ spanId }) => spanId),
    ]);
  });

  it('of a dream run is an agent’s work', async () => {
    const collector = await startCollector();
    const dream = event({ kind: 'dream.run', tool: null, name: 'dream', actor: 'dream-agent' });
    await send([dream], { endpoint: collector.url });
    expect(collector.spans[0]).toMatchObject({
      name: 'invoke_agent dream-agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'dream-agent',
        'memory.actor': 'dream-agent',
      },
    });
    expect(collector.spans[0]?.attributes).not.toHaveProperty('gen_ai.tool.name');
  });

  it('of a run of the stored checks is named so, and is no tool', async () => {
    const collector = await startCollector();
    const run = event({ kind: 'check.run', tool: null, name: 'checks', actor: 'check' });
    await send([run], { endpoint: collector.url });
    expect(collector.spans[0]).toMatchObject({
      name: 'check.run',
      attributes: { 'memory.actor': 'check' },
    });
    expect(collector.spans[0]?.attributes).not.toHaveProperty('gen_ai.tool.name');
  });
});

describe('a user', () => {
  it('has the same hash in every instance, and another one in another installation', async () => {
    const collector = await startCollector();
    const hashes: unknown[] = [];
    const shared = path.join(await temporaryDirectory(), 'memory.db');
    const other = path.join(await temporaryDirectory(), 'memory.db');
    async function hashOf(filename: string, userId: string): Promise<unknown> {
      const storage = sqlite({ filename });
      const options = { endpoint: collector.url, environment: SOON };
      const core = await openCore({ storage, exporters: [otlp(options)] });
      const { toolCallId } = await call(core, userId, 'memory_list', {});
      await core.close();
      return collector.spans.find(
        ({ attributes }) => attributes['gen_ai.tool.call.id'] === toolCallId,
      )?.attributes['user.hash'];
    }
    hashes.push(await hashOf(shared, 'alice'));
    hashes.push(await hashOf(shared, 'alice'), await hashOf(shared, 'bob'));
    hashes.push(await hashOf(other, 'alice'));
    expect(hashes[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(hashes[1]).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(3);
    const sent = Buffer.concat(collector.requests.map(({ body }) => body)).toString('latin1');
    expect(sent).not.toMatch(/alice|bob/);
  });
});

describe('what goes out', () => {
  it('holds nothing of content, queries, paths, reasons, ids or names that callers give', async () => {
    const collector = await startCollector();
    const { core, kept } = await openExporting({
      endpoint: collector.url,
      protocol: 'http/json',
      environment: SOON,
    });
    const canary = 'kanarienvogel';
    const file = `user/${canary}.md`;
    const calls: [string, object][] = [
      ['memory_write', { path: file, content: `# ${canary}\n\n${canary} one\n`, reason: canary }],
      ['memory_patch', { path: file, append: { text: canary }, reason: canary }],
      ['memory_read', { path: file }],
      ['memory_read', { path: `user/${canary}/no.md` }],
      ['memory_find', { query: canary, explain: true }],
      ['memory_context', { query: canary }],
      ['memory_move', { from: file, to: `user/b/${canary}.md`, reason: canary }],
      ['memory_remember', { text: canary }],
      ['memory_list', { path: `${canary}/../x` }],
      [`memory_${canary}`, { [canary]: canary }],
    ];
    for (const [tool, args] of calls) {
      await core.tools
        .execute(tool, {
          context: { userId: canary, actor: canary, toolCallId: canary },
          arguments: args,
          idempotencyKey: canary,
        })
        .catch(() => null);
    }
    await core.queue.flush();
    const count = kept.events.reduce((sum, { spans }) => sum + 1 + spans.length, 0);
    await collector.waitFor(count);
    expect(kept.events).toHaveLength(calls.length);
    const sent = Buffer.concat(collector.requests.map(({ body }) => body)).toString('utf8');
    expect(sent).toContain('execute_tool memory_write');
    expect(sent).not.toContain(canary);
    expect(JSON.stringify(collector.requests.map(({ headers }) => headers))).not.toContain(canary);
  });
});
