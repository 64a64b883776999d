import { describe, expect, it } from 'vitest';
import { settingOf, SETTING_KEYS } from '../../core/config/settings.ts';
import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorCodeEntry,
  MemoryError,
  toErrorBody,
} from '../../core/errors.ts';
import { mcp } from '../../plugins/mcp/index.ts';
import { ADMIN_SECRET, API_KEY, asAdmin, asAgent, serveCore } from './http/serve.ts';

const entries = Object.entries(ERROR_CODES) as [ErrorCode, ErrorCodeEntry][];
const sentences = entries.flatMap(([code, { action, actions = {} }]) => [
  { code, action },
  ...Object.values(actions).map((other) => ({ code, action: other })),
]);

/** Variables that are not settings of the service: what every program reads. */
const COMMON = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

/** The names in a sentence that look like variables. */
const variablesOf = (text: string): string[] => text.match(/\b[A-Z]+(?:_[A-Z0-9]+)+\b/g) ?? [];

describe('what to do about an error', () => {
  it('names settings that exist, and is a whole sentence', () => {
    const known = new Set<string>([...SETTING_KEYS.map((key) => settingOf(key).env), ...COMMON]);
    let named = 0;
    for (const { code, action } of sentences) {
      expect(action, code).toMatch(/^[A-Z].*[.>]$/s);
      for (const name of variablesOf(action)) {
        expect(known, `${code}: ${action}`).toContain(name);
        named += 1;
      }
    }
    expect(named).toBeGreaterThan(20);
  });

  it('is in the body of each code, in each API and situation', () => {
    for (const [code, { action, actions = {} }] of entries) {
      const plain = new MemoryError(code);
      expect(toErrorBody(plain).error.action.length, code).toBeGreaterThan(0);
      for (const [situation, sentence] of Object.entries(actions)) {
        expect(new MemoryError(code, undefined, { situation }).action, code).toBe(sentence);
        const details = { reason: situation };
        expect(new MemoryError(code, undefined, { details }).actionIn('admin')).toBe(sentence);
      }
      const unknown = new MemoryError(code, undefined, { details: { reason: 'toString' } });
      expect([action, ...Object.values(actions)]).toContain(unknown.actionIn('none'));
    }
    const body = toErrorBody(new MemoryError('INTERNAL', undefined, { action: 'Run x.' }));
    expect(body.error.action).toBe('Run x.');
  });

  it('names the header of the API, the host setting, and the limit', async () => {
    const { request } = await serveCore({
      allowedHosts: ['localhost', '127.0.0.1'],
      limits: { maxFilesPerUser: 1, maxBodyBytes: 2_000 },
      rateLimit: 4,
    });
    const actionOf = async (...input: Parameters<typeof request>) =>
      (await request(...input)).json.error.action as string;
    const execute = (args: object, tool = 'memory_write', userId: unknown = 'alice') =>
      actionOf('POST', `/v1/tools/${tool}/execute`, {
        headers: asAgent,
        body: { context: { userId }, arguments: args },
      });
    expect(await actionOf('GET', '/v1/tools')).toContain('Authorization: Bearer <SERVICE_API_KEY>');
    expect(await actionOf('GET', '/v1/tools')).not.toContain('x-admin-secret');
    expect(await actionOf('GET', '/v1/admin/status')).toContain(
      'x-admin-secret: <SERVICE_ADMIN_SECRET>',
    );
    expect(await actionOf('GET', '/v1/tools', { headers: { host: 'x.example' } })).toContain(
      'SERVICE_ALLOWED_HOSTS',
    );
    expect(await execute({ path: 'user/a.md', content: 'x'.repeat(3_000) })).toContain(
      'SERVICE_MAX_BODY_BYTES',
    );
    expect(await execute({ path: 'user/a.md' })).toContain('details.issues');
    expect(await actionOf('POST', '/v1/admin/reembed', { headers: asAdmin, body: {} })).toContain(
      'SERVICE_EMBEDDING_PROVIDER',
    );
    const latin1 = { ...asAgent, 'content-type': 'application/json; charset=latin1' };
    expect(
      await actionOf('POST', '/v1/tools/memory_list/execute', { headers: latin1, body: '{}' }),
    ).toContain('UTF-8');
    expect(await execute({ text: 'x' }, 'memory_remember')).toContain('SERVICE_MODEL_PROVIDER');
    expect(await execute({ path: 'user/a.md', content: 'x' }, 'memory_write', 'no/id')).toContain(
      'context.userId',
    );
    await execute({ path: 'user/a.md', content: 'x' }).catch(() => undefined);
    expect(await execute({ path: 'user/b.md', content: 'x' })).toContain(
      'SERVICE_MAX_FILES_PER_USER',
    );
    for (let count = 0; count < 4; count += 1) {
      await request('POST', '/v1/tools/memory_list/execute', {
        headers: asAgent,
        body: { context: { userId: 'alice' } },
      });
    }
    expect(await execute({}, 'memory_list')).toContain('SERVICE_RATE_LIMIT');
    expect(await actionOf('GET', '/v1/admin/files/users/alice/no.md', { headers: asAdmin })).toBe(
      ERROR_CODES.FILE_NOT_FOUND.actions.admin,
    );
    expect(
      await actionOf('PUT', '/v1/admin/files/a.md', { headers: asAdmin, body: { content: 'x' } }),
    ).toContain('users/<userId>/<path>');
  });

  it('is in each refusal of each route', async () => {
    const service = await serveCore({ allowedHosts: ['localhost', '127.0.0.1'], plugins: [mcp()] });
    const routes = [...service.routes, ...service.core.pluginRoutes];
    let refusals = 0;
    const seen = new Set<string>();
    for (const { method, path, auth } of routes) {
      const target = path.replaceAll(/[:*]\w+/g, 'x');
      const secret =
        auth === 'admin' ? { 'x-admin-secret': ADMIN_SECRET } : { 'x-api-key': API_KEY };
      for (const [verb, input] of [
        [method, { headers: { host: 'evil.example' } }],
        [method, {}],
        [method, { headers: secret }],
        [method, { headers: { ...secret, 'content-type': 'text/plain' }, body: 'x' }],
        [method, { headers: secret, body: '{' }],
        [method, { headers: secret, body: { nothing: 1 } }],
        ['PATCH', { headers: secret }],
      ] as const) {
        for (const query of ['', '?nothing=1']) {
          const answer = await service.request(verb, target + query, input);
          if (answer.status < 400) continue;
          const { error } = answer.json;
          const told = error.data ?? error;
          expect(told.action, `${verb} ${path} ${answer.text}`).toMatch(/^[A-Z].{10,}/);
          seen.add(told.code);
          refusals += 1;
        }
      }
    }
    expect(refusals).toBeGreaterThan(500);
    expect(seen.size).toBeGreaterThan(8);
  });
});
