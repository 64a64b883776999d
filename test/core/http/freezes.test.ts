import { describe, expect, it, vi } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { edit } from '../../support/edit-memory.ts';
import { manualClock } from '../../support/clock.ts';
import { serveWithModel } from '../../support/model-service.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { asAdmin, asAgent, serveCore } from './serve.ts';

const why = { reason: 'an incident', minutes: 60 };

async function open() {
  const clock = manualClock();
  const server = await serveCore({ now: clock.now });
  const admin = (method: string, path: string, body?: unknown) =>
    server.request(method, `/v1/admin/${path}`, {
      headers: asAdmin,
      ...(body === undefined ? {} : { body }),
    });
  return { server, admin };
}

describe('POST /v1/admin/freeze', () => {
  it('answers with the freeze, which the list and the status have until it is deleted', async () => {
    const { admin, server } = await open();
    const { status, json } = await admin('POST', 'freeze', { ...why, userId: 'alice' });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.any(String),
      userId: 'alice',
      spaceId: null,
      actor: null,
      keyId: null,
      all: false,
      reason: 'an incident',
      at: '2026-01-01T00:00:00.000Z',
      until: '2026-01-01T01:00:00.000Z',
      address: '127.0.0.1',
    });
    expect((await admin('GET', 'freezes')).json).toEqual({ items: [json] });
    expect((await admin('GET', 'status')).json.freezes).toEqual([json]);
    const refused = await server.request('POST', '/v1/tools/memory_write/execute', {
      headers: asAgent,
      body: {
        context: { userId: 'alice' },
        arguments: { path: 'user/a.md', content: 'x\n' },
      },
    });
    expect(refused).toMatchObject({
      status: 403,
      json: {
        error: {
          code: 'WRITES_FROZEN',
          retryable: false,
          details: { until: json.until },
          action: expect.stringContaining('Nothing was written'),
        },
      },
    });
    expect(refused.text).not.toContain('an incident');
    const ended = await admin('DELETE', `freezes/${json.id}`);
    expect(ended).toMatchObject({ status: 200, json });
    expect((await admin('GET', 'freezes')).json).toEqual({ items: [] });
    expect((await admin('DELETE', `freezes/${json.id}`)).status).toBe(404);
  });

  it.each([
    ['no target', {}],
    ['two targets', { userId: 'alice', actor: 'bot' }],
    ['a user and a space', { userId: 'alice', spaceId: 'team' }],
    ['all: false', { all: false }],
    ['the operator', { actor: 'admin' }],
    ['an actor with outer space', { actor: ' bot' }],
    ['no reason', { userId: 'alice', reason: undefined }],
    ['an empty reason', { userId: 'alice', reason: '' }],
    ['a reason with half a surrogate pair', { userId: 'alice', reason: 'a\ud800' }],
    ['no time', { userId: 'alice', minutes: undefined }],
    ['0 minutes', { userId: 'alice', minutes: 0 }],
    ['more than a week', { userId: 'alice', minutes: 10_081 }],
    ['half a minute', { userId: 'alice', minutes: 0.5 }],
  ])('refuses %s, and stops nothing', async (_, request) => {
    const { admin } = await open();
    const { status, json } = await admin('POST', 'freeze', { ...why, ...request });
    expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    expect((await admin('GET', 'freezes')).json).toEqual({ items: [] });
  });

  it('refuses a user id that can be none', async () => {
    const { admin } = await open();
    const { json } = await admin('POST', 'freeze', { ...why, userId: '../bob' });
    expect(json.error.code).toMatch(/^INVALID_/);
  });

  it('needs the admin secret', async () => {
    const { server } = await open();
    const body = { ...why, all: true };
    expect(
      (await server.request('POST', '/v1/admin/freeze', { headers: asAgent, body })).status,
    ).toBe(401);
  });
});

describe('memory_remember while writes are stopped', () => {
  const addsFact = () => ({
    operations: [edit('add', { add: { path: 'user/profile.md', lines: ['- Likes rain.'] } })],
  });

  it.each([true, false])('is refused before a model is asked, with wait: %s', async (wait) => {
    const service = await serveWithModel();
    service.says(addsFact);
    await service.request('POST', '/v1/admin/freeze', {
      headers: asAdmin,
      body: { ...why, userId: 'alice' },
    });
    const { status, json } = await service.execute('memory_remember', {
      text: 'Likes rain.',
      wait,
    });
    expect([status, json.error.code]).toEqual([403, 'WRITES_FROZEN']);
    expect(service.asked).toEqual([]);
    expect(await service.read('user/inbox.md')).toBeNull();
    const dry = await service.execute('memory_remember', { text: 'Likes rain.', dryRun: true });
    expect(dry.status).toBe(200);
  });

  it('lets what waits in the inbox wait, until writes are allowed again', async () => {
    const storage = sqlite({ filename: await temporaryDatabase() });
    const service = await serveWithModel({ storage });
    const checked = vi.spyOn(service.core.files, 'checkWrites');
    await service.execute('memory_remember', { text: 'Likes rain.', wait: false });
    const { json } = await service.request('POST', '/v1/admin/freeze', {
      headers: asAdmin,
      body: { ...why, userId: 'alice' },
    });
    const asFiling = { userId: 'alice', actor: 'filing-agent' };
    await expect.poll(() => checked.mock.calls).toContainEqual([asFiling]);
    await service.core.close();
    expect(service.asked).toEqual([]);

    const later = await serveWithModel({ storage: sqlite({ filename: storage.filename ?? '' }) });
    later.says(addsFact);
    expect(await later.read('user/inbox.md')).toContain('to be filed');
    await later.request('DELETE', `/v1/admin/freezes/${json.id}`, { headers: asAdmin });
    later.core.filing.start();
    await later.core.filing.waitIdle();
    expect(await later.read('user/inbox.md')).toBe('# Inbox\n\n');
    expect(await later.read('user/profile.md')).toContain('- Likes rain.');
  });
});
