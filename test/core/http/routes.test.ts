import { describe, expect, it } from 'vitest';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { assertCompilable } from '../../../core/http/route.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { manualClock } from '../../support/clock.ts';
import { ADMIN_SECRET, API_KEY, rawExchange, serveCore } from './serve.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

/** The route's path with something in the place of its names. */
const concrete = (path: string): string =>
  path
    .replace(':name', 'memory_read')
    .replace(':userId', 'alice')
    .replace(/:\w+/, '019c1350-2d80-7000-8a31-6f4f1c2b9d10')
    .replace(/\*\w+/, 'users/alice/profile.md');

const encodeFirstLetter = (path: string): string =>
  path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);

/** Ways to write a path that a check of its beginning could take for another one. */
const disguises: Record<string, (path: string) => string> = {
  plain: (path) => path,
  'upper case': (path) => path.toUpperCase(),
  'one letter in upper case': (path) => path.replace('/a', '/A').replace('/t', '/T'),
  'double slash in front': (path) => `/${path}`,
  'double slash inside': (path) => path.replace('/v1/', '/v1//'),
  'slash at the end': (path) => `${path}/`,
  'two slashes at the end': (path) => `${path}//`,
  'encoded letter': (path) => encodeFirstLetter(path),
  'encoded letter inside': (path) => path.replace('/v1/a', '/v1/%61').replace('/v1/t', '/v1/%74'),
  'encoded slash': (path) => path.replace('/v1/', '/v1%2f'),
  'encoded twice': (path) => path.replace('/v1/a', '/v1/%2561').replace('/v1/t', '/v1/%2574'),
  'dot segment': (path) => path.replace('/v1/', '/v1/./'),
  'dot dot segment': (path) => path.replace('/v1/', '/v1/x/../'),
  'encoded dot dot': (path) => path.replace('/v1/', '/v1/x/%2e%2e/'),
  'open route and dot dot': (path) => `/v1/docs/../..${path}`,
  'path parameter': (path) => path.replace('/v1/', '/v1;x=1/'),
  backslash: (path) => path.replace('/v1/', '/v1\\'),
  fragment: (path) => `${path}#/healthz`,
  'query of an open route': (path) => `${path}?/healthz`,
  'empty query': (path) => `${path}?`,
  'NUL at the end': (path) => `${path}%00`,
  'absolute form': (path) => `http://localhost${path}`,
  'absolute form in upper case': (path) => `HTTP://LOCALHOST${path}`,
  'absolute form with a user': (path) => `http://a:b@localhost${path}`,
};

const credentials = (auth: RouteDefinition['auth']): Record<string, Record<string, string>> => ({
  none: {},
  wrong: { 'x-admin-secret': 'wrong', authorization: 'Bearer wrong', 'x-api-key': 'wrong' },
  empty: { 'x-admin-secret': '', authorization: 'Bearer ', 'x-api-key': '' },
  // The right secret of the other API opens nothing.
  'of the other API':
    auth === 'admin'
      ? { authorization: `Bearer ${API_KEY}`, 'x-api-key': API_KEY }
      : { 'x-admin-secret': ADMIN_SECRET, authorization: `Bearer ${ADMIN_SECRET}` },
});

describe('the live route table', () => {
  it('gives nothing without the right secret, however the path is written', async () => {
    const clock = manualClock();
    const { routes, request, server, core } = await serveCore({ now: clock.now });
    await core.tools.execute('memory_write', {
      context: { userId: 'alice' },
      arguments: { path: 'user/profile.md', content: 'canary\n' },
    });
    const guarded = routes.filter(({ auth }) => auth !== 'none');
    expect(guarded.length).toBeGreaterThanOrEqual(17);

    const open: string[] = [];
    const statuses = new Map<number, number>();
    let sent = 0;
    for (const { auth, method, path } of guarded) {
      for (const [disguise, change] of Object.entries(disguises)) {
        const target = change(concrete(path));
        const attempts = Object.entries(credentials(auth)).flatMap(([credential, headers]) => {
          const others = credential === 'none' || isRelease ? ['GET', 'HEAD', 'OPTIONS'] : [];
          return [...new Set([method, ...others])].map(async (verb) => {
            // It is below /v1/docs/ as it stands, and OPTIONS says what that takes.
            if (verb === 'OPTIONS' && disguise === 'open route and dot dot') return;
            const answer = await request(verb, target, { headers });
            sent += 1;
            statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
            const isOpen = answer.status >= 200 && answer.status < 300;
            if (isOpen || answer.text.includes('canary')) {
              open.push(`${answer.status} ${verb} ${target} (${disguise}, ${credential})`);
            }
          });
        });
        await Promise.all(attempts);
        // The limit on failures would answer before the secret is looked at.
        clock.advance(60_000);
      }
    }
    expect(open).toEqual([]);
    expect(sent).toBeGreaterThanOrEqual(5_000);
    // Those that reached a guarded router were refused there, and the rest found nothing.
    expect(statuses.get(401) ?? 0).toBeGreaterThan(1_500);
    expect([...statuses.keys()].sort()).toEqual([401, 404, 405]);

    // What no HTTP client sends.
    for (const line of ['GET /v1/admin/users HTTP/1.0', 'get /v1/admin/users HTTP/1.1']) {
      const answer = await rawExchange(
        server.address.port,
        `${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
  });

  it('gives each guarded route to the right secret, and the secret to no one', async () => {
    const { routes, request, log } = await serveCore();
    const said: string[] = [];
    for (const { auth, method, path } of routes) {
      if (auth === 'none') continue;
      const headers =
        auth === 'admin'
          ? { 'x-admin-secret': ADMIN_SECRET }
          : { authorization: `Bearer ${API_KEY}` };
      const answer = await request(method, concrete(path), { headers });
      expect(answer.headers['x-request-id'], `${method} ${path}`).toMatch(/^[0-9a-f]{32}$/);
      expect([401, 403, 429], `${method} ${path}`).not.toContain(answer.status);
      expect(answer.json?.error?.code, `${method} ${path}`).not.toBe('NOT_FOUND');
      said.push(JSON.stringify(answer.headers), answer.text);
    }
    // Neither secret is in any answer or log.
    said.push(JSON.stringify(log.lines));
    expect(said.filter((text) => text.includes(API_KEY) || text.includes(ADMIN_SECRET))).toEqual(
      [],
    );
  });

  it('has a summary, a tag and a schema for each route', async () => {
    const { routes } = await serveCore();
    for (const { method, path, summary, tag, resultSchema, contentType } of routes) {
      const name = `${method} ${path}`;
      expect(summary, name).not.toBe('');
      expect(tag, name).not.toBe('');
      if (contentType === undefined) expect(resultSchema, name).not.toBeNull();
    }
  });

  it('has no schema that a request or an answer could not be checked with', async () => {
    const { routes } = await serveCore();
    assertCompilable(routes);
    for (const { resultSchema } of routes) if (resultSchema !== null) compileSchema(resultSchema);
    const broken = { ...routes[0], bodySchema: { type: 'strnig' } } as RouteDefinition;
    expect(() => assertCompilable([broken])).toThrow(/^A schema of GET \/v1\/tools: /);
  });
});
