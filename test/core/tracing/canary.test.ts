import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../../core/contracts/records.ts';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import { otlp } from '../../../plugins/exporter-otlp/index.ts';
import { startCollector } from '../../support/collector.ts';
import { asAdmin, asAgent, serveCore } from '../http/serve.ts';

const CANARY = 'kanarienvogel';
/** T30: a sample in the tests, and more for a release. */
const OPERATIONS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 2_000 : 10_000;
const TIMEOUT_MS = 180_000 + 30 * OPERATIONS;
/** Room for every span, so that each one is looked at. */
const QUEUE = { OTEL_BSP_MAX_QUEUE_SIZE: '1000000', OTEL_BSP_SCHEDULE_DELAY: '10' };

/** A plugin whose tool says what it was given in whatever it may say. */
const talkative: Plugin = {
  name: 'talkative',
  apiVersion: 1,
  setup(host) {
    host.addTool({
      name: 'talk',
      title: 'Talk',
      description: 'Talks.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      outputSchema: {},
      readOnly: true,
      requiresModel: false,
      errorCodes: [],
      example: { arguments: {}, result: {} },
      async run(_services, args, call) {
        const { text = '' } = args as { text?: string };
        const span = call.trace.start('llm', 'generate');
        span.end({ text, prompt: text, content: text, inputTokens: 3, [text]: 1 });
        call.trace.start('db.read', 'read').fail(new Error(text), { query: text, rows: 1 });
        // The parser's error quotes what it could not read.
        return JSON.parse(text) as object;
      },
    });
  },
};

/** Calls of every tool, with the canary in everything that a caller can fill in. */
function callOf(n: number): { tool: string; args: object; key?: string } {
  const text = `${CANARY} ${n}`;
  const file = `user/${CANARY}/${n % 40}.md`;
  const calls: { tool: string; args: object; key?: string }[] = [
    { tool: 'memory_write', args: { path: file, content: `# ${text}\n\n${text}\n`, reason: text } },
    { tool: 'memory_read', args: { path: file } },
    { tool: 'memory_find', args: { query: text, explain: true } },
    { tool: 'memory_context', args: { query: text } },
    { tool: 'memory_patch', args: { path: file, append: { text } }, key: `${CANARY}-${n}` },
    { tool: 'memory_patch', args: { path: file, edits: [{ oldText: text, newText: text }] } },
    { tool: 'memory_list', args: { path: `user/${CANARY}` } },
    { tool: 'memory_read', args: { path: `user/${CANARY}/no.md` } },
    { tool: 'memory_write', args: { path: `${CANARY}/../x`, content: text } },
    { tool: 'memory_write', args: { path: file, content: text, ifVersion: 99, [CANARY]: text } },
    { tool: 'memory_move', args: { from: file, to: `user/${CANARY}/moved-${n}.md` } },
    { tool: 'memory_delete', args: { path: `user/${CANARY}/moved-${n - 1}.md`, reason: text } },
    { tool: 'memory_remember', args: { text } },
    { tool: `memory_${CANARY}`, args: { text } },
    { tool: 'talk', args: { text } },
  ];
  return calls[n % calls.length] as (typeof calls)[number];
}

describe('what the service records of calls', () => {
  it(
    `holds nothing of content, queries, paths or reasons: ${OPERATIONS.toLocaleString('en-US')} calls leave no trace of a canary in events, traces, the stream, metrics, logs or what is exported`,
    { timeout: TIMEOUT_MS },
    async () => {
      const exported: EventRecord[] = [];
      const collector = await startCollector();
      const server = await serveCore({
        tools: { delete: true, move: true },
        plugins: [talkative],
        exporters: [
          otlp({ endpoint: collector.url, environment: QUEUE }),
          {
            name: 'collector',
            async export(events) {
              exported.push(...events);
            },
          },
        ],
      });
      const { core, request } = server;
      const stream = core.eventStreams.open({ lastEventId: null });
      let streamed = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => (streamed += chunk));
      await new Promise((resolve) => stream.once('data', resolve));

      const users = ['alice', 'bob', 'carol'];
      for (let n = 0; n < OPERATIONS; n += 25) {
        const batch = Array.from({ length: 25 }, (_, at) => callOf(n + at));
        await Promise.all(
          batch.map(({ tool, args, key }, at) => {
            const userId = users[at % users.length] as string;
            // Some over HTTP, where more is logged.
            if (at > 2) {
              const context = { userId };
              const given = key === undefined ? {} : { idempotencyKey: key };
              return core.tools
                .execute(tool, { context, arguments: args, ...given })
                .catch(() => undefined);
            }
            return request('POST', `/v1/tools/${tool}/execute`, {
              headers: asAgent,
              body: { context: { userId }, arguments: args },
            });
          }),
        );
      }
      await request('GET', `/v1/admin/files/users/alice/${CANARY}/none.md`, { headers: asAdmin });
      await request('GET', `/v1/admin/${CANARY}`, { headers: asAdmin });
      await request('GET', `/v1/admin/users?${CANARY}=1`, { headers: asAdmin });
      await core.queue.flush();

      const found: Record<string, string> = {};
      let cursor: string | null = null;
      let events = '';
      const traceIds: string[] = [];
      do {
        const page = await core.observability.events({
          spans: true,
          limit: 500,
          ...(cursor === null ? {} : { cursor }),
        });
        events += JSON.stringify(page.items);
        traceIds.push(...page.items.map(({ traceId }) => traceId));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(traceIds).toHaveLength(OPERATIONS);
      found['events'] = events;
      // A trace shows files too, for the operator: the events in it are what is meant here.
      const traces = await Promise.all(traceIds.slice(0, 60).map((id) => core.traces.trace(id)));
      found['traces'] = JSON.stringify(
        traces.flatMap(({ calls }) => calls.map(({ root, spans }) => [root, spans])),
      );
      for (const part of ['summary', 'activity', 'latency', 'failures'] as const) {
        found[part] = JSON.stringify(await core.observability[part]({}));
      }
      found['refused'] = JSON.stringify(await core.observability.failures({ reason: 'refused' }));
      found['metrics'] = await core.metrics.text();
      found['logs'] = JSON.stringify(server.log.lines);
      found['exported'] = JSON.stringify(exported);
      while (streamed.split('\ndata: ').length <= OPERATIONS) {
        await new Promise((resolve) => stream.once('data', resolve));
      }
      found['stream'] = streamed;
      expect(exported).toHaveLength(OPERATIONS);
      // The rest is sent when the service closes: everything else is read by then.
      const isKept = (await core.fileLists.files({ q: CANARY })).items.length > 0;
      await core.close();
      found['otlp'] = collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
      const spans = exported.reduce((sum, event) => sum + 1 + event.spans.length, 0);
      expect(collector.spans).toHaveLength(spans);
      // Outside a user is a hash. Bytes of ids and times may spell the shortest name.
      for (const userId of ['alice', 'carol']) expect(found['otlp']).not.toContain(userId);
      for (const [where, text] of Object.entries(found)) {
        expect(text.length, where).toBeGreaterThan(2);
        expect(text.includes(CANARY), where).toBe(false);
      }
      // The canary is where it belongs, so it would have been seen.
      expect(isKept).toBe(true);
    },
  );
});
