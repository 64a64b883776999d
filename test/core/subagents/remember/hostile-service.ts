import { createCore } from '../../../../core/service.ts';
import { createApp } from '../../../../core/http/app.ts';
import { serviceRoutes } from '../../../../core/http/routes.ts';
import { listen } from '../../../../core/http/server.ts';
import { openai } from '../../../../plugins/model-openai/index.ts';
import { mysql } from '../../../../plugins/storage-mysql/index.ts';
import { sqlite } from '../../../../plugins/storage-sqlite/index.ts';
import { sharedMariadb } from '../../../support/mariadb.ts';
import { createDatabase } from '../../../support/mariadb-server.ts';
import { startProviderServer } from '../../../support/provider-server/server.ts';
import {
  ADMIN_SECRET,
  API_KEY,
  type Answer,
  asAdmin,
  asAgent,
  requester,
} from '../../http/serve.ts';

/** One service for many attacks: each is a user of its own. */
export interface HostileService {
  says(reply: unknown): void;
  /** Questions to the model since the last `startOver`. */
  questions(): number;
  /** A new user with these files; what `everything` gives then. */
  startOver(files: Readonly<Record<string, string>>): Promise<unknown>;
  remember(text: string, maxWrites: number): Promise<Answer>;
  /** All files of all users with their versions, and how many revisions there are. */
  everything(): Promise<unknown>;
  close(): Promise<void>;
}

export async function serveHostile(): Promise<HostileService> {
  let reply = '';
  const provider = await startProviderServer({ reply: () => reply });
  const core = createCore({
    storage:
      process.env['MEMORY_TEST_DATABASE'] === 'mariadb'
        ? mysql({ url: await createDatabase(await sharedMariadb()) })
        : sqlite({ filename: ':memory:' }),
    model: openai({ baseUrl: provider.baseUrl, apiKey: 'test', name: 'scripted', maxRetries: 1 }),
    apiKey: API_KEY,
    adminSecret: ADMIN_SECRET,
    sharedWrites: true,
  });
  await core.ready();
  const server = await listen(createApp(core, serviceRoutes(core)), { host: '127.0.0.1', port: 0 });
  const client = requester(server.address.port);
  let users = 0;
  let asked = 0;
  const execute = (tool: string, args: object) =>
    client.request('POST', `/v1/tools/${tool}/execute`, {
      headers: asAgent,
      body: { context: { userId: `user${users}` }, arguments: args },
    });
  const get = async (path: string) =>
    (await client.request('GET', `/v1/admin/${path}`, { headers: asAdmin })).json;

  async function everything(): Promise<unknown> {
    const own = `users/user${users}/`;
    const files = await Promise.all(
      [own, 'shared/', 'users/bob/'].map((prefix) =>
        get(`files?prefix=${encodeURIComponent(prefix)}&limit=500`),
      ),
    );
    const listed = files.flatMap(({ items }) => items as { path: string; version: number }[]);
    const contents = await Promise.all(
      listed.map(({ path }) => get(`files/${encodeURIComponent(path).replaceAll('%2F', '/')}`)),
    );
    const revisions = await get(`revisions?userId=user${users}&limit=500`);
    return {
      files: contents.map(({ file }) => [file.path, file.version, file.content]),
      revisions: revisions.items.length,
    };
  }

  return {
    says(next) {
      reply = typeof next === 'string' ? next : JSON.stringify(next);
    },
    questions: () => provider.received.length - asked,
    async startOver(files) {
      users += 1;
      asked = provider.received.length;
      for (const [path, content] of Object.entries(files)) {
        const { status, text } = await execute('memory_write', { path, content });
        if (status !== 200) throw new Error(text);
      }
      return everything();
    },
    remember: (text, maxWrites) => execute('memory_remember', { text, maxWrites }),
    everything,
    async close() {
      client.close();
      await server.close({ graceMs: 0 });
      await core.close();
      await provider.close();
    },
  };
}
