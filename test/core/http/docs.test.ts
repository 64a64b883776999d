import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConsoleFiles } from '../../../core/http/console-files.ts';
import { readDocs } from '../../../core/http/docs.ts';
import { consoleRoutes } from '../../../core/http/routes/console.ts';
import { docsRoutes } from '../../../core/http/routes/docs.ts';
import { serve, type TestServer } from './serve.ts';

const CANARY = 'canary: not a page';
let directory: string;
let service: TestServer;
const listed = new Map<string, string>();

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-service-docs-'));
  const docs = path.join(directory, 'docs');
  const built = path.join(directory, 'console');
  const write = async (base: string, name: string, content: string): Promise<void> => {
    await mkdir(path.dirname(path.join(base, name)), { recursive: true });
    await writeFile(path.join(base, name), content);
  };
  listed.set('start.md', '# Start [here]\n\nText.\n');
  listed.set('concepts/files.md', '```\n# not a title\n```\n\n# Files and paths\n');
  listed.set('concepts/é ü.md', 'No heading.\n');
  listed.set('concepts/100%.md', '# Percent\n');
  for (const [name, content] of listed) await write(docs, name, content);
  await write(docs, '.hidden.md', CANARY);
  await write(docs, '.git/config.md', CANARY);
  await write(docs, 'notes.txt', CANARY);
  await write(docs, 'script.md.js', CANARY);
  await write(directory, 'outside.md', CANARY);
  await write(directory, 'outside/page.md', CANARY);
  await symlink(path.join(directory, 'outside.md'), path.join(docs, 'link.md'));
  await symlink(path.join(directory, 'outside'), path.join(docs, 'linked'));
  await symlink('/etc', path.join(docs, 'etc'));

  await write(
    built,
    'index.html',
    '<html><head><meta property="csp-nonce" nonce="__CSP_NONCE__"><script type="module" src="./assets/app-1a2b.js"></script></head></html>',
  );
  await write(built, 'assets/app-1a2b.js', 'export {};');
  await write(built, 'favicon.svg', '<svg/>');
  await write(built, '.env', CANARY);

  service = await serve(
    [
      ...docsRoutes(readDocs(docs, '/memory'), () => ({ openapi: '3.1.0' })),
      ...consoleRoutes(readConsoleFiles(built), '/memory'),
    ],
    { basePath: '/memory' },
  );
});

afterAll(async () => {
  service.close();
  await service.server.close({ graceMs: 0 });
  await rm(directory, { recursive: true, force: true });
});

describe('the docs', () => {
  it('list the pages, with titles and links that lead to them', async () => {
    const { json } = await service.request('GET', '/memory/v1/docs');
    expect(json.docs.map(({ path, title }: Record<string, string>) => [path, title])).toEqual([
      ['concepts/100%', 'Percent'],
      ['concepts/files', 'Files and paths'],
      ['concepts/é ü', 'concepts/é ü.md'],
      ['start', 'Start [here]'],
    ]);
    for (const { path, url } of json.docs) {
      const page = await service.request('GET', url);
      expect(page.status).toBe(200);
      expect(page.headers['content-type']).toBe('text/markdown; charset=utf-8');
      expect(page.text).toBe(listed.get(`${path}.md`));
      const headers = { 'if-none-match': String(page.headers.etag) };
      expect((await service.request('GET', url, { headers })).status).toBe(304);
    }
  });

  it('tell agents where they are', async () => {
    const { headers, text } = await service.request('GET', '/memory/llms.txt');
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(text).toContain('- [Start here](/memory/v1/docs/start.md)');
    expect(text).toContain('/memory/v1/openapi.json');
    // Where a reader begins comes first, whatever the alphabet says.
    const links = text.split('\n').filter((line) => line.startsWith('- ['));
    expect(links[0]).toContain('/start.md');
  });

  it('are read once: what appears later is not served', async () => {
    await writeFile(path.join(directory, 'docs', 'late.md'), CANARY);
    expect((await service.request('GET', '/memory/v1/docs/late.md')).status).toBe(404);
  });

  it('give a listed page or 404, for any path', async () => {
    const pieces = fc.constantFrom(
      ...[
        '..',
        '.',
        '',
        'docs',
        'concepts',
        'files.md',
        'start.md',
        'START.MD',
        'link.md',
        'linked',
      ],
      ...['page.md', 'outside.md', '.hidden.md', '.git', 'config.md', 'etc', 'passwd', 'notes.txt'],
      ...['%2e%2e', '%2e', '..%2f', '%2f', '%5c', '..%5c', '%00', 'start.md%00', '%c0%ae', '%zz'],
      ...[
        '%252e%252e',
        'start',
        'start.md.',
        'start.md ',
        'start.md%20',
        'é ü.md',
        '%C3%A9%20%C3%BC.md',
      ],
      ...[
        '%EF%BC%8E%EF%BC%8E',
        'C:',
        'file:',
        '~',
        '__proto__',
        'constructor',
        '*',
        ':path',
        '100%25.md',
      ],
    );
    const paths = fc.sample(fc.array(pieces, { minLength: 1, maxLength: 6 }), {
      numRuns: process.env['MEMORY_TEST_RELEASE'] === undefined ? 500 : 10_000,
      seed: 7,
    });
    const allowed = new Set([...listed.values()]);
    let found = 0;
    for (let start = 0; start < paths.length; start += 16) {
      const answers = paths.slice(start, start + 16).map(async (parts) => {
        const target = `/memory/v1/docs/${parts.join('/').replaceAll(' ', '%20').replaceAll(/[éü]/g, encodeURIComponent)}`;
        const answer = await service.request('GET', target);
        if (answer.status === 200) {
          found += 1;
          // An empty rest is the list itself only without the slash.
          expect(allowed, target).toContain(answer.text);
        } else {
          expect(answer.status, target).toBe(404);
        }
        expect(answer.text).not.toContain(CANARY);
        expect(answer.text).not.toContain('root:');
      });
      await Promise.all(answers);
    }
    expect(found).toBeGreaterThan(paths.length / 1_000);
  });

  it('are empty when there is no such directory', () => {
    const docs = readDocs(path.join(directory, 'nothing'), '');
    expect(docs.pages).toEqual([]);
    expect(docs.find('start.md')).toBeNull();
  });
});

describe('the console', () => {
  it('gives its page for every view, with a nonce of its own and its files below /admin', async () => {
    const nonces = new Set<string>();
    for (const view of ['', '/', '/files', '/files/users/alice', '/index.html', '/..', '/%2e%2e']) {
      const page = await service.request('GET', `/memory/admin${view}`);
      expect(page.status, view).toBe(200);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['cache-control']).toBe('no-store');
      // As seen from the page; a browser sends no address with dots.
      const [, src = ''] = /src="([^"]+)"/.exec(page.text) ?? [];
      if (!/\.\.|%2e/.test(view)) {
        const { pathname } = new URL(src, `http://localhost/any/memory/admin${view}`);
        expect(pathname, view).toBe('/any/memory/admin/assets/app-1a2b.js');
      }
      const nonce = /nonce="([^"]+)"/.exec(page.text)?.[1] ?? '';
      expect(page.headers['content-security-policy']).toBe(
        `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'nonce-${nonce}'; font-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
      expect(page.headers).toMatchObject({
        'cross-origin-opener-policy': 'same-origin',
        'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      nonces.add(nonce);
    }
    expect(nonces.size).toBe(7);
  });

  it('gives hashed files for good, others to be asked for again, and no others at all', async () => {
    const hashed = await service.request('GET', '/memory/admin/assets/app-1a2b.js');
    expect(hashed.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const icon = await service.request('GET', '/memory/admin/favicon.svg');
    expect(icon.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'no-cache',
    });
    const headers = { 'if-none-match': String(icon.headers.etag) };
    expect((await service.request('GET', '/memory/admin/favicon.svg', { headers })).status).toBe(
      304,
    );
    for (const path of [
      'assets/app.js',
      'assets/../../docs/start.md',
      '../docs/start.md',
      'a.php',
    ]) {
      expect((await service.request('GET', `/memory/admin/${path}`)).status, path).toBe(404);
    }
    expect((await service.request('GET', '/memory/admin/.env')).text).not.toContain(CANARY);
  });

  it('says so plainly when it is not built', () => {
    const files = readConsoleFiles(path.join(directory, 'nothing'));
    expect(files.isBuilt).toBe(false);
    expect(String(files.find('', null)?.content)).toContain('The console is not built');
    expect(files.find('assets/app.js', null)).toBeNull();
  });
});
