import { describe, expect, it, onTestFinished } from 'vitest';
import type { Settings } from '../../../../core/config/settings.ts';
import { createSecretCheck } from '../../../../core/http/middleware/secret.ts';
import { ADMIN_SECRET, API_KEY, asAdmin, route, serve } from '../serve.ts';

const handle = () => ({ ok: true });
const routes = [
  route({ path: '/v1/tools', auth: 'tools', handle }),
  route({ path: '/v1/admin/status', auth: 'admin', handle }),
];

async function start(settings: Partial<Settings> = {}) {
  const service = await serve(routes, settings);
  onTestFinished(async () => {
    service.close();
    await service.server.close({ graceMs: 0 });
  });
  return service;
}

describe('a secret', () => {
  it('is compared as a whole, whatever the lengths', () => {
    const isKey = createSecretCheck(['first-key', 'second-schlüssel']);
    expect(isKey?.('first-key')).toBe(true);
    expect(isKey?.(Buffer.from('second-schlüssel').toString('latin1'))).toBe(true);
    for (const wrong of [
      '',
      'f',
      'first-ke',
      'first-key ',
      'FIRST-KEY',
      'first-key,second',
      'x'.repeat(9),
    ]) {
      expect(isKey?.(wrong), wrong).toBe(false);
    }
  });

  it('that is blank is none', () => {
    expect(createSecretCheck([])).toBeNull();
    expect(createSecretCheck([null, '', '   '])).toBeNull();
  });
});

describe('the tools API', () => {
  it('takes a bearer key or x-api-key, and each of several keys', async () => {
    const second = 'another-key-0123456789abcdef0123456789abcdef';
    const { request } = await start({ apiKey: [API_KEY, second] });
    for (const headers of [
      { authorization: `Bearer ${API_KEY}` },
      { authorization: `bearer ${second}` },
      { authorization: `BEARER   ${second}` },
      { 'x-api-key': API_KEY },
      { 'x-api-key': second },
      { authorization: 'Basic of-a-proxy', 'x-api-key': second },
    ]) {
      expect((await request('GET', '/v1/tools', { headers })).status).toBe(200);
    }
  });

  it('gives the same answer for a missing and a wrong key, and takes none from the query', async () => {
    const { request } = await start();
    const answers = [
      await request('GET', '/v1/tools'),
      await request('GET', '/v1/tools', { headers: { authorization: 'Bearer wrong' } }),
      await request('GET', '/v1/tools', { headers: { authorization: `Bearer ${API_KEY}x` } }),
      await request('GET', '/v1/tools', { headers: { authorization: API_KEY } }),
      await request('GET', '/v1/tools', {
        headers: { authorization: `Digest, Bearer ${API_KEY}` },
      }),
      await request('GET', '/v1/tools', { headers: { authorization: `Bearer:${API_KEY}` } }),
      await request('GET', '/v1/tools', { headers: { authorization: `xBearer ${API_KEY}` } }),
      await request('GET', '/v1/tools', { headers: { authorization: 'Bearer ' } }),
      await request('GET', '/v1/tools', { headers: { 'x-api-key': '' } }),
      await request('GET', '/v1/tools', { headers: { 'x-admin-secret': ADMIN_SECRET } }),
      await request('GET', `/v1/tools?api_key=${API_KEY}&access_token=${API_KEY}`),
    ];
    for (const { status, headers, json } of answers) {
      expect(status).toBe(401);
      expect(headers['www-authenticate']).toBe('Bearer');
      expect({ ...json.error, traceId: '' }).toEqual({
        code: 'UNAUTHORIZED',
        message: 'The credential is missing or wrong.',
        retryable: false,
        action: 'Send Authorization: Bearer <SERVICE_API_KEY>, or the same key as x-api-key.',
        traceId: '',
      });
    }
  });

  it.each([[[]], [['']], [['   ']]])(
    'is disabled with keys %j, whatever is sent',
    async (apiKey) => {
      const { request } = await start({ apiKey });
      for (const headers of [{}, { authorization: 'Bearer ' }, { 'x-api-key': 'undefined' }]) {
        const answer = await request('GET', '/v1/tools', { headers });
        expect([answer.status, answer.json.error.code]).toEqual([503, 'TOOLS_DISABLED']);
        expect(answer.headers['retry-after']).toBeUndefined();
      }
      expect((await request('GET', '/v1/admin/status', { headers: asAdmin })).status).toBe(200);
    },
  );
});

describe('the admin API', () => {
  it.each([null, '', '   '])(
    'is disabled with the secret %j, whatever is sent',
    async (adminSecret) => {
      const { request } = await start({ adminSecret });
      for (const secret of ['', 'null', 'undefined', '   ']) {
        const headers = { 'x-admin-secret': secret };
        const answer = await request('GET', '/v1/admin/status', { headers });
        expect([answer.status, answer.json.error.code]).toEqual([503, 'ADMIN_DISABLED']);
      }
    },
  );

  it('takes no API key, and no secret from anywhere but its header', async () => {
    const { request } = await start();
    for (const input of [
      { headers: { authorization: `Bearer ${API_KEY}` } },
      { headers: { authorization: `Bearer ${ADMIN_SECRET}` } },
      { headers: { cookie: `x-admin-secret=${ADMIN_SECRET}` } },
    ]) {
      expect((await request('GET', '/v1/admin/status', input)).status).toBe(401);
    }
    const inQuery = await request('GET', `/v1/admin/status?x-admin-secret=${ADMIN_SECRET}`);
    expect(inQuery.status).toBe(401);
    expect(inQuery.text).not.toContain(ADMIN_SECRET);
  });

  it('refuses an address for the rest of the minute after 10 failures, also with the right secret', async () => {
    const { request, core } = await start();
    const ask = (secret: string) =>
      request('GET', '/v1/admin/status', { headers: { 'x-admin-secret': secret } });
    for (let count = 0; count < 10; count++) expect((await ask('wrong')).status).toBe(401);
    core.clock.now += 20_500;
    const refused = await ask(ADMIN_SECRET);
    expect([refused.status, refused.json.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(refused.json.error.message).toBe('Too many wrong secrets from this address.');
    expect(refused.headers['retry-after']).toBe('40');
    core.clock.now += 39_499;
    expect((await ask(ADMIN_SECRET)).status).toBe(429);
    core.clock.now += 1;
    expect((await ask(ADMIN_SECRET)).status).toBe(200);
  });

  it('counts no success, and begins anew with each minute', async () => {
    const { request, core } = await start();
    const ask = async (secret: string) =>
      (await request('GET', '/v1/admin/status', { headers: { 'x-admin-secret': secret } })).status;
    for (let minute = 0; minute < 3; minute++) {
      for (let count = 0; count < 9; count++) expect(await ask('wrong')).toBe(401);
      for (let count = 0; count < 20; count++) expect(await ask(ADMIN_SECRET)).toBe(200);
      core.clock.now += 60_000;
    }
  });

  it('keeps no one out for longer when the clock jumps back', async () => {
    const { request, core } = await start();
    const ask = async (secret: string) =>
      (await request('GET', '/v1/admin/status', { headers: { 'x-admin-secret': secret } })).status;
    for (let count = 0; count < 10; count++) await ask('wrong');
    core.clock.now -= 3_600_000;
    expect(await ask(ADMIN_SECRET)).toBe(200);
  });

  it('counts behind a trusted proxy by the address that the proxy saw', async () => {
    const { request } = await start({ trustProxy: true });
    const ask = async (forwarded: string, secret: string) => {
      const headers = { 'x-forwarded-for': forwarded, 'x-admin-secret': secret };
      return (await request('GET', '/v1/admin/status', { headers })).status;
    };
    // What stands before the last comma is the client's own claim.
    for (let count = 0; count < 10; count++) {
      expect(await ask(`10.0.0.${count}, 192.0.2.1`, 'wrong')).toBe(401);
    }
    expect(await ask('192.0.2.1', ADMIN_SECRET)).toBe(429);
    expect(await ask('192.0.2.2', ADMIN_SECRET)).toBe(200);
  });

  it('counts one attacker as one, and locks nobody else out, in each form that proxies write', async () => {
    const { request } = await start({ trustProxy: true });
    const ask = async (forwarded: string, secret: string) => {
      const headers = { 'x-forwarded-for': forwarded, 'x-admin-secret': secret };
      return (await request('GET', '/v1/admin/status', { headers })).status;
    };
    for (const [attacker, operator] of [
      [(count: number) => `192.0.2.1:${40_000 + count}`, '192.0.2.2:40000'],
      [(count: number) => `[2001:db8::${count}]:${count}`, '[2001:db8:0:1::2]:40000'],
      [(count: number) => `"[::ffff:198.51.100.1]:${count}"`, '"[::ffff:198.51.100.2]:40000"'],
      [(count: number) => `x${count}, fe80::1:2:3:4%${count}`, '198.51.100.3'],
    ] as const) {
      for (let count = 1; count <= 10; count++) {
        expect(await ask(attacker(count), 'wrong'), attacker(count)).toBe(401);
      }
      expect(await ask(attacker(99), 'wrong')).toBe(429);
      expect(await ask(operator, ADMIN_SECRET)).toBe(200);
    }
  });

  it('regards no X-Forwarded-For without a trusted proxy', async () => {
    const { request } = await start();
    const ask = async (forwarded: string, secret: string) => {
      const headers = { 'x-forwarded-for': forwarded, 'x-admin-secret': secret };
      return (await request('GET', '/v1/admin/status', { headers })).status;
    };
    for (let count = 0; count < 10; count++) await ask(`192.0.2.${count}`, 'wrong');
    expect(await ask('192.0.2.99', ADMIN_SECRET)).toBe(429);
  });

  it('is locked by no page of another site or port: those can send no secret', async () => {
    const { request } = await start();
    for (const site of ['cross-site', 'same-site', 'same-origin', 'none', undefined]) {
      const headers = site === undefined ? {} : { 'sec-fetch-site': site };
      for (let count = 0; count < 12; count++) {
        const answer = await request('GET', '/v1/admin/status', { headers });
        expect([answer.status, answer.json.error.code]).toEqual([401, 'UNAUTHORIZED']);
      }
    }
    // What a browser asks first where a page's script sets the header.
    for (let count = 0; count < 12; count++) {
      const headers = {
        origin: 'http://localhost:3000',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-admin-secret',
      };
      const answer = await request('OPTIONS', '/v1/admin/status', { headers });
      expect(answer.status).toBe(401);
      expect(Object.keys(answer.headers).join()).not.toContain('access-control');
    }
    expect((await request('GET', '/v1/admin/status', { headers: asAdmin })).status).toBe(200);
  });

  it('answers a request without a secret as ever while its address is refused', async () => {
    const { request } = await start();
    const headers = { 'x-admin-secret': 'wrong' };
    for (let count = 0; count < 10; count++) await request('GET', '/v1/admin/status', { headers });
    expect((await request('GET', '/v1/admin/status', { headers: asAdmin })).status).toBe(429);
    expect((await request('GET', '/v1/admin/status')).status).toBe(401);
  });
});
