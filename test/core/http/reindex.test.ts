import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { gateIndex } from '../../support/gated-index.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { removeTerm } from '../../support/spoil-index.ts';
import { call, temporaryDatabase } from '../../support/service.ts';
import { asAdmin, type LiveServer, serveCore } from './serve.ts';
import { sqlite } from '../../support/databases.ts';

interface IndexStatus {
  filesBehind: number;
  reindex: { state: string; done: number; files: number } | null;
}

const start = (server: LiveServer) =>
  server.request('POST', '/v1/admin/reindex', { headers: asAdmin });

const readIndex = async (server: LiveServer): Promise<IndexStatus> =>
  (await server.request('GET', '/v1/admin/status', { headers: asAdmin })).json.index;

async function untilDone(server: LiveServer): Promise<IndexStatus> {
  for (;;) {
    const index = await readIndex(server);
    if (index.reindex?.state !== 'running') return index;
    await sleep(10);
  }
}

async function serveFile() {
  const filename = await temporaryDatabase();
  const gate = gateIndex(sqlite({ filename }));
  gate.isOpen = true;
  const server = await serveCore({ storage: gate.storage });
  for (let n = 0; n < 9; n += 1) {
    const args = { path: `user/${n}.md`, content: 'A heron.\n' };
    await call(server.core, `u${n % 3}`, 'memory_write', args);
  }
  await server.core.indexer.drain();
  const count = async () =>
    (await call<{ results: unknown[] }>(server.core, 'u1', 'memory_find', { query: 'heron' }))
      .result.results.length;
  return { filename, gate, server, count };
}

it('begins in the background, is audited, and the status says how far it is', async () => {
  const { filename, server, count } = await serveFile();
  expect(await readIndex(server)).toEqual({ filesBehind: 0, reindex: null });
  await removeTerm(filename, 'heron');
  expect(await count()).toBe(0);
  const { status, json } = await start(server);
  expect([status, json.files]).toEqual([202, 9]);
  const done = { state: 'completed', done: 9, files: 9 };
  expect(await untilDone(server)).toEqual({ filesBehind: 0, reindex: done });
  expect(await count()).toBe(3);
  const { items } = (
    await server.request('GET', '/v1/admin/audit?action=index.reindex', { headers: asAdmin })
  ).json;
  expect(items).toMatchObject([{ action: 'index.reindex', target: 'all', address: '127.0.0.1' }]);
});

it('is not begun again while one is under way, and finds stay right meanwhile', async () => {
  const { gate, server, count } = await serveFile();
  const { drop } = gate.storage.index;
  let goOn: () => void = () => undefined;
  const halt = new Promise<void>((resolve) => (goOn = resolve));
  gate.storage.index.drop = async (scope) => {
    const files = await drop(scope);
    if (scope === 'u:u1') await halt;
    return files;
  };
  await start(server);
  const again = await start(server);
  expect([again.status, again.json.state]).toEqual([202, 'running']);
  expect(await count()).toBe(3);
  const { items } = (
    await server.request('GET', '/v1/admin/audit?action=index.reindex', { headers: asAdmin })
  ).json;
  expect(items).toHaveLength(1);
  goOn();
  expect((await untilDone(server)).reindex).toMatchObject({ state: 'completed', done: 9 });
});

it('that storage stops is shown as failed, and can be begun again', async () => {
  const { gate, server, count } = await serveFile();
  // One may be for the indexer, which looks for stale files by itself.
  gate.fates = ['lost', 'lost', 'lost'];
  await start(server);
  expect((await untilDone(server)).reindex).toMatchObject({ state: 'failed' });
  gate.fates = [];
  expect(await count()).toBe(3);
  await start(server);
  expect((await untilDone(server)).reindex).toMatchObject({ state: 'completed', done: 9 });
});

it('is left alone where the change cannot be audited', async () => {
  const { filename, server } = await serveFile();
  await withRawSql(filename, 'sqlite3', (raw) =>
    raw.exec(
      "create trigger no_audit before insert on svc_admin_audit begin select raise(abort, 'no'); end",
    ),
  );
  expect((await start(server)).status).toBe(500);
  expect(await readIndex(server)).toEqual({ filesBehind: 0, reindex: null });
});
