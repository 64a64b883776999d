import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { dreaming } from '../../plugins/dreaming/index.ts';
import { openai } from '../../plugins/embedder-openai/index.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from '../core/http/serve.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { embedMeaning } from '../support/provider-server/embed.ts';
import { startProviderServer } from '../support/provider-server/server.ts';
import { mysql } from '../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const FAULTS = 4;
/** So long answers are dropped, and come again before the next fault. */
const FAULT_MS = isRelease ? 30_000 : 3_000;
const CALM_MS = isRelease ? 10_000 : 1_500;
const WRITERS = 4;

const LISTS = ['files', 'users', 'revisions', 'access-logs', 'dream/runs', 'dream/users'];

it(
  'two instances behind a database whose answers stop again and again lose and double no write, leave no call without its answer, and work on without a restart (F21)',
  { timeout: FAULTS * (FAULT_MS + CALM_MS) + 120_000 },
  async () => {
    const provider = await startProviderServer({ embed: embedMeaning });
    onTestFinished(() => provider.close());
    const url = await freshDatabase();
    const proxy = await startFaultProxy(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const through = url.replace(/:\d+\//, `:${proxy.port}/`);
    const open = () =>
      serveCore({
        storage: mysql({
          url: through,
          connections: 4,
          ...(isRelease ? {} : { statementTimeoutMs: 1_000 }),
        }),
        plugins: [dreaming()],
        embedder: openai({ baseUrl: provider.baseUrl, name: 'meaning', dimensions: 8 }),
      });
    const instances = [await open(), await open()];
    const counts = { calls: 0, refused: 0, silenced: 0 };
    const unexpected = new Set<string>();
    let isOver = false;

    /** Every answer is a result or an error that can be repeated; a call without one hangs the test. */
    const ask = async (instance: LiveServer, ...request: Parameters<LiveServer['request']>) => {
      const answer = await instance.request(...request);
      counts.calls += 1;
      if (answer.status !== 200) {
        counts.refused += 1;
        const said = `${answer.status} ${answer.json?.error?.code}`;
        if (said !== '503 STORAGE_UNAVAILABLE') unexpected.add(`${request[1]}: ${said}`);
      }
      return answer;
    };
    const execute = (
      instance: LiveServer,
      tool: string,
      { userId, key, ...args }: { userId: string; key?: string } & Record<string, unknown>,
    ) =>
      ask(instance, 'POST', `/v1/tools/memory_${tool}/execute`, {
        body: { context: { userId }, arguments: args },
        headers: { ...asAgent, ...(key === undefined ? {} : { 'idempotency-key': key }) },
      });

    const appended = new Map<string, string[]>();
    /** Appends lines, each until it is acknowledged: with its key, on either instance. */
    const append = async (writer: number) => {
      const userId = `writer-${writer}`;
      const lines: string[] = [];
      appended.set(userId, lines);
      for (let n = 0; !isOver; n += 1) {
        const text = `line ${n}`;
        for (let attempt = 0; ; attempt += 1) {
          const { status } = await execute(
            instances[(writer + attempt) % 2] as LiveServer,
            'patch',
            {
              userId,
              key: `${writer}-${n}`,
              path: 'user/log-book.md',
              append: { text },
            },
          );
          if (status === 200 || unexpected.size > 0) break;
        }
        lines.push(text);
      }
    };
    const readOn = async (instance: LiveServer) => {
      while (!isOver) {
        await execute(instance, 'read', { userId: 'writer-0', path: 'user/log-book.md' });
        await execute(instance, 'find', { userId: 'writer-1', query: 'line' });
      }
    };
    const listOn = async (instance: LiveServer) => {
      while (!isOver) {
        for (const list of LISTS) {
          await ask(instance, 'GET', `/v1/admin/${list}`, { headers: asAdmin });
        }
        await ask(instance, 'GET', '/readyz');
      }
    };
    for (let writer = 0; writer < WRITERS; writer += 1) {
      await execute(instances[0] as LiveServer, 'write', {
        userId: `writer-${writer}`,
        path: 'user/log-book.md',
        content: 'begun\n',
      });
    }
    const working = Promise.all([
      ...Array.from({ length: WRITERS }, (_, writer) => append(writer)),
      ...instances.flatMap((instance) => [readOn(instance), listOn(instance)]),
    ]);
    for (let fault = 0; fault < FAULTS; fault += 1) {
      await sleep(CALM_MS);
      proxy.silence('all');
      await sleep(FAULT_MS);
      proxy.silence(null);
    }
    await sleep(CALM_MS);
    isOver = true;
    await working;
    counts.silenced = proxy.silenced;
    expect([...unexpected]).toEqual([]);

    for (const [userId, lines] of appended) {
      const [scope, path] = [`u:${userId}`, 'log-book.md'] as const;
      const storage = (instances[0] as LiveServer).core.storage;
      const file = await storage.files.get({ scope: scope as `u:${string}`, path });
      expect(file?.content?.trimEnd().split('\n')).toEqual(['begun', ...lines]);
      expect(file?.version).toBe(lines.length + 1);
    }
    for (const instance of instances) {
      const calls = [
        ...LISTS.map((list) => instance.request('GET', `/v1/admin/${list}`, { headers: asAdmin })),
        instance.request('GET', '/readyz'),
        instance.request('GET', '/v1/admin/status', { headers: asAdmin }),
      ];
      const answers = await Promise.all(calls);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
    await expect
      .poll(async () => {
        const { queue, embeddings } = (instances[1] as LiveServer).core;
        const { accessQueued } = queue.counters();
        return [accessQueued, (await embeddings?.progress())?.textsWaiting];
      })
      .toEqual([0, 0]);
    const writes = [...appended.values()].flat().length;
    console.log(
      `half-open database: ${FAULTS} faults of ${FAULT_MS / 1_000} s, ${counts.silenced} connections fell silent; ${counts.calls} calls, ${counts.refused} of them 503; ${writes} appends acknowledged, 0 lost, 0 doubled`,
    );
    expect(counts.silenced).toBeGreaterThan(FAULTS);
    expect(counts.refused).toBeGreaterThan(0);
  },
);
