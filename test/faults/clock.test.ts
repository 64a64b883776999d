import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import { createCore } from '../../core/service.ts';
import { createApp } from '../../core/http/app.ts';
import { serviceRoutes } from '../../core/http/routes.ts';
import { listen } from '../../core/http/server.ts';
import {
  ADMIN_SECRET,
  API_KEY,
  asAdmin,
  asAgent,
  recordingLog,
  requester,
} from '../core/http/serve.ts';
import { manualClock } from '../support/clock.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { call, temporaryDirectory } from '../support/service.ts';
import { mysql, sqlite } from '../support/databases.ts';

const HOUR_MS = 3_600_000;

const DATABASES: readonly [string, () => Promise<string>, (database: string) => Storage][] = [
  [
    'SQLite',
    async () => path.join(await temporaryDirectory(), 'memory.db'),
    (filename) => sqlite({ filename }),
  ],
  ['MariaDB', freshDatabase, (url) => mysql({ url })],
];

describe.each(DATABASES)('clocks that jump, on %s (F15)', (_, makeDatabase, open) => {
  /** Instances on one database, each with a clock of its own. */
  async function openInstances(count: number) {
    const database = await makeDatabase();
    const instances = [];
    for (let n = 0; n < count; n += 1) {
      const clock = manualClock();
      const core = createCore({ storage: open(database), now: clock.now });
      onTestFinished(() => core.close());
      await core.ready();
      instances.push({ core, clock });
    }
    return { database, instances };
  }

  /** The service over HTTP, with clocks that go by hand. */
  async function serve() {
    const clock = manualClock();
    const ticking = manualClock(0);
    const log = recordingLog();
    const core = createCore(
      {
        storage: open(await makeDatabase()),
        apiKey: API_KEY,
        adminSecret: ADMIN_SECRET,
        retention: { eventsDays: 30, accessLogDays: 30 },
        now: clock.now,
        log,
      },
      { ticks: ticking.now },
    );
    await core.ready();
    const server = await listen(createApp(core, serviceRoutes(core)), {
      host: '127.0.0.1',
      port: 0,
    });
    const client = requester(server.address.port);
    onTestFinished(async () => {
      client.close();
      await server.close({ graceMs: 0 });
      await core.close();
    });
    return { ...client, clock, ticking, log };
  }

  it('versions and ids go on in order whatever the clocks of the instances do', async () => {
    const { database, instances } = await openInstances(3);
    const jumps = [-HOUR_MS, HOUR_MS, -24 * HOUR_MS, 0, 7, -1];
    const acknowledged: AcknowledgedWrite[] = [];
    for (let n = 0; n < 90; n += 1) {
      const { core, clock } = instances[n % 3] as (typeof instances)[number];
      clock.advance(jumps[(n * 5 + Math.floor(n / 7)) % jumps.length] as number);
      const args = { path: 'user/a.md', content: `write ${n}` };
      const { result } = await call(core, 'alice', 'memory_write', args);
      const { version, revisionId } = result as { version: number; revisionId: string };
      expect(version).toBe(n + 1);
      acknowledged.push({
        userId: 'alice',
        path: 'a.md',
        version,
        revisionId,
        content: args.content,
      });
    }
    expect(toLines(await findViolations(database, { acknowledged }))).toEqual([]);

    const [{ core }] = instances as [(typeof instances)[number]];
    const { items } = await core.revisions.list({ path: 'users/alice/a.md', limit: 500 });
    expect(items.map(({ version }) => version)).toEqual(acknowledged.map((_, n) => 90 - n));
  });

  it('versions, ids and times go on in order over years, and before 1970', async () => {
    const { database, instances } = await openInstances(2);
    const years = [2026, 2036, 1960, 2026, 1969, 9990, 12_000, 1970, 2026];
    const acknowledged: AcknowledgedWrite[] = [];
    for (let n = 0; n < 36; n += 1) {
      const { core, clock } = instances[n % 2] as (typeof instances)[number];
      clock.set(Date.UTC(years[Math.floor(n / 4) % years.length] as number, 5, 1) + n);
      const content = `write ${n}`;
      const { result } = await call(core, 'alice', 'memory_write', { path: 'user/a.md', content });
      const { version, revisionId } = result as { version: number; revisionId: string };
      acknowledged.push({ userId: 'alice', path: 'a.md', version, revisionId, content });
    }
    expect(toLines(await findViolations(database, { acknowledged }))).toEqual([]);
    const [{ core }] = instances as [(typeof instances)[number]];
    const { items } = await core.revisions.list({ path: 'users/alice/a.md', limit: 500 });
    expect(items.map(({ version }) => version)).toEqual(acknowledged.map((_, n) => 36 - n));
    const times = items.map(({ at }) => at).reverse();
    expect(times).toEqual([...times].sort());
  });

  it.each([-1e12, -1, 1e17])('no call fails, at %d ms of 1970', async (time) => {
    const { request, clock } = await serve();
    clock.set(time);
    const body = (args: object) => ({ context: { userId: 'alice' }, arguments: args });
    const change = { headers: { ...asAgent, 'idempotency-key': 'once' } };
    const write = body({ path: 'user/a.md', content: 'tea' });
    for (const [method, target, input] of [
      ['POST', '/v1/tools/memory_write/execute', { ...change, body: write }],
      ['POST', '/v1/tools/memory_write/execute', { ...change, body: write }],
      [
        'POST',
        '/v1/tools/memory_read/execute',
        { headers: asAgent, body: body({ path: 'user/a.md' }) },
      ],
      ['POST', '/v1/tools/memory_find/execute', { headers: asAgent, body: body({ query: 'tea' }) }],
      ['PUT', '/v1/admin/files/users/alice/b.md', { headers: asAdmin, body: { content: 'milk' } }],
      ...[
        'files',
        'files/users/alice/a.md',
        'users',
        'revisions',
        'access-logs',
        'audit',
        'status',
        'observability/summary',
        'observability/latency',
        'observability/activity',
        'observability/topology',
        'observability/events',
        'observability/hygiene?userId=alice',
      ].map((target) => ['GET', `/v1/admin/${target}`, { headers: asAdmin }] as const),
    ] as const) {
      const { status } = await request(method, target, input);
      expect([target, status]).toEqual([target, 200]);
    }
    const { json } = await request('GET', '/v1/admin/revisions', { headers: asAdmin });
    const expected = time < 0 ? '1970-01-01T00:00:00' : '9999-01-01T00:00:00';
    expect(json.items.map(({ at }: { at: string }) => at.slice(0, 19))).toEqual([
      expected,
      expected,
    ]);
  });

  it('a jump forward removes nothing, and repeats no write, until it has lasted a day', async () => {
    const { request, clock, ticking, log } = await serve();
    const write = (content: string) =>
      request('POST', '/v1/tools/memory_write/execute', {
        headers: { ...asAgent, 'idempotency-key': 'once' },
        body: { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content } },
      });
    const prune = async () => {
      const before = await request('POST', '/v1/admin/retention', { headers: asAdmin, body: {} });
      expect(before.status).toBe(202);
      const counts = () => request('GET', '/v1/admin/retention', { headers: asAdmin });
      await expect.poll(async () => (await counts()).json.state).toBe('completed');
      return (await counts()).json.result.counts as Record<string, number>;
    };
    const pass = (ms: number) => {
      clock.advance(ms);
      ticking.advance(ms);
    };
    expect((await write('tea')).json.result.version).toBe(1);
    pass(HOUR_MS);
    clock.advance(400 * 24 * HOUR_MS);
    const repeated = await write('tea');
    expect([repeated.json.result.version, repeated.headers['idempotency-replayed']]).toEqual([
      1,
      'true',
    ]);
    expect(await prune()).toMatchObject({ events: 0, access: 0, idempotency: 0, revisions: 0 });
    const jumps = log.lines.filter(({ message }) => message.startsWith('the system clock'));
    expect(jumps).toMatchObject([{ level: 'warn', fields: { jumpMs: 400 * 24 * HOUR_MS } }]);

    pass(24 * HOUR_MS);
    expect(await prune()).toMatchObject({ access: 1, idempotency: 1 });
    expect((await write('milk')).json.result.version).toBe(2);
  });

  it('a call’s duration is none that a clock tells', async () => {
    const { instances } = await openInstances(1);
    const [{ core, clock }] = instances as [(typeof instances)[number]];
    for (const jump of [-HOUR_MS, HOUR_MS, -1, 24 * HOUR_MS]) {
      const running = call(core, 'alice', 'memory_write', {
        path: 'user/a.md',
        content: `${jump}`,
      });
      clock.advance(jump);
      const { durationMs } = await running;
      expect(durationMs).toBeGreaterThanOrEqual(0);
      expect(durationMs).toBeLessThan(HOUR_MS / 2);
    }
  });

  it('a lease lasts by the database’s clock, whatever an instance takes the time for', async () => {
    const { instances } = await openInstances(2);
    const [one, other] = instances as [(typeof instances)[number], (typeof instances)[number]];
    const fence = (await one.core.storage.leases.claim('work', 'one', HOUR_MS)) ?? 0;
    expect(fence).toBeGreaterThan(0);
    other.clock.advance(48 * HOUR_MS);
    expect(await other.core.storage.leases.claim('work', 'other', HOUR_MS)).toBe(null);
    one.clock.advance(-48 * HOUR_MS);
    expect(await one.core.storage.leases.renew('work', fence, HOUR_MS)).toBe(true);
    await one.core.storage.leases.release('work', fence);
    expect(await other.core.storage.leases.claim('work', 'other', HOUR_MS)).toBe(fence + 1);
  });
});
