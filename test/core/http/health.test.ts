import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import type { MysqlOptions } from '../../../plugins/storage-mysql/index.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { connectAsRoot } from '../../support/mariadb-server.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';
import { mysql, sqlite } from '../../support/databases.ts';

const execute = (
  service: LiveServer,
  tool: string,
  args: object,
  headers: Record<string, string> = {},
) =>
  service.request('POST', `/v1/tools/memory_${tool}/execute`, {
    body: { context: { userId: 'alice' }, arguments: args },
    headers: { ...asAgent, ...headers },
  });
const write = (service: LiveServer) =>
  execute(service, 'write', { path: 'user/a.md', content: 'text' });
const read = (service: LiveServer) => execute(service, 'read', { path: 'user/a.md' });

/** A database, and what lets others read it and no one write it until it is called again. */
const DATABASES: Record<
  string,
  () => Promise<{ storage: Storage; lock: () => Promise<() => Promise<void>> }>
> = {
  async sqlite() {
    const filename = await temporaryDatabase();
    const lock = async () => {
      const native = await loadSqliteModule('sqlite3');
      const connection = await native.open(filename, { busyTimeoutMs: 5_000 });
      await connection.exec('begin immediate');
      return () => connection.close();
    };
    return { storage: sqlite({ filename, lockTimeoutMs: 300 }), lock };
  },
  async mariadb() {
    const url = await freshDatabase();
    const lock = async () => {
      const { port, pathname } = new URL(url);
      const root = await connectAsRoot(Number(port), pathname.slice(1));
      const [tables] = await root.query<RowDataPacket[]>('show tables');
      const names = tables.map((row) => `${String(Object.values(row)[0])} read`);
      await root.query(`lock tables ${names.join(', ')}`);
      return () => root.end();
    };
    return { storage: mysql({ url, lockTimeoutMs: 1_000 }), lock };
  },
};

describe.each(Object.keys(DATABASES))('a database that takes no writes (%s)', (name) => {
  it('is ready for reads, and says that writes fail, until they go on', async () => {
    const made = await DATABASES[name]?.();
    if (made === undefined) throw new Error('There is no such database.');
    const service = await serveCore({ storage: made.storage });
    expect((await write(service)).status).toBe(200);
    expect((await service.request('GET', '/readyz')).json).toEqual({ status: 'ok', writes: 'ok' });

    const unlock = await made.lock();
    expect((await write(service)).status).toBe(503);
    const failing = { status: 'ok', writes: 'failing', code: 'STORAGE_UNAVAILABLE' };
    const ready = await service.request('GET', '/readyz');
    expect([ready.status, ready.json]).toEqual([200, failing]);
    const status = await service.request('GET', '/v1/admin/status', { headers: asAdmin });
    expect([status.status, status.json.writes]).toEqual([
      200,
      { status: 'failing', code: 'STORAGE_UNAVAILABLE' },
    ]);
    const metrics = await service.request('GET', '/metrics', { headers: asAdmin });
    expect(metrics.text).toMatch(/^memory_service_writes_failing 1$/m);
    expect((await read(service)).status).toBe(200);

    await unlock();
    expect((await write(service)).status).toBe(200);
    await service.core.queue.flush();
    await expect
      .poll(async () => (await service.request('GET', '/readyz')).json)
      .toEqual({ status: 'ok', writes: 'ok' });
  });

  it('is found out by whoever asks, though nobody writes', async () => {
    const made = await DATABASES[name]?.();
    if (made === undefined) throw new Error('There is no such database.');
    const service = await serveCore({ storage: made.storage });
    const unlock = await made.lock();
    const ready = await service.request('GET', '/readyz');
    expect([ready.status, ready.json.writes]).toEqual([200, 'failing']);
    await unlock();
    await expect.poll(async () => (await service.request('GET', '/readyz')).json.writes).toBe('ok');
  });
});

it('is not ready while a table is locked for reads, too, and is ready again afterwards', async () => {
  const url = await freshDatabase();
  const service = await serveCore({ storage: mysql({ url, lockTimeoutMs: 1_000 }) });
  expect((await service.request('GET', '/readyz')).status).toBe(200);
  const { port, pathname } = new URL(url);
  const root = await connectAsRoot(Number(port), pathname.slice(1));
  await root.query('lock tables svc_file write');
  const ready = await service.request('GET', '/readyz');
  expect([ready.status, ready.json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
  await root.end();
  await expect.poll(async () => (await service.request('GET', '/readyz')).status).toBe(200);
});

describe('a database whose answers stop while its connections stay open (F21)', () => {
  async function serveBehindProxy(
    options: MysqlOptions,
    callDeadlineMs?: number,
  ): Promise<{ service: LiveServer; proxy: FaultProxy }> {
    const url = await freshDatabase();
    const proxy = await startFaultProxy(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const storage = mysql({ url: url.replace(/:\d+\//, `:${proxy.port}/`), ...options });
    const service = await serveCore(
      { storage, plugins: [dreaming(), mcp()] },
      callDeadlineMs === undefined ? {} : { callDeadlineMs },
    );
    // What still waits for its answer at the end would hold up the close.
    onTestFinished(() => proxy.refuse(true));
    return { service, proxy };
  }

  const LISTS = [
    '/v1/admin/files',
    '/v1/admin/users',
    '/v1/admin/revisions',
    '/v1/admin/access-logs',
    '/v1/admin/observability/events',
    '/v1/admin/dream/runs',
    '/v1/admin/dream/users',
  ];

  it('has every call answered by its deadline, however long the database may take', async () => {
    // A statement may take longer than this test.
    const { service, proxy } = await serveBehindProxy({ statementTimeoutMs: 600_000 }, 500);
    expect((await write(service)).status).toBe(200);
    proxy.silence('all');
    const calls = await Promise.all([
      read(service),
      execute(service, 'find', { query: 'text' }),
      execute(service, 'list', {}),
      execute(service, 'context', { query: 'text' }),
      ...LISTS.map((path) => service.request('GET', path, { headers: asAdmin })),
      service.request('GET', '/readyz'),
    ]);
    for (const { status, json } of calls) {
      expect([status, json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
      expect(json.error.message).not.toContain('may have been written');
    }
    const writes = await Promise.all([
      write(service),
      execute(service, 'patch', { path: 'user/a.md', append: { text: 'b' } }),
      service.request('PUT', '/v1/admin/files/users/alice/b.md', {
        body: { content: 'x' },
        headers: asAdmin,
      }),
    ]);
    for (const { status, json } of writes) {
      expect([status, json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
      expect(json.error.message).toContain('may have been written');
      expect(json.error.details).toEqual({ reason: 'outcome_unknown' });
    }
    // The messages of a list run four at a time.
    const reads = Array.from({ length: 6 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'memory_read', arguments: { path: 'user/a.md' } },
    }));
    const { json: answers } = await service.request('POST', '/v1/mcp', {
      body: reads,
      headers: { ...asAgent, 'x-user-id': 'alice', accept: 'application/json, text/event-stream' },
    });
    expect(answers).toHaveLength(reads.length);
    for (const { result } of answers) {
      expect(result).toMatchObject({ isError: true, _meta: { code: 'STORAGE_UNAVAILABLE' } });
    }
    // A time limit of the storage has a cause, which is logged. The deadline has none.
    expect(service.log.lines.filter(({ message }) => message === 'a request failed')).toEqual([]);
  });

  it('works again without a restart once the answers come', async () => {
    const { service, proxy } = await serveBehindProxy({ statementTimeoutMs: 1_000 }, 3_000);
    expect((await write(service)).status).toBe(200);
    proxy.silence('all');
    const lists = [...LISTS, ...LISTS, '/v1/admin/status'];
    const during = await Promise.all([
      read(service),
      write(service),
      service.request('GET', '/readyz'),
      ...lists.map((path) => service.request('GET', path, { headers: asAdmin })),
    ]);
    expect(during.map(({ status }) => status)).toEqual(during.map(() => 503));
    proxy.silence(null);
    const after = [
      await service.request('GET', '/readyz'),
      await write(service),
      await read(service),
      ...(await Promise.all(
        lists.map((path) => service.request('GET', path, { headers: asAdmin })),
      )),
    ];
    expect(after.map(({ status }) => status)).toEqual(after.map(() => 200));
  });
});
