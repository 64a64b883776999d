import { expect, it, onTestFinished } from 'vitest';
import { openai } from '../../../../plugins/embedder-openai/index.ts';
import { startFaultProxy } from '../../../support/fault-proxy.ts';
import { freshDatabase } from '../../../support/mariadb.ts';
import { embedMeaning } from '../../../support/provider-server/embed.ts';
import { startProviderServer } from '../../../support/provider-server/server.ts';
import { call, openCore } from '../../../support/service.ts';
import { mysql } from '../../../support/databases.ts';

const CLAIM = ['select q.scope_id', 'insert into svc_embed_queue '];
const VECTORS = ['insert into svc_vector '];
/**
 * Statements of the worker, as they begin, in their order: the answer to the last one is lost, so
 * many times.
 */
const LOST = {
  'the COMMIT of a claim': { statements: [...CLAIM, 'commit'], times: 1 },
  'the COMMIT of vectors': { statements: [...VECTORS, 'commit'], times: 1 },
  // More often than the write is repeated.
  'each writing of vectors': { statements: VECTORS, times: 8 },
};

it.each(Object.entries(LOST))(
  'texts are embedded soon though the answer to %s is lost (F21)',
  async (_what, { statements, times }) => {
    const provider = await startProviderServer({ embed: embedMeaning });
    onTestFinished(() => provider.close());
    const url = await freshDatabase();
    const proxy = await startFaultProxy(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const core = await openCore({
      storage: mysql({ url: url.replace(/:\d+\//, `:${proxy.port}/`), statementTimeoutMs: 1_000 }),
      embedder: openai({ baseUrl: provider.baseUrl, name: 'meaning', dimensions: 8 }),
    });
    let met = 0;
    proxy.silence((sql) => {
      if (sql.startsWith('start transaction')) met = 0;
      if (sql.startsWith(statements[met] ?? '')) met += 1;
      if (met < statements.length) return false;
      if (proxy.silenced + 1 === times) proxy.silence(null);
      return true;
    });
    for (const name of ['a', 'b', 'c']) {
      await call(core, 'ann', 'memory_write', { path: `user/${name}.md`, content: `Tea ${name}.` });
    }
    await expect.poll(() => proxy.silenced).toBe(times);
    const find = async () => {
      const args = { query: 'beverage' };
      const { result } = await call<{ results: unknown[] }>(core, 'ann', 'memory_find', args);
      return result.results.length;
    };
    // By its meaning alone. A lease of two minutes would be longer than this waits.
    await expect.poll(find, { timeout: 50_000 }).toBe(3);
    expect((await core.embeddings?.progress())?.textsWaiting).toBe(0);
  },
);
