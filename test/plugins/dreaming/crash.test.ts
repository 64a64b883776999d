import { expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { MINUTE, openDreams } from './dream-service.ts';
import { proposal, readThree, TEA, writeThree } from './three-files.ts';
import { withDreamRuns } from '../../support/dream-runs.ts';
import { sqlite } from '../../support/databases.ts';

const FACTS = ['Likes tea a lot', 'Has a cat', 'Uses Vim', 'Kafka in 2024', 'Redis in 2023'];

/** Before and after each write in a release; in a test every second one, by turns. */
const EVERY_WAY = process.env['MEMORY_TEST_RELEASE'] !== undefined;

/** A storage whose process dies at its n-th write: before it, or after it but before the answer. */
function dying(real: Storage) {
  const fuse = { left: Infinity, isAfter: false, isDead: false };
  const dead = () => new MemoryError('STORAGE_UNAVAILABLE', 'The process is gone.');
  function fused<A extends unknown[], R>(write: (...args: A) => Promise<R>) {
    return async (...args: A): Promise<R> => {
      if (fuse.isDead) throw dead();
      fuse.left -= 1;
      if (fuse.left > 0) return await write(...args);
      fuse.isDead = true;
      if (fuse.isAfter) await write(...args);
      throw dead();
    };
  }
  const storage: Storage = {
    ...withDreamRuns(real, (dreams) => ({
      update: fused((request, decide) => dreams.update(request, decide)) as typeof dreams.update,
    })),
    mutate: fused((request, decide) => real.mutate(request, decide)) as Storage['mutate'],
    leases: {
      claim: (...args) => (fuse.isDead ? Promise.reject(dead()) : real.leases.claim(...args)),
      renew: (...args) => (fuse.isDead ? Promise.reject(dead()) : real.leases.renew(...args)),
      // The lease of a process that is gone stays until its time is over.
      release: (...args) => (fuse.isDead ? Promise.reject(dead()) : real.leases.release(...args)),
    },
  };
  return { storage, fuse };
}

/** What the service says after a process died at its n-th write; `null` when it came to its end. */
async function dieAt(write: number, isAfter: boolean, mode: 'auto' | 'review') {
  const filename = await temporaryDatabase();
  const { storage, fuse } = dying(sqlite({ filename }));
  const first = await openDreams({ storage, settings: { dream_mode: mode } });
  await writeThree(first);
  first.clock.advance(31 * MINUTE);
  let id: string | null = null;
  if (mode === 'review') id = (await first.dream('alice')).id;
  Object.assign(fuse, { left: write, isAfter });
  if (id === null) await first.admin('POST', 'dream/users/alice/run', {});
  else await first.admin('POST', `dream/runs/${id}/apply`, {});
  await first.plugin.settle();
  const hasDied = fuse.isDead;
  fuse.isDead = true;
  await first.core.close();
  // By the database's clock the lease of the dead lasts for a minute.
  await withRawSql(filename, 'sqlite3', (raw) =>
    raw.run('update svc_lease set expires_at = 0', []),
  );

  const second = await openDreams({
    storage: sqlite({ filename }),
    clock: first.clock,
    provider: first.provider,
  });
  const runs = (await second.admin('GET', 'dream/runs')).json.items;
  const memory = Object.values(await readThree(second));
  for (const fact of FACTS) {
    expect(memory.join('\n'), `${fact}, killed at write ${write}`).toContain(fact);
  }
  return { hasDied, second, runs, id, memory };
}

it(
  'a process that dies anywhere in a run loses no fact, leaves no run under way, and the next run ends the work',
  { timeout: 300_000 },
  async () => {
    let ends = 0;
    for (let write = 1; ends < 1; write += EVERY_WAY ? 1 : 2) {
      for (const isAfter of EVERY_WAY ? [false, true] : [write % 4 === 3]) {
        const { hasDied, second, runs } = await dieAt(write, isAfter, 'auto');
        if (!hasDied) ends += 1;
        const states = runs.map((run: { state: string }) => run.state);
        expect(states.every((state: string) => ['failed', 'completed'].includes(state))).toBe(true);
        if (states[0] === 'failed') {
          const events = await second.admin('GET', 'observability/events?kind=dream.run');
          expect(events.json.items).toContainEqual(
            expect.objectContaining({
              name: 'dream.recover',
              toolCallId: runs[0].id,
              errorCode: 'RUN_STATE',
              attributes: expect.objectContaining({ state: 'failed' }),
            }),
          );
          const revisions = await second.admin('GET', `revisions?runId=${runs[0].id}`);
          const written = revisions.json.items.filter(
            (it: { path: string }) => !it.path.endsWith('dream-log.md'),
          );
          expect(runs[0].filesTouched).toBe(written.length);
          expect(revisions.json.items).toHaveLength(runs[0].writes);
          expect(runs[0].writes).toBe(written.length === 0 ? 0 : written.length + 1);
        }
        second.clock.advance(25 * 60 * MINUTE);
        await second.plugin.tick();
        const b = (await second.read('alice', 'user/projects.md')) ?? '';
        if (!hasDied) expect(b).toContain('Kafka');
        await second.core.close();
      }
      expect(write).toBeLessThan(30);
    }
  },
);

it(
  'a process that dies anywhere while it applies a proposal leaves what is left of it to be decided on, or a run that is completed',
  { timeout: 300_000 },
  async () => {
    for (const isWhole of [false, true]) {
      // One write has all files, the log and the run.
      const { hasDied, second, id, runs } = await dieAt(1, isWhole, 'review');
      expect(hasDied).toBe(true);
      expect(runs[0], `killed ${isWhole ? 'after' : 'before'} the write`).toMatchObject(
        isWhole
          ? { id, state: 'completed', outcome: 'applied', filesTouched: 3, writes: 4, error: null }
          : { id, state: 'completed', outcome: 'waiting', operationsWaiting: 2 },
      );
      if (!isWhole) {
        const { json } = await second.admin('POST', `dream/runs/${id}/apply`, {});
        expect(json).toMatchObject({ state: 'completed', outcome: 'applied', filesTouched: 3 });
      }
      const user = (await second.admin('GET', 'dream/users')).json.items[0];
      expect(user).toMatchObject({ status: 'completed', failures: 0, error: null });
      expect(user.operationsWaiting).toBe(0);
      expect(await second.read('alice', 'user/inbox.md')).not.toContain('Kafka');
      expect((await second.read('alice', 'user/projects.md'))?.match(/Kafka/g)).toHaveLength(1);
      expect((await second.read('alice', 'user/dream-log.md'))?.match(/^## /gm)).toHaveLength(1);
      await second.core.close();
    }
  },
);

it('a zombie whose lease another one took writes nothing more', async () => {
  const filename = await temporaryDatabase();
  const service = await openDreams({ storage: sqlite({ filename }) });
  await service.write('alice', 'user/tea.md', TEA);
  service.clock.advance(31 * MINUTE);
  service.say(proposal);
  service.provider.next((exchange) => {
    // It stood still while it waited for its model, and another one came.
    void withRawSql(filename, 'sqlite3', (raw) =>
      raw.run("update svc_lease set fence = fence + 1, holder = 'other' where name = ?", [
        'dream:alice',
      ]),
    ).then(() => exchange.sendJson(200, exchange.proper()));
  });
  await service.admin('POST', 'dream/users/alice/run', {});
  await service.plugin.settle();
  expect(await service.read('alice', 'user/tea.md')).toBe(TEA);
  expect((await service.admin('GET', 'revisions?actor=dream-agent')).json.items).toEqual([]);
});

it('a shutdown ends the run, frees the lease, and leaves the user to the next tick', async () => {
  const filename = await temporaryDatabase();
  const first = await openDreams({ storage: sqlite({ filename }) });
  await first.write('alice', 'user/tea.md', TEA);
  first.clock.advance(31 * MINUTE);
  first.say(proposal);
  let asked: () => void = () => undefined;
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  first.provider.next(() => asked());
  await first.admin('POST', 'dream/users/alice/run', {});
  await isAsked;
  await first.core.close();
  const second = await openDreams({
    storage: sqlite({ filename }),
    clock: first.clock,
    provider: first.provider,
  });
  const [run] = (await second.admin('GET', 'dream/runs')).json.items;
  expect(run).toMatchObject({ state: 'failed', error: { code: 'SHUTTING_DOWN' } });
  expect(await second.plugin.tick()).toMatchObject({ runs: 1 });
  expect(await second.read('alice', 'user/tea.md')).toBe('- Likes tea a lot.\n- Has a cat.\n');
});
