import assert from 'node:assert/strict';
import type { AccessRecord } from '../../../../core/contracts/records.ts';
import type { AccessFilter } from '../../../../core/contracts/storage.ts';
import { toPhysicalPath } from '../../../../core/files/paths.ts';
import { accessRow, eventRow, makeId, makeTraceId, write } from '../../../support/rows.ts';
import { alice, byBytes, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** Access rows and events: batches, lists and expiry. */
export function logCases(): StorageCase[] {
  return [
    on('counts the reads of files once, and only reads', async (storage) => {
      await write(storage, alice, 'text');
      const fileNo =
        (await storage.files.get(alice))?.fileNo ?? assert.fail('A written file was not found.');
      const of = { fileNo, path: alice.path };
      const rows = [
        accessRow('u:alice', { ...of, at: 5_000 }),
        accessRow('u:alice', { ...of, action: 'context', at: 7_000 }),
        accessRow('u:alice', { ...of, action: 'find', at: 9_000, rank: 1 }),
        accessRow('u:alice', { ...of, action: 'list', at: 9_000, fileNo: null }),
        accessRow('u:alice', { ...of, at: 9_000, outcome: 'denied' }),
        accessRow('u:alice', { path: 'absent', at: 9_000, outcome: 'not_found' }),
      ];
      await storage.log.append({ access: rows, events: [] });
      const listing = () => storage.files.getListing(alice);
      assert.equal((await listing())?.reads, 2);
      assert.equal((await listing())?.lastReadAt, 7_000);
      // A batch is sent again when its commit got no answer.
      const late = accessRow('u:alice', { ...of, at: 6_000 });
      await storage.log.append({ access: [...rows, late], events: [], isRepeated: true });
      assert.equal((await listing())?.reads, 3);
      assert.equal((await listing())?.lastReadAt, 7_000);
      assert.equal(
        (await everyPage((page) => storage.log.listAccess({ action: 'read' }, page), 2)).length,
        4,
      );
      await storage.log.append({ access: [], events: [] });
    }),

    on('keeps every log row of concurrent batches beside concurrent writes', async (storage) => {
      await write(storage, alice, '0');
      await Promise.all([
        ...Array.from({ length: 20 }, (_, batch) =>
          storage.log.append({
            access: Array.from({ length: 30 }, () =>
              accessRow(`u:reader${batch % 3}`, { fileNo: 1 }),
            ),
            events: [eventRow('u:alice')],
          }),
        ),
        ...Array.from({ length: 100 }, (_, index) => write(storage, alice, `${index}`)),
      ]);
      const reads = await everyPage(
        (page) => storage.log.listAccess({ action: 'read' }, page),
        500,
      );
      assert.equal(reads.length, 600);
      assert.equal((await storage.files.get(alice))?.version, 101);
    }),

    on(
      'lists access rows by every filter, page by page, as a plain search finds them',
      async (storage) => {
        const calls = [makeId(), makeId()];
        const traces = [makeTraceId(), makeTraceId()];
        const revisions = [makeId(), makeId()];
        // A row without a file number, written before its file: found by its path all the same.
        await storage.log.append({
          access: [
            accessRow('u:user0', { path: 'f0', outcome: 'not_found', at: 1_700_000_000_000 }),
          ],
          events: [],
        });
        for (const scope of ['u:user0', 'u:user1', 's'] as const) {
          for (const path of ['f0', 'f1'])
            await write(storage, { scope, path }, 'x', { at: 1_700_000_000_000 });
        }
        const run = makeId();
        const rows = Array.from({ length: 150 }, (_, index) => {
          const scope = (['u:user0', 'u:user1', 's', 'u:ghost'] as const)[index % 4] ?? 's';
          const isAbsent = scope === 'u:ghost' || index % 10 === 0;
          return accessRow(scope, {
            id: index % 7 === 0 ? makeId(1_690_000_000_000 + index) : makeId(),
            at: 1_700_000_000_000 + index * 10,
            path: `f${index % 2}`,
            fileNo: isAbsent ? null : 1 + (index % 2),
            actor: ['agent', 'planner', 'dream-agent'][index % 3] ?? 'agent',
            tool: ['memory_read', 'memory_find', null][index % 3] ?? null,
            action: (['read', 'find', 'list', 'context'] as const)[index % 4] ?? 'read',
            outcome: isAbsent ? 'not_found' : index % 17 === 0 ? 'denied' : 'ok',
            toolCallId: index % 5 === 0 ? (calls[index % 2] ?? null) : null,
            traceId: index % 6 === 0 ? (traces[(index / 6) % 2] ?? null) : null,
            runId: index % 7 === 0 ? run : null,
            revisionId: index % 4 === 0 ? (revisions[(index / 4) % 2] ?? null) : null,
            rank: index % 4 === 1 ? index : null,
          });
        });
        await storage.log.append({ access: rows, events: [] });
        const all = await everyPage((page) => storage.log.listAccess({}, page), 500);
        assert.equal(all.length, 157);
        for (const row of rows)
          assert.deepEqual(
            all.find(({ id }) => id === row.id),
            row,
          );
        const filters: AccessFilter[] = [
          {},
          { scope: 's' },
          { scope: 'u:ghost' },
          { scope: 'u:nobody' },
          { path: { scope: 'u:user0', path: 'f0' } },
          { path: { scope: 'u:user0', path: 'f0' }, outcome: 'not_found' },
          { path: { scope: 'u:user1', path: 'f1' }, actor: 'planner' },
          { path: { scope: 'u:ghost', path: 'f1' } },
          { path: { scope: 's', path: 'f0' }, scope: 'u:user0' },
          { path: { scope: 's', path: 'f0' }, revisionId: revisions[0] ?? null },
          { prefix: 'users/' },
          { prefix: 'users/user' },
          { prefix: 'users/user1/f' },
          { prefix: 'users/user1/f1', action: 'read' },
          { prefix: 'shared/f0' },
          { prefix: 'users/ghost/', outcome: 'not_found' },
          { prefix: 'nowhere' },
          { actor: 'planner' },
          { actor: 'PLANNER' },
          { tool: 'memory_find', action: 'find' },
          { action: 'context', scope: 's' },
          { actions: ['read', 'find'] },
          { actions: ['context'], scope: 's' },
          { outcome: 'ok' },
          { outcome: 'denied' },
          { outcome: 'not_found', scope: 'u:user1' },
          { toolCallId: calls[0] ?? null },
          { toolCallId: calls[1] ?? null, scope: 'u:user1' },
          { toolCallId: 'call_1' },
          { traceId: traces[0] ?? null },
          { traceId: traces[1] ?? null, path: { scope: 'u:user0', path: 'f0' } },
          { runId: run },
          { runId: run, path: { scope: 'u:user0', path: 'f0' } },
          { revisionId: revisions[1] ?? null },
          { revisionId: revisions[0] ?? null, action: 'read', since: 1_700_000_000_400 },
          { since: 1_700_000_000_700 },
          { until: 1_700_000_000_300 },
          { since: 1_700_000_000_300, until: 1_700_000_000_900, prefix: 'users/user0' },
          {
            until: 1_700_000_000_900,
            outcome: 'not_found',
            path: { scope: 'u:user0', path: 'f0' },
          },
        ];
        for (const filter of filters) {
          const expected = all.filter((row) => accessMatches(row, filter)).map(({ id }) => id);
          const limits = expected.length <= 12 || filter === filters[0] ? [1, 7, 500] : [7];
          for (const order of ['asc', 'desc'] as const) {
            for (const limit of limits) {
              const listed = await everyPage(
                (page) => storage.log.listAccess(filter, page),
                limit,
                order,
              );
              assert.deepEqual(
                listed.map(({ id }) => id),
                expected.toSorted((left, right) =>
                  order === 'asc' ? byBytes(left, right) : byBytes(right, left),
                ),
                JSON.stringify({ filter, order, limit }),
              );
            }
          }
        }
      },
    ),

    on(
      'keeps which lines of which version an access showed, and that it is unknown',
      async (storage) => {
        const { version } = await write(storage, alice, 'one\ntwo\n');
        const rows = [
          accessRow('u:alice', { path: alice.path, fileNo: 1, version, lines: '1-40,55' }),
          accessRow('u:alice', { path: alice.path, fileNo: 1, version, lines: '' }),
          accessRow('u:alice', { path: alice.path, fileNo: 1, version: null, lines: null }),
          // As long as the lines of a context out of many places.
          accessRow('u:alice', {
            path: alice.path,
            fileNo: 1,
            version: 2_147_483_648,
            lines: Array.from({ length: 2_000 }, (_, index) => `${index * 3 + 1}`).join(','),
          }),
        ];
        await storage.log.append({ access: rows, events: [] });
        const listed = await everyPage(
          (page) => storage.log.listAccess({ path: alice, actions: ['read'] }, page),
          2,
        );
        assert.deepEqual(
          listed.map((row) => [row.version, row.lines]),
          rows.map((row) => [row.version, row.lines]),
        );
        const [written] = (
          await storage.log.listAccess(
            { path: alice, action: 'write' },
            { limit: 1, order: 'asc', after: null },
          )
        ).items;
        assert.deepEqual([written?.version, written?.lines], [1, '']);
      },
    ),

    on('lists what was done for a user, in shared memory too', async (storage) => {
      const rows = [
        accessRow('u:alice', { path: 'own' }),
        accessRow('s', { path: 'shared', userId: 'alice' }),
        accessRow('s', { path: 'shared', userId: 'bob' }),
        accessRow('s', { path: 'shared', userId: null }),
        accessRow('u:Alice', { path: 'own' }),
      ];
      await storage.log.append({ access: rows, events: [] });
      const ids = async (filter: AccessFilter) =>
        (await everyPage((page) => storage.log.listAccess(filter, page), 2)).map(({ id }) => id);
      const [first, second, third] = rows.map(({ id }) => id);
      assert.deepEqual(await ids({ userId: 'alice' }), [first, second]);
      assert.deepEqual(await ids({ userId: 'alice', scope: 's' }), [second]);
      assert.deepEqual(await ids({ userId: 'bob' }), [third]);
      assert.deepEqual(await ids({ userId: 'nobody' }), []);
    }),

    on('writes a batch of log rows whole or not at all', async (storage) => {
      await write(storage, alice, 'text');
      const taken = accessRow('u:alice', { fileNo: 1 });
      await storage.log.append({ access: [taken], events: [] });
      const event = eventRow('u:alice');
      const batch = { access: [accessRow('u:alice', { fileNo: 1 }), taken], events: [event] };
      assert.equal((await refusal(storage.log.append(batch))).code, 'INTERNAL');
      assert.equal((await storage.files.getListing(alice))?.reads, 1);
      assert.equal(await storage.log.eventOfToolCall(event.toolCallId), null);
      await storage.log.append({ ...batch, isRepeated: true });
      assert.equal((await storage.files.getListing(alice))?.reads, 2);
      assert.deepEqual(await storage.log.eventOfToolCall(event.toolCallId), event);
    }),

    on(
      'keeps a large batch of log rows once, beside writes and when it is repeated',
      async (storage) => {
        await write(storage, alice, 'text');
        const row = (n: number) => accessRow(n % 2 === 0 ? 'u:alice' : 'u:bob', { fileNo: 1 });
        const access = Array.from({ length: 1_300 }, (_, n) => row(n));
        const event = eventRow('u:alice');
        const batch = { access, events: [event] };
        // The last row repeats the first one, so the last part can't be written.
        const unwritable = { ...batch, access: [...access, ...access.slice(0, 1)] };
        assert.equal((await refusal(storage.log.append(unwritable))).code, 'INTERNAL');
        const [answer] = await Promise.allSettled([
          storage.log.append({ ...batch, isRepeated: true }),
          ...Array.from({ length: 20 }, (_, index) => write(storage, alice, `${index}`)),
        ]);
        assert.equal(answer.status, 'fulfilled');
        await storage.log.append({ ...batch, isRepeated: true });
        const more = Array.from({ length: 1_300 }, (_, n) => row(n));
        const other = eventRow('u:bob');
        await storage.log.append({ access: more, events: [other] });
        for (const one of [event, other]) {
          assert.deepEqual(await storage.log.eventOfToolCall(one.toolCallId), one);
        }
        const kept = await everyPage(
          (page) => storage.log.listAccess({ action: 'read' }, page),
          500,
        );
        const ids = new Set(kept.map(({ id }) => id));
        assert.ok([...access, ...more].every(({ id }) => ids.has(id)));
        assert.equal(ids.size, kept.length);
        // Each stored row is counted, whichever attempt wrote it.
        const own = kept.filter(({ scope, fileNo }) => scope === 'u:alice' && fileNo === 1);
        assert.equal((await storage.files.getListing(alice))?.reads, own.length);
        assert.equal((await storage.files.get(alice))?.version, 21);
      },
    ),

    on('gives events back by trace and by tool call', async (storage) => {
      const traceId = makeTraceId();
      const events = [
        eventRow('u:alice', { traceId }),
        eventRow('s', {
          traceId,
          userId: 'bob',
          parentSpanId: '00f067aa0ba902b9',
          callerToolCallId: null,
        }),
        eventRow('u:alice', { status: 'error', errorCode: 'FILE_NOT_FOUND', tool: null }),
      ];
      await storage.log.append({ access: [], events });
      await storage.log.append({ access: [], events, isRepeated: true });
      assert.deepEqual(await storage.log.eventsOfTrace(traceId), events.slice(0, 2));
      for (const event of events) {
        assert.deepEqual(await storage.log.eventOfToolCall(event.toolCallId), event);
      }
      assert.deepEqual(await storage.log.eventsOfTrace(makeTraceId()), []);
      assert.deepEqual(await storage.log.eventsOfTrace('nonsense'), []);
      assert.equal(await storage.log.eventOfToolCall('call_1'), null);
      await storage.log.append({
        access: [],
        events: Array.from({ length: 210 }, () => eventRow('u:alice', { traceId })),
      });
      assert.equal((await storage.log.eventsOfTrace(traceId)).length, 200);
    }),

    on('removes the oldest log rows from before a time, so many at once', async (storage) => {
      const times = [10, 20, 30, 40, 50].map((ms) => 1_700_000_000_000 + ms);
      await storage.log.append({
        access: times.map((at) => accessRow('u:alice', { at, id: makeId(at) })),
        events: times.map((startedAt) => eventRow('u:alice', { startedAt, id: makeId(startedAt) })),
      });
      const { log } = storage;
      for (const what of ['access', 'events'] as const) {
        assert.equal(await log.expire(what, 1_700_000_000_010, 100), 0);
        assert.equal(await log.countOlder(what, 1_700_000_000_010), 0);
        assert.equal(await log.countOlder(what, 1_700_000_000_035), 3);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 2);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 1);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 0);
      }
      const left = await everyPage((page) => log.listAccess({}, page), 5);
      assert.deepEqual(
        left.map(({ at }) => at),
        times.slice(3),
      );
    }),
  ];
}

function accessMatches(row: AccessRecord, filter: AccessFilter): boolean {
  const is = (wanted: string | null | undefined, value: string | null) =>
    wanted === null || wanted === undefined || wanted === value;
  return (
    is(filter.scope, row.scope) &&
    is(filter.path?.scope, row.scope) &&
    is(filter.path?.path, row.path) &&
    toPhysicalPath(row).startsWith(filter.prefix ?? '') &&
    is(filter.actor, row.actor) &&
    is(filter.tool, row.tool) &&
    is(filter.action, row.action) &&
    (filter.actions ?? [row.action]).includes(row.action) &&
    is(filter.outcome, row.outcome) &&
    is(filter.traceId, row.traceId) &&
    is(filter.runId, row.runId) &&
    is(filter.toolCallId, row.toolCallId) &&
    is(filter.revisionId, row.revisionId) &&
    row.at >= (filter.since ?? -Infinity) &&
    row.at < (filter.until ?? Infinity)
  );
}
