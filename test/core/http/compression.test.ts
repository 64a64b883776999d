import http, { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import compression from 'compression';
import Koa from 'koa';
import compress from 'koa-compress';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryService, type MemoryService } from '../../../core/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { ADMIN_SECRET, asAdmin, requester } from './serve.ts';

const STREAM = '/v1/admin/observability/events/stream';
const ENCODINGS = 'gzip, deflate, br';

/** Apps that compress whatever goes through them, as small as it may be. */
const HOSTS: Record<string, (service: MemoryService) => RequestListener> = {
  'koa-compress': (service) =>
    new Koa()
      .use(compress({ threshold: 0 }))
      .use(service.middleware())
      .callback() as RequestListener,
  'compression in Express': (service) => {
    const app = createMcpExpressApp() as unknown as {
      use(...handlers: unknown[]): void;
    } & RequestListener;
    app.use(compression({ threshold: 0 }));
    app.use(service.callback());
    return app;
  },
};

async function mount(host: string): Promise<{ service: MemoryService; port: number }> {
  const filename = await temporaryDatabase();
  const service = createMemoryService({ storage: sqlite({ filename }), adminSecret: ADMIN_SECRET });
  await service.ready();
  const server = createServer((HOSTS[host] as (typeof HOSTS)[string])(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
  });
  return { service, port: (server.address() as AddressInfo).port };
}

function send(
  port: number,
  options: http.RequestOptions & { body?: string | Buffer },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { body, headers, ...rest } = options;
    const request = http.request({ port, headers: { ...asAdmin, ...headers }, ...rest }, resolve);
    request.on('error', reject);
    onTestFinished(() => void request.destroy());
    request.end(body);
  });
}

describe.each(Object.keys(HOSTS))('behind %s', (host) => {
  it('live events arrive one by one, and as they are', async () => {
    const { service, port } = await mount(host);
    const answer = await send(port, { path: STREAM, headers: { 'accept-encoding': ENCODINGS } });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers['cache-control']).toContain('no-cache, no-transform');
    expect(answer.headers['x-accel-buffering']).toBe('no');
    let received = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    await expect.poll(() => received).toMatch(/^:\n\nretry: \d+\n\n/);
    for (const version of [1, 2]) {
      const { toolCallId } = await service.tools.execute('memory_write', {
        context: { userId: 'alice' },
        arguments: { path: 'user/a.md', content: `${version}` },
      });
      // The connection stays open: whatever is held back would never come.
      await expect.poll(() => received, { timeout: 10_000 }).toContain(toolCallId);
    }
  });

  it('the lines of an import arrive as they are', async () => {
    const { service, port } = await mount(host);
    for (const name of ['a', 'b']) {
      await service.tools.execute('memory_write', {
        context: { userId: 'alice' },
        arguments: { path: `user/${name}.md`, content: name },
      });
    }
    const headers = { 'accept-encoding': ENCODINGS };
    const archive = await buffer(await send(port, { path: '/v1/admin/export', headers }));
    const answer = await send(port, {
      method: 'POST',
      path: '/v1/admin/import?onExisting=skip',
      headers: { 'content-type': 'application/gzip', ...headers },
      body: archive,
    });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers['x-accel-buffering']).toBe('no');
    const lines = (await text(answer)).trim().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line)))).toEqual([
      ['path', 'outcome'],
      ['path', 'outcome'],
      ['summary'],
    ]);
  });

  it('an entity tag is good for the next write and the next read', async () => {
    const { port } = await mount(host);
    const file = '/v1/admin/files/users/alice/a.md';
    const content = 'compressible '.repeat(500);
    await requester(port).request('PUT', file, { headers: asAdmin, body: { content } });
    const read = async (headers: http.OutgoingHttpHeaders = {}) => {
      const answer = await send(port, {
        path: file,
        headers: { 'accept-encoding': ENCODINGS, ...headers },
      });
      const bytes = await buffer(answer);
      const { etag = '', 'content-encoding': encoding } = answer.headers;
      return { status: answer.statusCode, etag, encoding, bytes };
    };
    const { etag, encoding, bytes } = await read();
    expect(encoding).toMatch(/^(?:br|gzip)$/);
    const plain = encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes);
    expect(JSON.parse(plain.toString()).file.content).toBe(content);
    // Both leave the tag as it is; what others make of it, these try.
    for (const seen of [etag, `W/${etag}`, etag.replace(/"$/, '-gzip"')]) {
      expect((await read({ 'if-none-match': seen })).status, seen).toBe(304);
    }
    let version = 1;
    for (const toSeen of [
      (tag: string) => tag,
      (tag: string) => `W/${tag}`,
      (tag: string) => tag.replace(/"$/, ';gzip"'),
    ]) {
      const written = await requester(port).request('PUT', file, {
        headers: { ...asAdmin, 'if-match': toSeen(`"${version}"`) },
        body: { content: `${version}` },
      });
      expect(written.status).toBe(200);
      version += 1;
    }
  });
});
