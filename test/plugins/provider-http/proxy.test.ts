import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { findProxy, readProxies, useProxies } from '../../../core/network/proxy.ts';
import { ProviderFault } from '../../../plugins/provider-http/fault.ts';
import { createProviderFetch, type Resolve } from '../../../plugins/provider-http/fetch.ts';
import { openai } from '../../../plugins/model-openai/index.ts';

afterEach(() => useProxies(readProxies({}).proxies));

async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that says what reached it. */
const startTarget = () =>
  listen(
    http.createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    }),
  );

/**
 * A proxy of HTTP: tunnels, and plain requests with a whole address. Each name leads to this machine.
 * `connect` is what it answers to CONNECT; with `null` it hangs up.
 */
async function startProxy({
  connect = 200,
  plain = 200,
}: { connect?: number | null; plain?: number } = {}) {
  const asked: { line: string; user: string | undefined }[] = [];
  const server = http.createServer((request, response) => {
    asked.push({
      line: `${request.method} ${request.url}`,
      user: request.headers['proxy-authorization'],
    });
    if (plain !== 200) {
      response.writeHead(plain).end();
      return;
    }
    const { port, pathname } = new URL(String(request.url));
    const { 'proxy-authorization': _user, ...headers } = request.headers;
    http
      .get({ port, path: pathname, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      })
      .on('error', () => response.destroy());
  });
  server.on('connect', (request, socket) => {
    asked.push({ line: `CONNECT ${request.url}`, user: request.headers['proxy-authorization'] });
    if (connect === null) {
      socket.destroy();
      return;
    }
    if (connect !== 200) {
      socket.end(`HTTP/1.1 ${connect} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const port = Number(String(request.url).split(':').at(-1));
    const upstream = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    onTestFinished(() => void upstream.destroy());
  });
  const port = await listen(server);
  return { asked, port, url: `http://127.0.0.1:${port}` };
}

const use = (environment: Record<string, string>) => useProxies(readProxies(environment).proxies);
const nowhere: Resolve = (_host, _options, done) =>
  done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
const fetchFrom = (baseUrl: string, resolve: Resolve = nowhere) =>
  createProviderFetch({ baseUrl, limits: { bytes: 10_000 }, resolve });

async function rejection(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('It went through.'),
    (error: Error) => error,
  );
}

async function faultOf(work: Promise<unknown>): Promise<ProviderFault> {
  const error = await rejection(work);
  expect(error).toBeInstanceOf(ProviderFault);
  return error as unknown as ProviderFault;
}

describe('a provider behind a proxy', () => {
  it('is asked through a tunnel, by its name, which this machine need not resolve', async () => {
    const target = await startTarget();
    const proxy = await startProxy();
    use({ HTTP_PROXY: proxy.url.replace('//', '//user:p%40ss@') });
    const base = `http://models.internal:${target}`;
    const ask = fetchFrom(base);
    const answers = await Promise.all(
      [1, 2].map(async (n) => (await ask(`${base}/v1/${n}`)).json()),
    );
    expect(answers).toMatchObject([{ url: '/v1/1' }, { url: '/v1/2' }]);
    expect(JSON.stringify(answers)).not.toContain('proxy-authorization');
    const user = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(new Set(proxy.asked.map(({ line }) => line))).toEqual(
      new Set([`CONNECT models.internal:${target}`]),
    );
    expect(proxy.asked[0]?.user).toBe(user);
  });

  it.each([403, null])('is asked in the plain without a tunnel for http: %s', async (connect) => {
    const target = await startTarget();
    const proxy = await startProxy({ connect });
    use({ http_proxy: proxy.url });
    const base = `http://models.internal:${target}`;
    expect(await (await fetchFrom(base)(`${base}/v1/x`)).json()).toMatchObject({ url: '/v1/x' });
    expect(proxy.asked.at(-1)?.line).toBe(`GET ${base}/v1/x`);
  });

  it('is asked directly where NO_PROXY names it', async () => {
    const target = await startTarget();
    const proxy = await startProxy();
    use({ ALL_PROXY: proxy.url, NO_PROXY: 'localhost,127.0.0.0/8' });
    const base = `http://127.0.0.1:${target}`;
    expect((await fetchFrom(base)(`${base}/v1/x`)).status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    [407, 'proxy_auth', false],
    [403, 'proxy_refused', false],
    [502, 'proxy_refused', true],
  ] as const)('fails by the proxy, not by its name: %s', async (status, problem, isTransient) => {
    const proxy = await startProxy({ connect: status, plain: status });
    use({ HTTPS_PROXY: proxy.url.replace('//', '//user:canary@') });
    const fault = await faultOf(fetchFrom('https://models.invalid')('https://models.invalid/v1'));
    expect(fault).toMatchObject({ reason: 'proxy', problem, isTransient });
    expect(proxy.asked[0]?.line).toBe('CONNECT models.invalid:443');
    const model = openai({
      baseUrl: 'https://models.invalid/v1',
      apiKey: 'k',
      name: 'm',
      maxRetries: 0,
    });
    const error = await rejection(
      model.generate({
        system: 'Answer.',
        prompt: 'x',
        schema: { type: 'object' },
        maxTokens: 10,
      } as never),
    );
    expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { reason: 'proxy', problem } });
    expect((error as { action?: string }).action).toContain('HTTPS_PROXY');
    expect(`${error.message}${String(error.cause)}`).not.toContain('canary');
  });

  it('fails by the proxy where nobody listens', async () => {
    const { port } = await startProxy();
    use({ HTTPS_PROXY: `http://127.0.0.1:${port === 1 ? 2 : 1}` });
    const fault = await faultOf(fetchFrom('https://models.invalid')('https://models.invalid/v1'));
    expect(fault).toMatchObject({
      reason: 'proxy',
      problem: 'proxy_unreachable',
      isTransient: true,
    });
  });

  it.each([
    'http://169.254.169.254',
    'https://100.100.100.200',
    'https://[fd00:ec2::254]',
    'https://metadata.google.internal',
  ])('is never where machines have their credentials: %s', async (base) => {
    const proxy = await startProxy();
    use({ ALL_PROXY: proxy.url });
    const fault = await faultOf(fetchFrom(base)(`${base}/latest`));
    expect([fault.reason, proxy.asked]).toEqual(['address_refused', []]);
  });

  it('is refused by what its name resolves to here, and so is the proxy', async () => {
    const proxy = await startProxy();
    const to =
      (address: string): Resolve =>
      (_host, _options, done) =>
        done(null, [{ address, family: 4 }]);
    use({ ALL_PROXY: proxy.url });
    const metadata = fetchFrom('https://models.example', to('169.254.169.254'));
    expect((await faultOf(metadata('https://models.example/v1'))).reason).toBe('address_refused');
    const open = fetchFrom('http://models.example', to('8.8.8.8'));
    expect((await faultOf(open('http://models.example/v1'))).reason).toBe('address_refused');
    expect(proxy.asked).toEqual([]);
    use({ ALL_PROXY: 'http://proxy.example:3128' });
    const byProxy = fetchFrom('https://8.8.8.8', to('169.254.169.254'));
    expect((await faultOf(byProxy('https://8.8.8.8/v1'))).reason).toBe('address_refused');
  });
});

describe('the variables', () => {
  const chosen = (url: string, environment: Record<string, string>) =>
    findProxy(new URL(url), readProxies(environment).proxies)?.host ?? null;

  it('name the proxy by the protocol, in lower case first', () => {
    const both = { HTTPS_PROXY: 'http://a:1', http_proxy: 'b:2', ALL_PROXY: 'http://c:3' };
    expect(chosen('https://x.example', both)).toBe('a:1');
    expect(chosen('http://x.example', both)).toBe('b:2');
    expect(chosen('http://x.example', { all_proxy: 'http://c:3' })).toBe('c:3');
    expect(
      chosen('https://x.example', { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://d:4' }),
    ).toBe('d:4');
    expect(chosen('https://x.example', { HTTP_PROXY: 'http://b:2' })).toBeNull();
    expect(chosen('https://x.example', {})).toBeNull();
  });

  it.each([
    ['https://x.example', 'x.example', true],
    ['https://x.example', 'example', true],
    ['https://x.example', '.example', true],
    ['https://x.example', '*.example', true],
    ['https://x.example', 'X.EXAMPLE', true],
    ['https://x.example', 'a.b, x.example ,c', true],
    ['https://x.example', '*', true],
    ['https://x.example:8443', 'x.example:8443', true],
    ['https://x.example', 'x.example:443', true],
    ['https://x.example:8443', 'x.example:443', false],
    ['https://ax.example', 'x.example', false],
    ['https://x.example', 'ample', false],
    ['http://10.1.2.3', '10.0.0.0/8', true],
    ['http://11.1.2.3', '10.0.0.0/8', false],
    ['http://127.0.0.1:8080', '127.0.0.1', true],
    ['http://127.0.0.1', '27.0.0.1', false],
    ['http://[::1]:8080', '::1', true],
    ['http://[::1]:8080', '[::1]', true],
    ['http://[::1]:8080', '[::1]:8080', true],
    ['http://[fd00::1]', 'fd00::/8', true],
    ['http://10.1.2.3', '10.0.0.0/99', false],
    ['https://x.example', '', false],
  ])('leave %s out by NO_PROXY=%s: %s', (url, no, isDirect) => {
    const proxy = chosen(url, { ALL_PROXY: 'http://p:1', NO_PROXY: no });
    expect(proxy === null).toBe(isDirect);
  });

  it('are told where they name no HTTP proxy, without their secrets', () => {
    const { proxies, warnings } = readProxies({ ALL_PROXY: 'socks5://u:canary@p:1' });
    expect(proxies).toEqual({ https: null, http: null, except: [] });
    expect(warnings).toEqual([expect.stringContaining('ALL_PROXY has no effect')]);
    expect(warnings.join()).not.toContain('canary');
  });
});
