import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TopFiles, Topology } from '../../../core/contracts/admin.ts';
import type { AccessRecord, EventRecord } from '../../../core/contracts/records.ts';
import { createCore, type Core } from '../../../core/service.ts';
import { ERROR_CODES, type ErrorCode } from '../../../core/errors.ts';
import { toIdMs } from '../../../core/ids/id-time.ts';
import { isUuid } from '../../../core/ids/ids.ts';
import { readTopFiles, readTopology } from '../../../core/telemetry/rollups/accesses.ts';
import { observationsOf } from '../../../core/telemetry/events/observation-store.ts';
import { parseRange } from '../../../core/telemetry/rollups/range.ts';
import type { RangeQuery } from '../../../core/contracts/admin.ts';
import { toPhysicalPath } from '../../../core/files/paths.ts';
import { toTime } from '../../../core/time/time.ts';
import { accessRow, eventRow, makeId } from '../../support/rows.ts';
import { sharedMariadb } from '../../support/mariadb.ts';
import { createDatabase } from '../../support/mariadb-server.ts';
import { mysql, sqlite } from '../../support/databases.ts';

const NOW = Date.UTC(2026, 0, 10, 17, 23, 45, 678);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FIRST = NOW - 3 * DAY;
const SLOW_MS = 1_000;

const USERS = ['alice', 'bob', 'Alice'];
const TOOLS = ['memory_read', 'memory_write', 'memory_find', 'memory_list', 'greet', null];
const CODES = [null, null, null, 'FILE_NOT_FOUND', 'INTERNAL', 'MODEL_TIMEOUT', 'RATE_LIMITED'];
const REVISIONS = Array.from({ length: 3 }, () => makeId(FIRST));

let events: EventRecord[] = [];
let access: AccessRecord[] = [];
let core: Core;

/** Minutes, hours and days have their edges here, and so have the queries. */
const time = fc.oneof(
  fc.integer({ min: FIRST, max: NOW }),
  fc.integer({ min: 0, max: 3 * 24 }).map((hours) => FIRST - (FIRST % HOUR) + hours * HOUR),
  fc
    .tuple(fc.integer({ min: 0, max: 3 * 24 }), fc.integer({ min: -2, max: 2 }))
    .map(([hours, ms]) => FIRST - (FIRST % HOUR) + hours * HOUR + ms),
);

const query: fc.Arbitrary<RangeQuery> = fc
  .record(
    {
      since: time,
      until: time,
      userId: fc.constantFrom(...USERS, 'nobody'),
      tool: fc.constantFrom('memory_read', 'memory_write', 'greet', 'none'),
    },
    { requiredKeys: [] },
  )
  .filter(({ since = NOW - DAY, until }) => until === undefined || until > since)
  .map(({ since, until, ...rest }) => ({
    ...rest,
    ...(since === undefined ? {} : { since: toTime(since) }),
    ...(until === undefined ? {} : { until: toTime(until) }),
  }));

beforeAll(() => {
  const eventOf = fc.record({
    at: time,
    user: fc.constantFrom(...USERS, null),
    tool: fc.constantFrom(...TOOLS),
    errorCode: fc.constantFrom(...CODES),
    durationMs: fc.constantFrom(0.2, 1.5, 12, 99.9, 100, 250, 999, 1_000, 4_500.25),
    actor: fc.constantFrom('agent', 'worker'),
    kind: fc.constantFrom('tool' as const, 'tool' as const, 'tool' as const, 'dream.run' as const),
  });
  const accessOf = fc.record({
    at: time,
    user: fc.constantFrom(...USERS),
    isShared: fc.boolean(),
    path: fc.constantFrom('a.md', 'b.md', 'dir/c.md'),
    tool: fc.constantFrom('memory_read', 'memory_write', 'greet', null),
    action: fc.constantFrom('read', 'write', 'find', 'context', 'list' as const),
    outcome: fc.constantFrom('ok', 'ok', 'ok', 'denied' as const),
    actor: fc.constantFrom('agent', 'worker', 'admin'),
    revisionId: fc.constantFrom(...REVISIONS, null),
  });
  const seeded = { numRuns: 1, seed: 20260110 };
  const [drawnEvents = []] = fc.sample(
    fc.array(eventOf, { minLength: 900, maxLength: 900 }),
    seeded,
  );
  const [drawnAccess = []] = fc.sample(
    fc.array(accessOf, { minLength: 600, maxLength: 600 }),
    seeded,
  );
  events = drawnEvents.map(({ at, user, errorCode, durationMs, ...rest }) =>
    eventRow(user === null ? 's' : `u:${user}`, {
      ...rest,
      id: makeId(at),
      startedAt: Math.floor(at - durationMs),
      durationMs,
      errorCode,
      status: errorCode === null ? 'ok' : 'error',
    }),
  );
  access = drawnAccess.map(({ at, user, isShared, ...rest }) =>
    accessRow(isShared ? 's' : `u:${user}`, { ...rest, id: makeId(at), at, userId: user }),
  );
});

/** Where one database's runs keep their storage. */
async function openDatabase(name: 'sqlite' | 'mysql'): Promise<() => Core> {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-service-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const filename = path.join(directory, 'memory.db');
  const url = name === 'mysql' ? await createDatabase(await sharedMariadb()) : '';
  return () =>
    createCore({
      storage: name === 'mysql' ? mysql({ url }) : sqlite({ filename }),
      sla: { slowCallMs: SLOW_MS },
      now: () => NOW,
    });
}

/** Two instances, one after the other: each counts in rows of its own. */
async function fill(open: () => Core): Promise<Core> {
  const half = events.length / 2;
  const first = open();
  await first.ready();
  for (const event of events.slice(0, half)) first.queue.event(event);
  await first.queue.access(access);
  await first.close();
  const second = open();
  await second.ready();
  for (const event of events.slice(half)) second.queue.event(event);
  await second.queue.flush();
  return second;
}

/** The calls that a query is about, found by looking at each. */
function callsOf({ since, until, userId, tool }: RangeQuery): EventRecord[] {
  const from = since === undefined ? defaultSince(until) : Date.parse(since);
  return events.filter(
    (event) =>
      event.kind === 'tool' &&
      toIdMs(event.id) >= from &&
      (until === undefined || toIdMs(event.id) < Date.parse(until)) &&
      (userId === undefined || event.userId === userId) &&
      (tool === undefined || event.tool === tool),
  );
}

function accessesOf({ since, until, userId, tool }: RangeQuery): AccessRecord[] {
  const from = since === undefined ? defaultSince(until) : Date.parse(since);
  return access.filter(
    (row) =>
      row.outcome === 'ok' &&
      row.action !== 'list' &&
      row.at >= from &&
      (until === undefined || row.at < Date.parse(until)) &&
      (userId === undefined || row.userId === userId) &&
      (tool === undefined || row.tool === tool),
  );
}

const defaultSince = (until: string | undefined): number => {
  const day = (until === undefined ? NOW : Date.parse(until)) - DAY;
  return day - (day % HOUR);
};

const outcome = ({ errorCode }: EventRecord): 'ok' | 'failed' | 'refused' =>
  errorCode === null
    ? 'ok'
    : ERROR_CODES[errorCode as ErrorCode].status >= 500
      ? 'failed'
      : 'refused';

function countOf(calls: readonly EventRecord[]) {
  const done = (tool: string) =>
    calls.filter((call) => outcome(call) === 'ok' && call.tool === tool).length;
  return {
    calls: calls.length,
    failed: calls.filter((call) => outcome(call) === 'failed').length,
    refused: calls.filter((call) => outcome(call) === 'refused').length,
    reads: done('memory_read'),
    writes: done('memory_write'),
    finds: done('memory_find'),
  };
}

function expectQuantiles(
  given: { p50: number | null; p95: number | null; p99: number | null },
  calls: readonly EventRecord[],
): void {
  const durations = calls
    .filter((call) => outcome(call) !== 'refused')
    .map(({ durationMs }) => durationMs)
    .toSorted((a, b) => a - b);
  for (const [name, q] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const exact = durations[Math.floor(q * (durations.length - 1))];
    if (exact === undefined) expect(given[name]).toBeNull();
    else
      expect(Math.abs((given[name] ?? Infinity) - exact)).toBeLessThanOrEqual(exact * 0.01 + 0.001);
  }
}

function expectTopFiles({ items }: TopFiles, rows: readonly AccessRecord[]): void {
  const wanted = [...groupBy(rows, toPhysicalPath)].map(([file, own]) => ({
    path: file,
    accesses: own.length,
    reads: own.filter(({ action }) => action === 'read' || action === 'context').length,
    writes: own.filter(({ action }) => action === 'write').length,
    finds: own.filter(({ action }) => action === 'find').length,
    lastAt: toTime(Math.max(...own.map(({ at }) => at))),
  }));
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
  expect(
    items.map(({ userId: _userId, spaceId: _spaceId, ...item }) => item).toSorted(byPath),
  ).toEqual(wanted.toSorted(byPath));
  const counts = items.map(({ accesses }) => accesses);
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
}

function expectTopology({ nodes, edges, omitted }: Topology, rows: readonly AccessRecord[]): void {
  const weights = new Map<string, number>();
  const links = new Map<string, number>();
  const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  for (const row of rows) {
    const scope = `scope:${row.scope === 's' ? 'shared' : `users/${row.userId}`}`;
    const chain = [scope, `actor:${row.actor}`];
    if (row.tool !== null) chain.push(`tool:${row.tool}`);
    chain.push(`file:${toPhysicalPath(row)}`);
    chain.forEach((node) => add(weights, node));
    chain.slice(1).forEach((node, at) => add(links, `${chain[at]} ${node}`));
  }
  expect(omitted).toBe(0);
  expect(new Map(nodes.map(({ id, weight }) => [id, weight]))).toEqual(weights);
  expect(new Map(edges.map(({ from, to, weight }) => [`${from} ${to}`, weight]))).toEqual(links);
}

const groupBy = <T>(items: readonly T[], toKey: (item: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(toKey(item), [...(groups.get(toKey(item)) ?? []), item]);
  return groups;
};

const check = (property: (asked: RangeQuery) => Promise<void>, numRuns = 30) =>
  fc.assert(fc.asyncProperty(query, property), { numRuns });

/** Every page of a list. */
async function everyPage<T>(
  list: (page: {
    limit: number;
    cursor?: string;
  }) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: T[]; nextCursor: string | null } = await list({
      limit: 70,
      ...(cursor === null ? {} : { cursor }),
    });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

describe.each([
  ['SQLite', 'sqlite'],
  ['MariaDB', 'mysql'],
] as const)(
  'on %s, what the dashboard shows equals a recount of each event and access',
  (_, name) => {
    beforeAll(async () => {
      core = await fill(await openDatabase(name));
    });
    afterAll(() => core.close());

    it('the summary, for any range, user and tool', async () => {
      await check(async (asked) => {
        const summary = await core.observability.summary(asked);
        const calls = callsOf(asked);
        const counts = countOf(calls);
        expect(summary).toMatchObject({
          ...counts,
          errorRate: calls.length === 0 ? 0 : counts.failed / calls.length,
          readWriteRatio: counts.writes === 0 ? null : counts.reads / counts.writes,
          activeScopes: new Set(calls.flatMap(({ userId }) => userId ?? [])).size,
        });
        expectQuantiles(summary.latency, calls);
      }, 80);
    });

    it('the activity, bucket by bucket', async () => {
      const bucketMs = { '1m': 60_000, '5m': 300_000, '1h': HOUR, '1d': DAY };
      await fc.assert(
        fc.asyncProperty(
          query,
          fc.constantFrom('5m', '1h', '1d', undefined),
          async (asked, wanted) => {
            const { bucket, points } = await core.observability.activity({
              ...asked,
              ...(wanted === undefined ? {} : { bucket: wanted }),
            });
            const groups = groupBy(callsOf(asked), ({ id }) =>
              toTime(toIdMs(id) - (toIdMs(id) % bucketMs[bucket])),
            );
            for (const { at, ...counts } of points) {
              expect(counts, at).toEqual(countOf(groups.get(at) ?? []));
              groups.delete(at);
            }
            expect([...groups.keys()]).toEqual([]);
          },
        ),
        { numRuns: 30 },
      );
    });

    it.each(['Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Kiritimati'])(
      'the days of %s',
      async (timeZone) => {
        const dayOf = (at: number) =>
          new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' }).format(at);
        const timeOf = (at: string) =>
          new Intl.DateTimeFormat('sv', { timeZone, timeStyle: 'medium' }).format(Date.parse(at));
        await check(async (asked) => {
          const days = { ...asked, bucket: '1d', timeZone } as const;
          const { points } = await core.observability.activity(days);
          const calls = groupBy(callsOf(asked), ({ id }) => dayOf(toIdMs(id)));
          for (const { at, ...counts } of points) {
            expect(timeOf(at)).toBe('00:00:00');
            const day = dayOf(Date.parse(at));
            expect(counts, at).toEqual(countOf(calls.get(day) ?? []));
            calls.delete(day);
          }
          expect([...calls.keys()]).toEqual([]);

          const { tools } = await core.observability.latency(days);
          const answered = callsOf(asked).filter((call) => outcome(call) !== 'refused');
          const groups = groupBy(answered, ({ id, tool }) =>
            JSON.stringify([tool, dayOf(toIdMs(id))]),
          );
          for (const { tool, points: perDay } of tools) {
            for (const { at, calls: count } of perDay) {
              const key = JSON.stringify([tool, dayOf(Date.parse(at))]);
              expect(count, key).toBe(groups.get(key)?.length);
              groups.delete(key);
            }
          }
          expect([...groups.keys()]).toEqual([]);
        }, 10);
      },
    );

    it('the latency of each tool, bucket by bucket', async () => {
      await check(async (asked) => {
        const { tools } = await core.observability.latency({ ...asked, bucket: '1h' });
        const answered = callsOf(asked).filter((call) => outcome(call) !== 'refused');
        const groups = groupBy(answered, ({ id, tool }) =>
          JSON.stringify([tool, toTime(toIdMs(id) - (toIdMs(id) % HOUR))]),
        );
        for (const { tool, points } of tools) {
          for (const point of points) {
            const key = JSON.stringify([tool, point.at]);
            expect(point.calls).toBe(groups.get(key)?.length);
            expectQuantiles(point, groups.get(key) ?? []);
            groups.delete(key);
          }
        }
        expect([...groups.keys()]).toEqual([]);
      });
    });

    it('the most accessed files', async () => {
      await check(async (asked) => {
        const answer = await core.observability.topFiles({ ...asked, limit: 500 });
        expect(answer.countedFrom).toBeNull();
        expectTopFiles(answer, accessesOf(asked));
      });
    });

    it('the topology', async () => {
      await check(async (asked) => {
        const answer = await core.observability.topology(asked);
        expect(answer.countedFrom).toBeNull();
        expectTopology(answer, accessesOf(asked));
      });
    });

    it('both of all accesses, however many, and else of those since the time that the answer names', async () => {
      const store = observationsOf(core.storage);
      const rows = fc.integer({ min: 5, max: 300 });
      await fc.assert(
        fc.asyncProperty(query, rows, fc.boolean(), async (asked, examinedRows, isComplete) => {
          const range = parseRange(asked, NOW);
          const options = { isComplete, examinedRows };
          const files = await readTopFiles(store, range, { ...options, limit: 500 });
          const topology = await readTopology(store, range, options);
          const all = accessesOf(asked);
          const { countedFrom } = files;
          expect(topology.countedFrom).toBe(countedFrom);
          if (countedFrom === null) {
            expectTopFiles(files, all);
            expectTopology(topology, all);
            return;
          }
          expect(isComplete).toBe(false);
          // Of the rows of that very millisecond some may be left out.
          const atLeast = all.filter(({ id }) => toIdMs(id) > Date.parse(countedFrom)).length;
          const atMost = all.filter(({ id }) => toIdMs(id) >= Date.parse(countedFrom)).length;
          const weight = (kind: string) =>
            topology.nodes.reduce((sum, node) => sum + (node.kind === kind ? node.weight : 0), 0);
          const counted = files.items.reduce((sum, { accesses }) => sum + accesses, 0);
          for (const sum of [counted, weight('scope'), weight('actor'), weight('file')]) {
            expect(sum).toBeGreaterThanOrEqual(atLeast);
            expect(sum).toBeLessThanOrEqual(atMost);
          }
        }),
        { numRuns: 40 },
      );
    });

    it('failed and slow calls, page by page', async () => {
      const reasons = fc.constantFrom('failed', 'refused', 'slow', undefined);
      await fc.assert(
        fc.asyncProperty(query, reasons, async (asked, reason) => {
          const found = await everyPage((page) =>
            core.observability.failures({
              ...asked,
              ...page,
              ...(reason === undefined ? {} : { reason }),
            }),
          );
          // Lists go back to the first row unless they are told otherwise.
          const wanted = callsOf({ since: toTime(0), ...asked })
            .filter((call) => {
              const isSlow = call.durationMs >= SLOW_MS;
              if (reason === 'slow') return isSlow;
              if (reason !== undefined) return outcome(call) === reason;
              return isSlow || outcome(call) === 'failed';
            })
            .map(({ id }) => id)
            .toSorted()
            .toReversed();
          expect(found.map(({ id }) => id)).toEqual(wanted);
        }),
        { numRuns: 30 },
      );
    });

    it('the list of events, and who read a content', async () => {
      await check(async (asked) => {
        const all = { ...asked, since: asked.since ?? toTime(0) };
        const found = await everyPage((page) =>
          core.observability.events({ ...asked, ...page, kind: 'tool' }),
        );
        expect(found.map(({ id }) => id)).toEqual(
          callsOf(all)
            .map(({ id }) => id)
            .toSorted()
            .toReversed(),
        );
        const [revisionId = ''] = REVISIONS;
        expect(isUuid(revisionId)).toBe(true);
        const readers = await everyPage((page) =>
          core.observability.influence({ ...asked, ...page, revisionId }),
        );
        const since = Date.parse(all.since);
        const until = asked.until === undefined ? Infinity : Date.parse(asked.until);
        const shown = access.filter(
          (row) =>
            row.revisionId === revisionId &&
            ['read', 'context', 'find'].includes(row.action) &&
            row.at >= since &&
            row.at < until &&
            (asked.userId === undefined || row.userId === asked.userId) &&
            (asked.tool === undefined || row.tool === asked.tool),
        );
        expect(readers.map(({ id }) => id)).toEqual(
          shown
            .map(({ id }) => id)
            .toSorted()
            .toReversed(),
        );
      });
    });
  },
);
