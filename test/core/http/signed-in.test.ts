import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyParser } from '@koa/bodyparser';
import Koa, { type Context } from 'koa';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MemoryServiceConfig } from '../../../core/config/service.ts';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import {
  createMemoryService,
  type MemoryService,
  type ResolveUserId,
} from '../../../core/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { skipTime } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { createApp } from '../../../core/http/app.ts';
import {
  ADMIN_SECRET,
  API_KEY,
  asAdmin,
  asAgent,
  type Requester,
  requester,
  route,
  testCore,
} from './serve.ts';

const asAlice = { cookie: 'user=alice' };
const asBob = { cookie: 'user=bob' };
const write = { arguments: { path: 'user/a.md', content: 'of alice' } };
const read = { arguments: { path: 'user/a.md' } };

async function openService(config: Partial<MemoryServiceConfig> = {}): Promise<MemoryService> {
  const filename = await temporaryDatabase();
  const service = createMemoryService({ storage: sqlite({ filename }), ...config });
  onTestFinished(() => service.close());
  return service;
}

async function listen(listener: RequestListener): Promise<Requester> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = requester((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return client;
}

/** As an app's own sign-in leaves it: who has the cookie is in `ctx.state`. */
async function signIn(ctx: Context, next: () => Promise<unknown>): Promise<void> {
  ctx.state['userId'] = ctx.cookies.get('user');
  await next();
}

const fromState: ResolveUserId = (ctx) => ctx.state['userId'] as string | undefined;

async function mounted(
  config: Partial<MemoryServiceConfig> = {},
  resolveUserId: ResolveUserId = fromState,
): Promise<Requester & { service: MemoryService }> {
  const service = await openService(config);
  const app = new Koa();
  app.use(signIn).use(bodyParser()).use(service.middleware({ resolveUserId }));
  return { ...(await listen(app.callback() as RequestListener)), service };
}

const execute = (tool: string) => `/v1/tools/${tool}/execute`;

describe('with resolveUserId', () => {
  it('works for who is signed in, without an API key', async () => {
    const { request } = await mounted();
    const headers = asAlice;
    const written = await request('POST', execute('memory_write'), { headers, body: write });
    expect([written.status, written.json.result?.version]).toEqual([200, 1]);
    const own = await request('POST', execute('memory_read'), { headers, body: read });
    expect(own.json.result.content).toBe('of alice');
    const others = await request('POST', execute('memory_read'), { headers: asBob, body: read });
    expect([others.status, others.json.error.code]).toEqual([404, 'FILE_NOT_FOUND']);
    const list = await request('GET', '/v1/tools', { headers });
    expect(list.json.tools.map(({ name }: { name: string }) => name)).toContain('memory_read');
  });

  it('keeps actor and toolCallId of the request, and takes the user’s own id there, too', async () => {
    const { request } = await mounted({ adminSecret: ADMIN_SECRET });
    const context = { userId: 'alice', actor: 'notes-page', toolCallId: 'call_1' };
    const answer = await request('POST', execute('memory_write'), {
      headers: { ...asAlice, 'x-user-id': 'alice' },
      body: { ...write, context },
    });
    expect(answer.status).toBe(200);
    const files = await request('GET', '/v1/admin/files', { headers: asAdmin });
    expect(files.json.items).toMatchObject([
      { path: 'users/alice/a.md', latestActor: 'notes-page' },
    ]);
  });

  it('refuses a request that names another user, wherever it does', async () => {
    const { request, service } = await mounted({ apiKey: API_KEY });
    await service.tools.execute('memory_write', { ...write, context: { userId: 'alice' } });
    const attempts: [string, object, string][] = [
      ['body', { body: { ...read, context: { userId: 'alice' } } }, '/context/userId'],
      ['header', { body: read, headers: { ...asBob, 'x-user-id': 'alice' } }, 'x-user-id'],
      [
        'two headers',
        { body: read, headers: { ...asBob, 'x-user-id': ['bob', 'alice'] } },
        'x-user-id',
      ],
      // The key does not help who is signed in as somebody else.
      [
        'body with the key',
        { body: { ...read, context: { userId: 'alice' } }, headers: { ...asBob, ...asAgent } },
        '/context/userId',
      ],
    ];
    for (const [name, input, where] of attempts) {
      const answer = await request('POST', execute('memory_read'), { headers: asBob, ...input });
      expect([answer.status, answer.json.error.code], name).toEqual([400, 'INVALID_USER_ID']);
      expect(answer.json.error.details.issues[0].path, name).toBe(where);
      expect(answer.json.error.message, name).toBe(
        `${where} must be left out: the app says who the user is.`,
      );
      expect(answer.text).not.toContain('of alice');
    }
    const query = await request('POST', `${execute('memory_read')}?userId=alice`, {
      headers: asBob,
      body: read,
    });
    expect(query.json.error.details.issues).toEqual([{ path: '/userId', message: 'is not known' }]);
    for (const body of [
      { ...read, userId: 'alice' },
      { arguments: { ...read.arguments, userId: 'alice' } },
      { ...read, context: { userId: ['alice'] } },
      { ...read, context: { userId: null } },
      { ...read, context: { user: 'alice' } },
    ]) {
      const answer = await request('POST', execute('memory_read'), { headers: asBob, body });
      expect([answer.status, answer.json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });

  it('answers 401 when nobody is signed in, and no 503 when no key is set', async () => {
    const { request } = await mounted();
    for (const [method, target, input] of [
      ['POST', execute('memory_read'), { body: { ...read, context: { userId: 'alice' } } }],
      ['POST', execute('memory_read'), { body: read, headers: { 'x-user-id': 'alice' } }],
      ['POST', execute('memory_read'), { body: read, headers: asAgent }],
      ['GET', '/v1/tools', {}],
      ['GET', '/v1/tools/nothing', {}],
    ] as const) {
      const answer = await request(method, target, input);
      expect([answer.status, answer.json.error.code]).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it('takes the API key of the app’s own backend, which then names the user', async () => {
    const { request } = await mounted({ apiKey: API_KEY });
    const named = { ...write, context: { userId: 'carol' } };
    const written = await request('POST', execute('memory_write'), {
      headers: asAgent,
      body: named,
    });
    expect(written.status).toBe(200);
    const nameless = await request('POST', execute('memory_write'), {
      headers: asAgent,
      body: write,
    });
    expect(nameless.json.error.details.issues).toEqual([
      { path: '/context', message: 'is required' },
    ]);
    const wrong = { authorization: 'Bearer another-key' };
    const refused = await request('POST', execute('memory_write'), { headers: wrong, body: named });
    expect(refused.status).toBe(401);
  });

  it('refuses a change without a JSON body, as a form of another site would send it', async () => {
    const { request } = await mounted();
    const form = 'application/x-www-form-urlencoded';
    for (const [body, type] of [
      ['', undefined],
      ['', form],
      ['arguments=1', form],
      [JSON.stringify(write), 'text/plain'],
    ] as const) {
      const headers = { ...asAlice, ...(type === undefined ? {} : { 'content-type': type }) };
      const input = body === '' ? { headers } : { headers, body };
      const answer = await request('POST', execute('memory_list'), input);
      expect([answer.status, answer.json.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('waits for a promise, and knows nobody where the app gives null or throws a 401 or 403', async () => {
    const answers: Record<string, (ctx: Context) => string | null> = {
      null: () => null,
      401: (ctx) => ctx.throw(401, 'Sign in first.'),
      403: (ctx) => ctx.throw(403, 'Your account is locked.'),
    };
    const { request } = await mounted({}, async (ctx) => {
      await Promise.resolve();
      const user = ctx.cookies.get('user') as string;
      const answer = answers[user];
      return answer === undefined ? user : answer(ctx);
    });
    const headers = asAlice;
    const own = await request('POST', execute('memory_write'), { headers, body: write });
    expect(own.status).toBe(200);
    for (const name of Object.keys(answers)) {
      const input = { body: write, headers: { cookie: `user=${name}` } };
      const nobody = await request('POST', execute('memory_write'), input);
      expect([nobody.status, nobody.json.error.code], name).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it('lets nobody in when the app’s function fails or gives what is no user id', async () => {
    for (const [given, status, code] of [
      [42, 400, 'INVALID_USER_ID'],
      ['', 400, 'INVALID_USER_ID'],
      ['a/b', 400, 'INVALID_USER_ID'],
      [{ toString: () => 'alice' }, 400, 'INVALID_USER_ID'],
      [new Error('no session store'), 500, 'INTERNAL'],
    ] as const) {
      const { request } = await mounted({ apiKey: API_KEY }, () => {
        if (given instanceof Error) throw given;
        return given as string;
      });
      const answer = await request('POST', execute('memory_read'), {
        headers: asAgent,
        body: { ...read, context: { userId: 'alice' } },
      });
      expect([answer.status, answer.json.error.code]).toEqual([status, code]);
      expect(answer.text).not.toContain('session store');
    }
  });

  it('waits for the app’s function no longer than the time limit', async () => {
    const core = testCore();
    const handle = () => ({ ok: true });
    const routes = [route({ path: '/v1/tools', auth: 'tools', signedIn: {}, handle })];
    const app = createApp(core, routes, { signInTimeoutMs: 50 });
    let isLate = false;
    let fail: (error: Error) => void = () => undefined;
    const { request } = await listen(
      app.callback({
        resolveUserId: () => (isLate ? new Promise((_, reject) => (fail = reject)) : 'alice'),
      }),
    );
    expect((await request('GET', '/v1/tools')).status).toBe(200);
    isLate = true;
    const answer = await request('GET', '/v1/tools', { headers: asAgent });
    expect([answer.status, answer.json.error.code]).toEqual([500, 'INTERNAL']);
    expect(answer.json.error.message).toBe('The sign-in of the app did not answer in time.');
    expect(core.log.lines).toMatchObject([
      {
        level: 'error',
        fields: {
          traceId: answer.json.error.traceId,
          error: { message: 'resolveUserId did not settle within 50 ms.' },
        },
      },
    ]);
    // What comes of it afterwards is nobody's, and no unhandled rejection.
    fail(new Error('too late'));
    isLate = false;
    expect((await request('GET', '/v1/tools')).status).toBe(200);
  });

  it('counts the sign-in into the deadline of a call', async () => {
    const skip = skipTime();
    const { request } = await mounted({}, () => {
      skip(20_000);
      return 'alice';
    });
    const late = await request('POST', execute('memory_write'), { body: write });
    expect([late.status, late.json.error?.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect(late.json.error.message).toContain('was not run');
  });

  it('asks again after the start only within the deadline of the call', async () => {
    const core = testCore();
    core.life.state = 'created';
    const routes = [route({ path: '/v1/tools', auth: 'tools', signedIn: {}, handle: () => ({}) })];
    const app = createApp(core, routes, { signInTimeoutMs: 600_000, callDeadlineMs: 100 });
    let asked = 0;
    const resolveUserId = () => {
      asked += 1;
      return asked === 1 ? 'alice' : new Promise<never>(() => undefined);
    };
    const { request } = await listen(app.callback({ resolveUserId }));
    const { status, json } = await request('GET', '/v1/tools');
    expect([status, json.error.message]).toEqual([
      500,
      'The sign-in of the app did not answer in time.',
    ]);
    expect(asked).toBe(2);
  });

  it('leaves a call its whole deadline after a slow upload', async () => {
    const skip = skipTime();
    const service = await openService();
    await service.start();
    const text = JSON.stringify(write);
    let send: () => void = () => undefined;
    const resolveUserId = () => {
      // By then the service waits for the rest of the body.
      setImmediate(() => {
        skip(20_000);
        send();
      });
      return 'alice';
    };
    const { port } = await listen(service.callback({ resolveUserId }));
    const status = await new Promise((resolve, reject) => {
      const upload = httpRequest(
        {
          port,
          host: '127.0.0.1',
          method: 'POST',
          path: execute('memory_write'),
          headers: { 'content-type': 'application/json', 'content-length': text.length },
        },
        (answer) => resolve(answer.resume().statusCode),
      );
      upload.on('error', reject);
      send = () => upload.end(text.slice(1));
      upload.write(text.slice(0, 1));
    });
    expect(status).toBe(200);
  });

  it('asks for the API key at a plugin’s route that knows of no signed-in user', async () => {
    const whose: Plugin = {
      name: 'whose',
      apiVersion: 2,
      setup() {
        const route = {
          method: 'GET',
          auth: 'tools',
          tag: 'Test',
          summary: 'Whose',
          resultSchema: { type: 'object' },
          errorCodes: [],
          handle: (request: { userId: string | null; header(name: string): string | null }) => ({
            userId: request.userId,
            header: request.header('x-user-id'),
          }),
        } as const;
        return {
          routes: [
            { ...route, path: '/v1/unaware' },
            { ...route, path: '/v1/aware', signedIn: {} },
          ],
        };
      },
    };
    const { request, service } = await mounted({ apiKey: API_KEY, plugins: [whose] });
    await service.ready();
    const named = { ...asBob, 'x-user-id': 'alice' };
    expect((await request('GET', '/v1/unaware', { headers: named })).status).toBe(401);
    const keyed = await request('GET', '/v1/unaware', { headers: { ...named, ...asAgent } });
    expect(keyed.json).toEqual({ userId: null, header: 'alice' });
    expect((await request('GET', '/v1/aware', { headers: named })).status).toBe(400);
    const aware = await request('GET', '/v1/aware', { headers: asBob });
    expect(aware.json).toEqual({ userId: 'bob', header: null });
  });

  it('holds for its own mount alone, and opens no other API', async () => {
    const service = await openService({ apiKey: API_KEY, adminSecret: ADMIN_SECRET });
    const app = new Koa().use(service.middleware({ resolveUserId: () => 'alice' }));
    const signedIn = await listen(app.callback() as RequestListener);
    const backend = await listen(service.callback());
    const body = write;
    expect((await signedIn.request('POST', execute('memory_write'), { body })).status).toBe(200);
    expect((await backend.request('POST', execute('memory_write'), { body })).status).toBe(401);
    expect((await signedIn.request('GET', '/v1/admin/files')).status).toBe(401);
    const admin = await signedIn.request('GET', '/v1/admin/files', { headers: asAdmin });
    expect(admin.status).toBe(200);
  });

  it('refuses what is no function when it is mounted', async () => {
    const service = await openService();
    for (const resolveUserId of ['alice', null, {}]) {
      const options = { resolveUserId } as never;
      expect(() => service.middleware(options)).toThrow(/resolveUserId must be a function/);
      expect(() => service.callback(options)).toThrow(/resolveUserId must be a function/);
    }
  });
});
