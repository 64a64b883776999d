import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAllowedAddress } from '../../../core/config/base-url.ts';
import { openai as embedderOpenai } from '../../../plugins/embedder-openai/index.ts';
import { ProviderFault } from '../../../plugins/provider-http/fault.ts';
import { createProviderFetch, type Resolve } from '../../../plugins/provider-http/fetch.ts';
import { openai as modelOpenai } from '../../../plugins/model-openai/index.ts';
import { anthropic } from '../../../plugins/model-anthropic/index.ts';
import { rejection } from '../../support/rejection.ts';

let server: http.Server;
let port: number;
let requests: string[] = [];
beforeAll(async () => {
  server = http.createServer((request, response) => {
    requests.push(request.url ?? '');
    response.setHeader('content-type', 'application/json').end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function unusedPort(): Promise<number> {
  const other = http.createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port: free } = other.address() as AddressInfo;
  other.close();
  await once(other, 'close');
  return free;
}

const resolveTo =
  (...addresses: string[]): Resolve =>
  (_hostname, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

/** What a name must never lead to, whatever the protocol. */
const LINK_LOCAL = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.0.1',
  'fe80::1',
  'fe80::a9fe:a9fe%eth0',
  'febf::1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '0.0.0.0',
  '::',
  '224.0.0.1',
  '255.255.255.255',
  'ff02::1',
];
const PRIVATE = [
  '127.0.0.1',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '::1',
  'fc00::1',
  'fd12::1',
  '100.64.0.1',
];
const PUBLIC = ['8.8.8.8', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '100.128.0.1'];

describe('where a name may lead to', () => {
  it.each(LINK_LOCAL)('%s is refused under http and https', (address) => {
    expect(isAllowedAddress(address, 'http:')).toBe(false);
    expect(isAllowedAddress(address, 'https:')).toBe(false);
  });
  it.each(PRIVATE)('%s is allowed under both', (address) => {
    expect(isAllowedAddress(address, 'http:')).toBe(true);
    expect(isAllowedAddress(address, 'https:')).toBe(true);
  });
  it.each(PUBLIC)('%s is allowed under https alone', (address) => {
    expect(isAllowedAddress(address, 'http:')).toBe(false);
    expect(isAllowedAddress(address, 'https:')).toBe(true);
  });
  it('what is no address is refused', () => {
    expect(isAllowedAddress('localhost', 'https:')).toBe(false);
    expect(isAllowedAddress('', 'https:')).toBe(false);
  });
});

async function faultOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof ProviderFault ? error.reason : String(error);
}

describe('the fetch of a provider', () => {
  const base = () => `http://models.example:${port}/v1`;
  const fetchVia = (resolve: Resolve) =>
    createProviderFetch({ baseUrl: base(), limits: { bytes: 1_000 }, resolve });

  it('connects to what the name was resolved to', async () => {
    const answer = await fetchVia(resolveTo('127.0.0.1'))(`${base()}/x`);
    expect(answer.status).toBe(200);
    expect(requests).toEqual(['/v1/x']);
  });

  it.each([
    ['a link-local address', ['169.254.169.254']],
    ['a mapped one', ['::ffff:169.254.169.254']],
    ['a public one without https', ['8.8.8.8']],
    ['a good one beside a bad one', ['127.0.0.1', '169.254.169.254']],
  ])('asks nobody when a name leads to %s', async (_what, addresses) => {
    requests = [];
    const reason = await faultOf(fetchVia(resolveTo(...addresses))(`${base()}/x`));
    expect(reason).toBe('address_refused');
    expect(requests).toEqual([]);
  });

  it('looks at the address of each connection, not only of the first', async () => {
    let answers = [['127.0.0.1'], ['169.254.169.254']];
    const fetch = fetchVia((hostname, options, done) => {
      const [first = [], ...rest] = answers;
      answers = rest;
      resolveTo(...first)(hostname, options, done);
    });
    expect((await fetch(`${base()}/x`)).status).toBe(200);
    server.closeAllConnections();
    // The connection that was kept may be found closed at the first try.
    const reasons = [await faultOf(fetch(`${base()}/x`))];
    if (reasons[0] === 'unreachable') reasons.push(await faultOf(fetch(`${base()}/x`)));
    expect(reasons.at(-1)).toBe('address_refused');
  });

  it('says so when there is no such name', async () => {
    const fetch = fetchVia((_hostname, _options, done) =>
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []),
    );
    expect(await faultOf(fetch(`${base()}/x`))).toBe('unreachable');
    const error = await rejection(
      modelOpenai({
        baseUrl: base(),
        name: 'm',
        maxRetries: 0,
        resolve: (_hostname, _options, done) =>
          done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []),
      }).generate({ system: '', prompt: 'x' }),
    );
    expect(error.message).toMatch(/: the host name could not be resolved; check the base URL\.$/);
    expect(JSON.stringify(error)).not.toContain('models.example');
  });

  it.each([
    [
      'nobody listens',
      async () => `http://127.0.0.1:${await unusedPort()}`,
      'connection was refused',
    ],
    ['no TLS is spoken', async () => `https://127.0.0.1:${port}`, 'no TLS connection'],
  ])('says so when %s', async (_what, origin, why) => {
    const baseUrl = `${await origin()}/v1`;
    const options = { baseUrl, name: 'm', maxRetries: 0 };
    const question = { system: '', prompt: 'x' };
    for (const ask of [
      () => modelOpenai(options).generate(question),
      () => anthropic(options).generate(question),
      () => embedderOpenai({ ...options, dimensions: 8 }).embed(['x'], {}),
    ]) {
      const error = await rejection(ask());
      expect(error.details).toMatchObject({ reason: 'unreachable' });
      expect(error.message).toContain(why);
    }
  });

  it('goes to no other origin', async () => {
    const fetch = fetchVia(resolveTo('127.0.0.1'));
    expect(await faultOf(fetch(`http://127.0.0.1:${port}/v1/x`))).toBe('address_refused');
    expect(await faultOf(fetch(`http://169.254.169.254/x`))).toBe('address_refused');
  });
});

describe('every provider', () => {
  const options = () => ({
    baseUrl: `http://models.example:${port}/v1`,
    resolve: resolveTo('169.254.169.254'),
    maxRetries: 0,
  });
  it.each([
    [
      'embedder-openai',
      () => embedderOpenai({ ...options(), name: 'm', dimensions: 8 }).embed(['x'], {}),
    ],
    [
      'model-openai',
      () => modelOpenai({ ...options(), name: 'm' }).generate({ system: 's', prompt: 'p' }),
    ],
    [
      'model-anthropic',
      () => anthropic({ ...options(), name: 'm' }).generate({ system: 's', prompt: 'p' }),
    ],
  ])('%s refuses a name that leads to a link-local address', async (_name, use) => {
    requests = [];
    expect((await rejection(use())).details).toMatchObject({ reason: 'address_refused' });
    expect(requests).toEqual([]);
  });
});
