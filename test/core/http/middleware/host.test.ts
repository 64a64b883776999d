import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { checkHost } from '../../../../core/http/middleware/host.ts';
import type { RequestHead } from '../../../../core/http/middleware/check.ts';
import { rawExchange, route, serve } from '../serve.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/** A request with each of these headers once. */
function headOf(headers: Record<string, string>, target = '/'): RequestHead {
  return {
    header: (name) => headers[name] ?? null,
    count: (name) => (headers[name] === undefined ? 0 : 1),
    address: '127.0.0.1',
    target,
    method: 'GET',
    apiKey: null,
    operator: null,
  };
}

function verdict(
  allowed: readonly string[] | null,
  headers: Record<string, string>,
  target = '/',
): 'passed' | 'refused' {
  const check = checkHost(allowed);
  try {
    check(headOf(headers, target));
    return 'passed';
  } catch (error) {
    expect(error).toMatchObject({ code: 'HOST_NOT_ALLOWED', status: 403 });
    return 'refused';
  }
}

async function listenHere(app: Koa) {
  const server = createServer(app.callback() as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe('the host check', () => {
  it.each([
    { host: 'localhost:8787' },
    { host: 'LOCALHOST' },
    { host: '127.0.0.1:1' },
    { host: '[::1]:8787' },
    { host: '[::1]' },
    { host: 'localhost', origin: 'http://localhost:5173' },
    { host: 'localhost', origin: 'http://[::1]:8787' },
    { host: 'localhost', origin: 'https://127.0.0.1' },
  ])('lets %o pass', (headers) => {
    expect(verdict(LOOPBACK, headers)).toBe('passed');
  });

  it.each<Record<string, string>>([
    {},
    { host: '' },
    { host: 'evil.example' },
    { host: 'evil.example:8787' },
    { host: 'localhost.evil.example' },
    { host: 'evil.example:127.0.0.1' },
    { host: 'localhost:8787@evil.example' },
    { host: 'localhost, evil.example' },
    { host: '127.0.0.1.nip.example' },
    { host: '[::1].evil.example' },
    { host: '[::1].evil.example:8787' },
    { host: 'localhost', origin: 'http://evil.example' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: 'http://localhost.evil.example' },
    { host: 'localhost', origin: 'http://evil.example#localhost' },
    { host: 'localhost', origin: 'http://localhost@evil.example' },
    { host: 'localhost', origin: 'file://localhost' },
    { host: 'localhost', origin: 'chrome-extension://localhost' },
  ])('refuses %o', (headers) => {
    expect(verdict(LOOPBACK, headers)).toBe('refused');
  });

  it('regards the authority of an absolute target', () => {
    const headers = { host: 'localhost' };
    expect(verdict(LOOPBACK, headers, 'http://localhost:8787/v1/tools')).toBe('passed');
    expect(verdict(LOOPBACK, headers, 'http://evil.example/v1/tools')).toBe('refused');
  });

  it('takes an entry with a port for that port alone', () => {
    const allowed = ['memory.example:8443', '[2001:db8::1]'];
    expect(verdict(allowed, { host: 'memory.example:8443' })).toBe('passed');
    expect(verdict(allowed, { host: 'memory.example' })).toBe('refused');
    expect(verdict(allowed, { host: '[2001:db8::1]:80' })).toBe('passed');
  });

  it('takes an entry and an origin in any case', () => {
    expect(verdict(['Memory.Example'], { host: 'memory.example' })).toBe('passed');
    expect(verdict(LOOPBACK, { host: 'localhost', origin: 'HTTP://LOCALHOST:1' })).toBe('passed');
  });

  it('takes nothing but digits for a port, and the whole name for the host', () => {
    for (const host of ['localhost:', 'localhost:80a', 'localhost:a80', 'localhost:80:80']) {
      expect([host, verdict(LOOPBACK, { host })]).toEqual([host, 'refused']);
    }
    for (const host of ['[::1]:', '[::1]:80a', '[::1]:a80', '[::1', '::1]', '[[::1]]']) {
      expect([host, verdict(LOOPBACK, { host })]).toEqual([host, 'refused']);
    }
    // Half a pair of brackets is part of the name.
    expect(verdict(['[::1'], { host: '::' })).toBe('refused');
    expect(verdict(['::1]'], { host: ':1' })).toBe('refused');
    expect(verdict(['10'], { host: '108' })).toBe('refused');
  });

  it('takes an origin that begins with its scheme, and an authority up to its end', () => {
    const from = (origin: string) => verdict(LOOPBACK, { host: 'localhost', origin });
    expect(from('ahttp://localhost')).toBe('refused');
    expect(from('http:/localhost')).toBe('refused');
    expect(from('http://localhost?evil.example')).toBe('passed');
    expect(from('http://localhost/evil.example')).toBe('passed');
    expect(from('http:///localhost')).toBe('refused');
  });

  it('says what is wrong with a second Host and with a target, wherever hosts are allowed', () => {
    for (const allowed of [null, ['*'], LOOPBACK]) {
      const check = checkHost(allowed);
      const head = headOf({ host: 'localhost' });
      expect(() => check({ ...head, count: () => 2 })).toThrow('Only one Host header is allowed.');
      for (const target of ['ftp://localhost/', 'localhost:80', '*']) {
        expect(() => check({ ...head, target })).toThrow(
          'The request target must be a path or an http address.',
        );
      }
    }
    expect(verdict(['*'], { host: 'anything.example' })).toBe('passed');
    expect(verdict(['a.example', '*'], {}, 'http://anything.example/')).toBe('passed');
  });

  it('is off where the host app decides', () => {
    expect(verdict(null, { host: 'anything.example', origin: 'http://other.example' })).toBe(
      'passed',
    );
  });
});

describe('over HTTP', () => {
  it('twelve combinations of foreign Host and Origin get 403, on every kind of route', async () => {
    const handle = () => ({ ok: true });
    const service = await serve(
      [
        route({ path: '/healthz', handle }),
        route({ path: '/v1/tools', auth: 'tools', handle }),
        route({ path: '/v1/admin/status', auth: 'admin', handle }),
      ],
      { allowedHosts: LOOPBACK },
    );
    const foreign = [
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { host: 'evil.example', origin: 'http://evil.example' },
    ];
    let refused = 0;
    for (const path of ['/healthz', '/v1/tools', '/v1/admin/status', '/nothing']) {
      for (const headers of foreign) {
        const answer = await service.request('GET', path, { headers });
        expect(answer.status, `${path} ${JSON.stringify(headers)}`).toBe(403);
        expect(answer.json.error.code).toBe('HOST_NOT_ALLOWED');
        expect(answer.text).not.toContain('evil');
        refused += 1;
      }
    }
    expect(refused).toBe(12);
    const absolute = await rawExchange(
      service.port,
      'GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    expect(absolute).toContain('403 Forbidden');
    expect((await service.request('GET', '/healthz')).status).toBe(200);
    service.close();
    await service.server.close({ graceMs: 0 });
  });

  it('any Host, and none, reaches a health check, and nothing else', async () => {
    const handle = () => ({ ok: true });
    const service = await serve(
      [
        route({ path: '/healthz', anyHost: true, handle }),
        route({ path: '/metrics', auth: 'admin', handle }),
        route({ path: '/v1/docs', handle }),
        route({ path: '/v1/tools', auth: 'tools', handle }),
      ],
      { allowedHosts: LOOPBACK, basePath: '/memory' },
    );
    const send = async (line: string, ...headers: string[]) => {
      const head = [line, ...headers, 'Connection: close', '', ''].join('\r\n');
      return (await rawExchange(service.port, head)).split(' ', 2)[1];
    };
    // ELB and HAProxy name no host, a kubelet the address, a rebound page its own name.
    for (const path of ['/healthz', '/healthz/']) {
      expect(await send(`GET /memory${path} HTTP/1.0`), path).toBe('200');
      expect(await send(`GET /memory${path} HTTP/1.0`, 'Host:'), path).toBe('200');
    }
    const health = 'GET /memory/healthz HTTP/1.1';
    expect(await send(health, 'Host: 10.0.0.5:8787')).toBe('200');
    expect(await send(health, 'Host: [fd00::5]:8787')).toBe('200');
    expect(await send(health, 'Host: evil.example', 'Origin: http://evil.example')).toBe('200');
    expect(await send('HEAD /memory/healthz HTTP/1.0')).toBe('200');
    expect(await send('GET http://10.0.0.5/memory/healthz HTTP/1.1', 'Host: 10.0.0.5')).toBe('200');
    expect(await send(health, 'Host: a', 'Host: b')).toBe('400');
    for (const path of [
      '/metrics',
      '/v1/docs',
      '/v1/tools',
      '/healthz/x',
      '/Healthz',
      '/nothing',
    ]) {
      expect(await send(`GET /memory${path} HTTP/1.1`, 'Host: 10.0.0.5:8787'), path).toBe('403');
      expect(await send(`GET /memory${path} HTTP/1.0`), path).toBe('403');
    }
    expect(await send('GET /healthz HTTP/1.0')).toBe('403');
    service.close();
    await service.server.close({ graceMs: 0 });
  });

  it('a target that is no path and no http address, and a second Host, get 400', async () => {
    const handle = () => ({ ok: true });
    const service = await serve(
      [
        route({ path: '/healthz', handle }),
        route({ path: '/v1/tools', auth: 'tools', handle }),
        route({ path: '/v1/admin/status', auth: 'admin', handle }),
      ],
      { allowedHosts: LOOPBACK },
    );
    const send = (head: string) =>
      rawExchange(service.port, `${head}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`);
    for (const path of ['/healthz', '/v1/tools', '/v1/admin/status', '/', '/nothing']) {
      for (const head of [
        `GET ftp://localhost${path} HTTP/1.1\r\nHost: localhost`,
        `GET file://localhost${path} HTTP/1.1\r\nHost: localhost`,
        `GET https:${path} HTTP/1.1\r\nHost: localhost`,
        `GET http://${path} HTTP/1.1\r\nHost: localhost`,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: localhost`,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Other: 1\r\nhOST: evil.example`,
        `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nHost: localhost`,
        `GET http://localhost${path} HTTP/1.1\r\nHost: localhost\r\nHost: localhost`,
      ]) {
        const answer = await send(head);
        expect(answer, head).toContain('HTTP/1.1 400 ');
        expect(answer, head).toContain('"INVALID_REQUEST"');
      }
      // Node's own answer, before any of the service.
      expect(await send(`GET ${path} HTTP/1.1\r\nX-Host: localhost`)).toContain('HTTP/1.1 400 ');
    }
    for (const target of ['/healthz', 'http://127.0.0.1/healthz', 'HTTPS://LOCALHOST:1/healthz']) {
      const head = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nX-Other: host`;
      expect(await send(head)).toContain('HTTP/1.1 200 ');
    }
    // Neither names another host in the other's place.
    for (const head of [
      'GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example',
      'GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost',
    ]) {
      expect(await send(head)).toContain('HTTP/1.1 403 ');
    }
    service.close();
    await service.server.close({ graceMs: 0 });
  });

  it('those hold where every host is allowed, and for the service’s own routes alone', async () => {
    const service = await serve([route({ path: '/healthz', handle: () => ({ ok: true }) })], {
      allowedHosts: null,
    });
    const app = new Koa();
    app.use(service.app.middleware());
    app.use((ctx) => {
      ctx.body = 'of the app';
    });
    const { port, close } = await listenHere(app);
    const send = (head: string) => rawExchange(port, `${head}\r\nConnection: close\r\n\r\n`);
    for (const head of [
      'GET ftp://any.example/healthz HTTP/1.1\r\nHost: any.example',
      'GET /healthz HTTP/1.1\r\nHost: any.example\r\nHost: any.example',
    ]) {
      expect(await send(head)).toContain('HTTP/1.1 400 ');
      expect(await send(head.replace('/healthz', '/other'))).toContain('of the app');
    }
    expect(await send('GET http://any.example/healthz HTTP/1.1\r\nHost: other.example')).toContain(
      'HTTP/1.1 200 ',
    );
    await close();
    service.close();
    await service.server.close({ graceMs: 0 });
  });
});
