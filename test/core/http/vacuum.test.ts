import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { findRaw } from '../../support/raw-files.ts';
import { call, temporaryDatabase } from '../../support/service.ts';
import { asAdmin, type LiveServer, serveCore } from './serve.ts';
import { sqlite } from '../../support/databases.ts';

const SECRET = 'Qzvxwkjhrtplmgbdnfcsyaeiou';

const ask = async (server: LiveServer, method: string, path: string, body?: object) =>
  (
    await server.request(method, `/v1/admin/${path}`, {
      headers: { ...asAdmin, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  ).json as never;

interface Status {
  databaseFile: { state: string; receipts: number; lastFailure: string | null } | null;
}

async function served() {
  const filename = await temporaryDatabase();
  const server = await serveCore({ storage: sqlite({ filename }) });
  const args = { path: 'user/a.md', content: `${SECRET}\n` };
  const { result } = await call(server.core, 'alice', 'memory_write', args);
  await call(server.core, 'alice', 'memory_write', { ...args, content: 'two\n' });
  const file = async () => ((await ask(server, 'GET', 'status')) as Status).databaseFile;
  return { filename, server, file, revisionId: String(result['revisionId']) };
}

it('rewrites the file in the background, and the status says before that what waits', async () => {
  const { filename, server, file, revisionId } = await served();
  const store = server.core.storage.erasure?.file;
  if (store === undefined) throw new Error('The database is not a file.');
  const full = new MemoryError('STORAGE_FULL', 'There is no room to rewrite it.');
  const rewrite = vi.spyOn(store, 'rewrite').mockRejectedValue(full);
  const redact = { reason: 'a test' };
  expect(await ask(server, 'POST', `revisions/${revisionId}/redact`, redact)).toMatchObject({
    pending: ['database file'],
    copies: [],
  });
  expect(await file()).toMatchObject({
    state: 'pending',
    receipts: 1,
    lastFailure: full.message,
  });
  expect(await ask(server, 'GET', 'vacuum')).toBeNull();
  rewrite.mockRestore();
  const begun = await ask(server, 'POST', 'vacuum');
  expect(begun).toMatchObject({ state: 'running', error: null });
  const job = async () => (await ask(server, 'GET', 'vacuum')) as { state: string };
  while ((await job()).state === 'running') await sleep(10);
  expect(await job()).toMatchObject({
    state: 'completed',
    result: { before: expect.any(Number) as number, bytes: expect.any(Number) as number },
  });
  expect(await file()).toMatchObject({ state: 'clean', receipts: 0, lastFailure: null });
  expect(await findRaw(filename, SECRET)).toEqual([]);
  const { items } = (await ask(server, 'GET', 'audit')) as {
    items: { action: string; details: object }[];
  };
  expect(items.map(({ action }) => action)).toEqual(['memory.vacuum', 'revisions.redact']);
  expect(items[1]?.details).toMatchObject({
    pending: [],
    rewrittenAt: expect.any(String) as string,
  });
});

it('is refused, with what to do, where the database is not a file', async () => {
  const server = await serveCore({ storage: withoutFile(sqlite({ filename: ':memory:' })) });
  expect(await ask(server, 'POST', 'vacuum')).toMatchObject({
    error: {
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('OPTIMIZE TABLE') as string,
    },
  });
  expect(((await ask(server, 'GET', 'status')) as Status).databaseFile).toBeNull();
});

function withoutFile(storage: ReturnType<typeof sqlite>): ReturnType<typeof sqlite> {
  const { erasure } = storage;
  if (erasure === undefined) throw new Error('There is no erasure store.');
  const { file: _file, ...others } = erasure;
  return { ...storage, erasure: others };
}
