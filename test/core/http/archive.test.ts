import { readdir } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { call } from '../../support/service.ts';
import { ADMIN_SECRET, asAdmin, type LiveServer, rawExchange, serveCore } from './serve.ts';

const GZIP = { ...asAdmin, 'content-type': 'application/gzip' };

/** The bytes of an answer, which the requester of other tests reads as text. */
function download(port: number, path: string): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers: asAdmin };
    http
      .get(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }),
        );
      })
      .on('error', reject);
  });
}

async function write(server: LiveServer, userId: string, path: string, content: string) {
  await call(server.core, userId, 'memory_write', { path, content });
}

const lines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

const spools = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('memory-service-import-'));

describe('GET /v1/admin/export and POST /v1/admin/import', () => {
  it('carry a memory from one service to another', async () => {
    const here = await serveCore();
    await write(here, 'alice', 'user/a.md', 'one');
    await write(here, 'alice', 'user/a.md', 'two');
    const { status, body } = await download(here.port, '/v1/admin/export');
    expect(status).toBe(200);

    const there = await serveCore();
    const dry = await there.request('POST', '/v1/admin/import?dryRun=true', {
      headers: GZIP,
      body,
    });
    expect(lines(dry.text)).toMatchObject([
      { path: 'users/alice/a.md', outcome: 'restored' },
      { summary: { dryRun: true, restored: 1 } },
    ]);
    const answer = await there.request('POST', '/v1/admin/import', { headers: GZIP, body });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch('application/x-ndjson');
    expect(lines(answer.text)).toMatchObject([
      { path: 'users/alice/a.md', outcome: 'restored' },
      { summary: { dryRun: false, restored: 1 } },
    ]);
    expect((await download(there.port, '/v1/admin/export')).body.equals(body)).toBe(true);
    const audit = await there.request('GET', '/v1/admin/audit?order=asc', { headers: asAdmin });
    expect(audit.json.items).toMatchObject([
      { action: 'memory.import', address: '127.0.0.1', details: { step: 'begin' } },
      { action: 'memory.import', address: '127.0.0.1', details: { step: 'end' } },
      { action: 'memory.export', address: '127.0.0.1' },
      { action: 'contents.read', address: '127.0.0.1' },
    ]);
  });

  it('export one user alone, and files without their history', async () => {
    const server = await serveCore();
    await write(server, 'alice', 'user/a.md', 'of alice');
    await write(server, 'bob', 'user/b.md', 'of bob');
    const of = async (query: string) =>
      (await download(server.port, `/v1/admin/export${query}`)).body.length;
    expect(await of('?userId=alice&history=false')).toBeLessThan(await of('?userId=alice'));
    const bad = await server.request('GET', '/v1/admin/export?userId=a%2Fb', { headers: asAdmin });
    expect(bad.json.error.code).toBe('INVALID_USER_ID');
  });

  it('refuse an archive with one clear error before anything is answered or written', async () => {
    const here = await serveCore();
    await write(here, 'alice', 'user/a.md', 'here');
    const { body } = await download(here.port, '/v1/admin/export');
    const there = await serveCore();
    await write(there, 'alice', 'user/a.md', 'there');
    const post = (query: string, input: object) =>
      there.request('POST', `/v1/admin/import${query}`, { headers: GZIP, ...input });

    const conflict = await post('', { body });
    expect(conflict.status).toBe(409);
    expect(conflict.json.error).toMatchObject({
      code: 'IMPORT_CONFLICT',
      details: { paths: ['users/alice/a.md'] },
    });
    const cut = await post('?onExisting=skip', { body: body.subarray(0, body.length - 20) });
    expect(cut.json.error.code).toBe('INVALID_ARCHIVE');
    const empty = await post('', { body: Buffer.alloc(0) });
    expect(empty.json.error.code).toBe('INVALID_ARCHIVE');
    const json = await post('', {
      body: {},
      headers: { ...asAdmin, 'content-type': 'text/plain' },
    });
    expect(json.json.error.code).toBe('UNSUPPORTED_MEDIA_TYPE');
    const query = await post('?onExisting=overwrite', { body });
    expect(query.json.error.code).toBe('INVALID_REQUEST');
    const nobody = await post('', { body, headers: { 'content-type': 'application/gzip' } });
    expect(nobody.json.error.code).toBe('UNAUTHORIZED');
    const file = await there.core.storage.files.get({ scope: 'u:alice', path: 'a.md' });
    expect(file?.content).toBe('there');
    await expect.poll(spools).toEqual([]);
  });

  it('leave nothing behind when the upload is cut off', async () => {
    const server = await serveCore();
    const head = [
      'POST /v1/admin/import HTTP/1.1',
      'Host: 127.0.0.1',
      `X-Admin-Secret: ${ADMIN_SECRET}`,
      'Content-Type: application/gzip',
      'Content-Length: 1000',
      'Connection: close',
      '\r\n',
    ].join('\r\n');
    const request = http.request({
      host: '127.0.0.1',
      port: server.port,
      method: 'POST',
      path: '/v1/admin/import',
      headers: { ...GZIP, 'content-length': 1000 },
    });
    request.on('error', () => undefined);
    request.write(Buffer.alloc(500));
    await expect.poll(async () => (await spools()).length).toBe(1);
    request.destroy();
    await expect.poll(spools).toEqual([]);
    await expect.poll(() => server.log.lines.length).toBeGreaterThan(0);
    // A client that went away is no failure of the service.
    expect(new Set(server.log.lines.map(({ level }) => level))).toEqual(new Set(['debug']));
    expect(server.log.lines).toContainEqual(
      expect.objectContaining({ message: 'the client disconnected before the end of its body' }),
    );
    // Not gzip: answered although the client has more to send.
    const answer = await rawExchange(server.port, head + 'x'.repeat(1000));
    expect(answer).toMatch('INVALID_ARCHIVE');
    await expect.poll(spools).toEqual([]);
  });

  it('answers 200 with each item that is skipped, and goes on', async () => {
    const server = await serveCore();
    const body = [
      '{"memory":"Rides a bike","userId":"bob"}',
      '{"memory":"cut o',
      '{"memory":"Likes tea"}',
      '{"memory":"Whose?","userName":"bob"}',
    ].join('\n');
    const headers = { ...asAdmin, 'content-type': 'application/x-ndjson' };
    for (const dryRun of [true, false]) {
      const query = `userId=alice&dryRun=${dryRun}`;
      const answer = await server.request('POST', `/v1/admin/import?${query}`, { headers, body });
      expect(answer.status).toBe(200);
      expect(lines(answer.text)).toEqual([
        { item: 'line 2', reason: expect.stringMatching(/^It is not JSON/) as string },
        { item: 'line 4', reason: expect.stringMatching(/"userName"/) as string },
        { path: 'users/alice/memories/undated.md', outcome: 'created' },
        { path: 'users/bob/memories/undated.md', outcome: 'created' },
        {
          summary: expect.objectContaining({
            dryRun,
            created: 2,
            source: { from: 'mem0', items: 4, written: 2, skipped: 2 },
          }) as object,
        },
      ]);
    }
  });
});
