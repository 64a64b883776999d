import assert from 'node:assert/strict';
import type { EventRecord, RollupRecord } from '../../../../core/contracts/records.ts';
import type {
  EventFilter,
  ObservationStore,
  RollUp,
  Storage,
} from '../../../../core/contracts/storage.ts';
import { accessRow, eventRow, makeId, write } from '../../../support/rows.ts';
import { everyPage, onStore, type StorageCase } from './storage-case.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

/** Roll-ups, lists of events and counted accesses: an optional store. */
export function observationCases(): StorageCase[] {
  return [
    observing(
      'adds up roll-ups in the transaction of their events, once',
      async (store, { append }) => {
        const rollUp = countingRollUp(makeId(START));
        const events = [at(0), at(10), at(MINUTE), at(MINUTE + 1, { scope: 'u:bob', tool: null })];
        await append(events.slice(0, 2), rollUp);
        await append(events, rollUp, true);
        await append([at(20)], rollUp);
        const all = await store.rollups({
          grain: 'minute',
          scope: null,
          since: START,
          until: START + HOUR,
        });
        assert.deepEqual(
          all.map(({ bucket, tool, calls, latency }) => [
            bucket - START,
            tool,
            calls,
            [...latency],
          ]),
          [
            [0, 'memory_read', 3, [3]],
            [MINUTE, null, 1, [1]],
            [MINUTE, 'memory_read', 1, [1]],
          ],
        );
        // Another instance has its own rows.
        const other = countingRollUp(makeId(START));
        await append([at(30)], other);
        const first = { grain: 'minute', scope: null, since: START, until: START + 1 } as const;
        assert.deepEqual((await store.rollups(first)).map(({ calls }) => calls).toSorted(), [1, 3]);
        // A whole row replaces the stored one instead of being added to it.
        await append([at(40)], knowing(other, 7));
        assert.deepEqual((await store.rollups(first)).map(({ calls }) => calls).toSorted(), [3, 7]);
        const hour = { ...first, until: START + HOUR };
        const sums = async (filter: Parameters<ObservationStore['countRollups']>[0]) =>
          (await store.countRollups(filter)).map(({ bucket, calls }) => [bucket - START, calls]);
        assert.deepEqual(await sums({ ...hour, length: MINUTE }), [
          [0, 10],
          [MINUTE, 2],
        ]);
        assert.deepEqual(await sums({ ...hour, length: 5 * MINUTE }), [[0, 12]]);
        assert.deepEqual(await sums({ ...hour, tool: 'memory_read', length: HOUR }), [[0, 11]]);
        assert.deepEqual(await sums({ ...first, length: HOUR }), [[0, 10]]);
        assert.deepEqual(await sums({ ...hour, scope: 'u:alice', length: HOUR }), []);
        assert.equal((await store.rollups({ ...first, tool: 'memory_write' })).length, 0);
        assert.equal((await store.rollups({ ...first, grain: 'hour' })).length, 0);
        assert.equal((await store.rollups({ ...first, scope: 'u:alice' })).length, 0);
        assert.equal(await store.expireRollups('minute', START + 1, 1), 1);
        assert.equal(await store.expireRollups('minute', START + 1, 9), 1);
        assert.equal(await store.expireRollups('minute', START + 1, 9), 0);
        assert.equal((await store.rollups(first)).length, 0);
        assert.equal((await store.rollups({ ...first, until: START + HOUR })).length, 2);
      },
    ),

    observing(
      'lists events by every filter, and by the time of their ids',
      async (store, { append }) => {
        const events = Array.from({ length: 60 }, (_, n) =>
          at(n * 1_000, {
            scope: n % 3 === 0 ? 's' : n % 3 === 1 ? 'u:alice' : 'u:Alice',
            tool: n % 2 === 0 ? 'memory_read' : 'memory_write',
            status: n % 4 === 0 ? 'error' : 'ok',
            errorCode: n % 4 !== 0 ? null : n % 8 === 0 ? 'INTERNAL' : 'FILE_NOT_FOUND',
            durationMs: n * 10,
            kind: n % 5 === 0 ? 'dream.run' : 'tool',
            actor: n % 7 === 0 ? 'worker' : 'agent',
          }),
        );
        await append(events, null);
        const filters: EventFilter[] = [
          {},
          { scope: 'u:alice' },
          { scope: 'u:alicE' },
          { tool: 'memory_read', kind: 'tool' },
          { status: 'error' },
          { status: 'ok', actor: 'worker' },
          { status: 'error', errorCodes: ['INTERNAL'] },
          { status: 'error', exceptErrorCodes: ['INTERNAL'] },
          { minDurationMs: 300 },
          { minDurationMs: 50, tool: 'memory_write' },
          { since: START + 10_000, until: START + 20_000 },
          { scope: 'u:Alice', since: START + 10_000, minDurationMs: 400 },
        ];
        for (const filter of filters) {
          const expected = events.filter((event) => matches(event, filter)).map(({ id }) => id);
          for (const order of ['asc', 'desc'] as const) {
            const found = await everyPage((page) => store.listEvents(filter, page), 7, order);
            assert.deepEqual(
              found.map(({ id }) => id),
              order === 'asc' ? expected.toSorted() : expected.toSorted().toReversed(),
              JSON.stringify({ filter, order }),
            );
          }
        }
        const [first] = (await store.listEvents({}, { limit: 1, order: 'asc', after: null })).items;
        assert.deepEqual(first, events[0]);
      },
    ),

    observing(
      'gives calls in short, and counts the users that made them',
      async (store, { append }) => {
        const events = [
          at(0, { scope: 'u:alice' }),
          at(1, { scope: 's', userId: null }),
          at(2, { scope: 'u:bob', tool: 'memory_write', status: 'error', errorCode: 'INTERNAL' }),
          at(3, { scope: 'u:bob', kind: 'dream.run' }),
          at(4, { scope: 'u:alice', durationMs: 12.5 }),
        ];
        await append(events, countingRollUp(makeId(START)));
        const range = { since: START, until: START + 10 };
        const calls = events.filter(({ kind }) => kind === 'tool');
        const inShort = calls.map(({ id, scope, tool, status, errorCode, durationMs }) => ({
          id,
          scope,
          tool,
          status,
          errorCode,
          durationMs,
        }));
        assert.deepEqual(await store.calls(range, { after: null, limit: 9 }), inShort);
        assert.deepEqual(
          await store.calls(range, { after: inShort[0]?.id ?? '', limit: 2 }),
          inShort.slice(1, 3),
        );
        const ofAlice = await store.calls(
          { ...range, scope: 'u:alice' },
          { after: null, limit: 9 },
        );
        assert.deepEqual(
          ofAlice.map(({ id }) => id),
          [events[0]?.id, events[4]?.id],
        );
        assert.deepEqual(
          await store.calls({ since: START + 2, until: START + 3 }, { after: null, limit: 9 }),
          inShort.slice(2, 3),
        );
        const single = { grain: null, ...range };
        assert.equal(await store.countScopes([single], null), 2);
        assert.equal(await store.countScopes([single], 'memory_write'), 1);
        const twice = { grain: 'hour', since: START, until: START + HOUR } as const;
        assert.equal(await store.countScopes([single, twice], null), 2);
        assert.equal(await store.countScopes([], null), 0);
      },
    ),

    observing(
      'counts accesses that went well by path, actor, tool and action',
      async (store, { storage }) => {
        const row = (ms: number, more: Parameters<typeof accessRow>[1], scope: 's' | 'u:alice') =>
          accessRow(scope, { id: makeId(START + ms), at: START + ms, ...more });
        const of = { path: 'a.md', actor: 'agent', tool: 'memory_read', action: 'read' } as const;
        await storage.log.append({
          access: [
            row(0, of, 'u:alice'),
            row(1, of, 'u:alice'),
            row(2, { ...of, action: 'find' }, 'u:alice'),
            row(3, { ...of, outcome: 'denied' }, 'u:alice'),
            row(4, { ...of, action: 'list' }, 'u:alice'),
            row(5, { ...of, userId: 'alice' }, 's'),
            row(6, { ...of, userId: 'bob', tool: 'memory_write' }, 's'),
            row(7, of, 'u:alice'),
          ],
          events: [],
        });
        const range = { since: START, until: START + 7 };
        const counted = async (filter: { scope?: `u:${string}`; tool?: string }, limit = 100) => {
          const { counts, from } = await store.countAccesses({ ...range, ...filter }, limit);
          const rows = counts.map(({ scope, action, tool, count, lastAt }) =>
            [scope, action, tool, count, lastAt - START].join(' '),
          );
          return { rows: rows.toSorted(), from };
        };
        const ofAlice = ['s read memory_read 1 5', 'u:alice find memory_read 1 2'];
        assert.deepEqual(await counted({}), {
          rows: [...ofAlice, 's read memory_write 1 6', 'u:alice read memory_read 2 1'].toSorted(),
          from: null,
        });
        assert.deepEqual(await counted({ scope: 'u:alice' }), {
          rows: [...ofAlice, 'u:alice read memory_read 2 1'].toSorted(),
          from: null,
        });
        assert.deepEqual((await counted({ tool: 'memory_write' })).rows, [
          's read memory_write 1 6',
        ]);
        assert.deepEqual((await counted({ scope: 'u:nobody' })).rows, []);
        // With parts of any size each row is counted once, and no part has older rows than its end.
        for (const filter of [{}, { scope: 'u:alice' as const }, { tool: 'memory_read' }]) {
          const whole = await store.countAccesses({ ...range, ...filter }, 100);
          for (const limit of [1, 2, 3, 100]) {
            const sums = new Map<string, number>();
            let before: string | null = null;
            let goes = 0;
            do {
              assert.ok(goes < 20, 'The count does not end.');
              goes += 1;
              const part: typeof whole = await store.countAccesses(
                { ...range, ...filter, before },
                limit,
              );
              assert.equal(part.from === null, part.next === null);
              for (const { scope, action, tool, count, lastAt } of part.counts) {
                assert.ok(lastAt >= (part.from ?? 0));
                const key = [scope, action, tool].join(' ');
                sums.set(key, (sums.get(key) ?? 0) + count);
              }
              before = part.next;
            } while (before !== null);
            assert.deepEqual(
              sums,
              new Map(
                whole.counts
                  .toSorted((one, other) => other.lastAt - one.lastAt)
                  .map(({ scope, action, tool, count }) => [
                    [scope, action, tool].join(' '),
                    count,
                  ]),
              ),
            );
          }
        }
      },
    ),

    observing('names the files whose present content a tool wrote', async (store, { storage }) => {
      const by = (tool: string | null, path: string, content: string | null, user = 'alice') =>
        write(storage, { scope: `u:${user}`, path }, content, { tool });
      await by('memory_write', 'kept.md', 'a');
      await by('memory_write', 'taken-over.md', 'a');
      await by('memory_remember', 'taken-over.md', 'b');
      await by('memory_write', 'deleted.md', 'a');
      await by('memory_write', 'deleted.md', null);
      await by(null, 'by-nobody.md', 'a');
      await by('memory_remember', 'other.md', 'a', 'Alice');
      const writtenBy = async (tool: string) => {
        const numbers = await store.filesWrittenBy('u:alice', tool);
        const files = await storage.files.list('u:alice', { prefix: '', after: null, limit: 9 });
        return files.filter(({ fileNo }) => numbers.includes(fileNo)).map(({ path }) => path);
      };
      assert.deepEqual(await writtenBy('memory_write'), ['kept.md']);
      assert.deepEqual(await writtenBy('memory_remember'), ['taken-over.md']);
      assert.deepEqual(await writtenBy('MEMORY_WRITE'), []);
      assert.equal((await store.filesWrittenBy('u:alice', 'memory_write')).length, 1);
      assert.deepEqual(await store.filesWrittenBy('u:nobody', 'memory_write'), []);
    }),
  ];
}

function observing(
  name: string,
  run: (
    store: ObservationStore,
    context: {
      storage: Storage;
      append(
        events: readonly EventRecord[],
        rollUp: RollUp | null,
        isRepeated?: boolean,
      ): Promise<void>;
    },
  ) => Promise<void>,
): StorageCase {
  return onStore('observations', name, (store, { storage }) =>
    run(store, {
      storage,
      append: (events, rollUp, isRepeated = false) =>
        storage.log.append({
          access: [],
          events,
          isRepeated,
          ...(rollUp === null ? {} : { rollUp }),
        }),
    }),
  );
}

function at(ms: number, more: Partial<EventRecord> = {}): EventRecord {
  const scope = more.scope ?? 'u:alice';
  return eventRow(scope, { id: makeId(START + ms), startedAt: START + ms, ...more });
}

/** Counts calls by minute for all scopes and by hour for each scope. The latency repeats the count. */
function countingRollUp(instanceId: string): RollUp {
  return {
    count(events) {
      const rows = new Map<string, RollupRecord>();
      for (const { id, tool, scope, kind } of events) {
        if (kind !== 'tool') continue;
        const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
        for (const key of [
          { grain: 'minute', bucket: ms - (ms % MINUTE), scope: null, tool },
          { grain: 'hour', bucket: ms - (ms % HOUR), scope, tool },
        ] as const) {
          const name = JSON.stringify(key);
          const calls = (rows.get(name)?.calls ?? 0) + 1;
          rows.set(name, toRollup(key, instanceId, calls));
        }
      }
      return { whole: [], added: [...rows.values()] };
    },
    merge: (kept, added) => toRollup(added, kept.instanceId, kept.calls + added.calls),
  };
}

/** Returns each row as a whole row with this count. */
function knowing(rollUp: RollUp, calls: number): RollUp {
  return {
    ...rollUp,
    count: (events) => {
      const { added } = rollUp.count(events);
      return { whole: added.map((row) => toRollup(row, row.instanceId, calls)), added: [] };
    },
  };
}

function toRollup(
  { grain, bucket, scope, tool }: Pick<RollupRecord, 'grain' | 'bucket' | 'scope' | 'tool'>,
  instanceId: string,
  calls: number,
): RollupRecord {
  const none = { failed: 0, refused: 0, reads: 0, writes: 0, finds: 0 };
  return { grain, bucket, scope, tool, instanceId, calls, ...none, latency: Uint8Array.of(calls) };
}

function matches(event: EventRecord, filter: EventFilter): boolean {
  const is = (wanted: unknown, value: unknown) => wanted === undefined || wanted === value;
  const ms = event.startedAt;
  return (
    is(filter.scope, event.scope) &&
    is(filter.tool, event.tool) &&
    is(filter.kind, event.kind) &&
    is(filter.status, event.status) &&
    is(filter.actor, event.actor) &&
    (filter.errorCodes?.includes(event.errorCode ?? '') ?? true) &&
    !(filter.exceptErrorCodes?.includes(event.errorCode ?? '') ?? false) &&
    event.durationMs >= (filter.minDurationMs ?? 0) &&
    ms >= (filter.since ?? 0) &&
    ms < (filter.until ?? Infinity)
  );
}
