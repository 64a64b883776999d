import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readConsoleFiles } from '../../../core/http/console-files.ts';
import { consoleRoutes } from '../../../core/http/routes/console.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { serve } from './serve.ts';

const SCRIPT = 'export const words = "tea tea tea tea tea tea tea tea tea tea";\n'.repeat(40);

async function serveBuilt() {
  const built = await temporaryDirectory();
  await mkdir(path.join(built, 'assets'));
  const write = (name: string, content: string | Buffer) =>
    writeFile(path.join(built, name), content);
  await write('index.html', '<!doctype html>');
  await write('favicon.svg', '<svg/>');
  await write('assets/app-1a2b.js.gz', gzipSync(SCRIPT));
  const service = await serve(consoleRoutes(readConsoleFiles(built), ''));
  const ask = async (accept: string | null, method = 'GET', headers = {}) =>
    await service.request(method, '/admin/assets/app-1a2b.js', {
      headers: { ...(accept === null ? {} : { 'accept-encoding': accept }), ...headers },
    });
  return { service, ask };
}

describe('a file of the console', () => {
  it('comes packed to a client that accepts it, each form with a tag of its own', async () => {
    const { service, ask } = await serveBuilt();
    const forms: [accept: string | null, encoding: string | undefined][] = [
      ['gzip, deflate, br, zstd', 'gzip'],
      ['gzip, deflate', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['GZIP;q=0.001', 'gzip'],
      ['*', 'gzip'],
      ['*;q=0', undefined],
      ['gzip;q=none', undefined],
      ['br', undefined],
      ['identity', undefined],
      ['', undefined],
      [null, undefined],
    ];
    const lengths: Record<string, number> = {
      gzip: gzipSync(SCRIPT).length,
    };
    const tags = new Map<string | undefined, Set<unknown>>();
    for (const [accept, encoding] of forms) {
      const answer = await ask(accept);
      expect([answer.status, answer.headers['content-encoding']], String(accept)).toEqual([
        200,
        encoding,
      ]);
      expect(answer.headers['vary']).toBe('Accept-Encoding');
      expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8');
      const length = lengths[encoding ?? ''] ?? SCRIPT.length;
      expect(Number(answer.headers['content-length'])).toBe(length);
      tags.set(encoding, (tags.get(encoding) ?? new Set()).add(answer.headers['etag']));
    }
    expect([...tags.values()].map(({ size }) => size)).toEqual([1, 1]);
    expect(new Set([...tags.values()].flatMap((one) => [...one])).size).toBe(2);
    // What has no compressed form does not depend on the header.
    const plain = await service.request('GET', '/admin/favicon.svg', {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect([plain.text, plain.headers['vary'], plain.headers['content-encoding']]).toEqual([
      '<svg/>',
      undefined,
      undefined,
    ]);
  });

  it('is the same bytes in each form', async () => {
    const { service } = await serveBuilt();
    const fetched = async (encoding: string) => {
      const url = `http://127.0.0.1:${service.port}/admin/assets/app-1a2b.js`;
      // fetch takes the encoding off by itself.
      const answer = await fetch(url, { headers: { 'accept-encoding': encoding } });
      return [answer.headers.get('content-encoding'), await answer.text()];
    };
    expect(await fetched('gzip')).toEqual(['gzip', SCRIPT]);
    expect(await fetched('identity')).toEqual([null, SCRIPT]);
  });

  it('answers HEAD as GET without the body, and 304 to the tag of the form that is asked for', async () => {
    const { ask } = await serveBuilt();
    const got = await ask('gzip');
    const head = await ask('gzip', 'HEAD');
    expect(head.text).toBe('');
    for (const name of ['etag', 'vary', 'content-encoding', 'content-length', 'content-type']) {
      expect(head.headers[name], name).toBe(got.headers[name]);
    }
    const tag = { 'if-none-match': got.headers['etag'] };
    const known = await ask('gzip', 'GET', tag);
    expect([known.status, known.text, known.headers['vary']]).toEqual([304, '', 'Accept-Encoding']);
    expect(known.headers['etag']).toBe(got.headers['etag']);
    expect((await ask('identity', 'GET', tag)).status).toBe(200);
  });

  it('is not reached by the name of its compressed form', async () => {
    const { service } = await serveBuilt();
    for (const name of ['app-1a2b.js.gz', 'app-1a2b.js.GZ']) {
      expect((await service.request('GET', `/admin/assets/${name}`)).status, name).toBe(404);
    }
  });
});

describe('the page of the console', () => {
  it('names the code of the view that it opens, to be fetched with its own', async () => {
    const built = await temporaryDirectory();
    await writeFile(
      path.join(built, 'index.html'),
      '<head><link rel="modulepreload" href="./assets/vue-1a.js"></head><body></body>',
    );
    const chunks = {
      'src/views/FilesView.vue': { file: 'assets/FilesView-2b.js', imports: ['_tree', '_vue'] },
      _tree: { file: 'assets/tree-3c.js', imports: ['_vue', 'src/views/FilesView.vue'] },
      _vue: { file: 'assets/vue-1a.js' },
    };
    await writeFile(path.join(built, 'manifest.json'), JSON.stringify(chunks));
    const files = readConsoleFiles(built);
    const linksOf = (view: string) =>
      [...String(files.find(view, null, '../')?.content).matchAll(/href="([^"]*)"/g)].map(
        ([, href]) => href,
      );
    const own = '../assets/vue-1a.js';
    const view = ['../assets/FilesView-2b.js', '../assets/tree-3c.js'];
    expect(linksOf('files')).toEqual([own, ...view]);
    expect(linksOf('files/')).toEqual([own, ...view]);
    for (const other of ['', 'users', 'filesystem', 'index.html']) {
      expect(linksOf(other), other).toEqual([own]);
    }
  });
});
