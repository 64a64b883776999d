import { expect, it, onTestFinished, vi } from 'vitest';
import type { Host } from '../../../core/contracts/plugin.ts';
import { claimLease } from '../../../plugins/dreaming/lease.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { connectAsRoot } from '../../support/mariadb-server.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { openCore } from '../../support/service.ts';
import { rejection } from '../../support/rejection.ts';
import { MINUTE, openDreams } from './dream-service.ts';
import { mysql } from '../../support/databases.ts';

const SECOND = 1_000;

it('is renewed for as long as its work moves, and given up when it stands still', async () => {
  let host: Host | undefined;
  await openCore({
    plugins: [{ name: 'test', apiVersion: 2, setup: (given) => void (host = given) }],
  });
  if (host === undefined) throw new Error('The plugin was not set up.');
  const { lease: claim, log } = host;
  let renewals = 0;
  const counting: Host['lease'] = async (name, options) => {
    const lease = await claim(name, options);
    if (lease === null) return null;
    const renew = () => {
      renewals += 1;
      return lease.renew();
    };
    return { ...lease, renew };
  };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const kept = await claimLease({ lease: counting, log }, 'work');
  if (kept === null) throw new Error('Nobody else has it.');
  for (let step = 1; step <= 30; step += 1) {
    kept.noteProgress();
    vi.advanceTimersByTime(20 * SECOND);
    expect([renewals, kept.signal.aborted]).toEqual([step, false]);
  }
  vi.advanceTimersByTime(2 * MINUTE + 20 * SECOND);
  expect(kept.signal.aborted).toBe(true);
  const given = renewals;
  vi.advanceTimersByTime(10 * MINUTE);
  expect(renewals).toBe(given);
});

it('of the tick says once that another instance has it', async () => {
  const service = await openDreams();
  const { leases } = service.core.storage;
  const said = () =>
    service.log.lines.filter(({ message }) => message.startsWith('another instance')).length;
  for (const times of [1, 2]) {
    const fence = await leases.claim('dream-tick', 'another', MINUTE);
    for (let tick = 0; tick < 3; tick += 1) {
      expect(await service.plugin.tick()).toMatchObject({ skipped: 'another_instance' });
    }
    expect(said()).toBe(times);
    await leases.release('dream-tick', fence ?? 0);
    expect(await service.plugin.tick()).toMatchObject({ skipped: null });
  }
});

it.each(['its list of users', 'everything'])(
  'of a tick whose database stops to answer %s goes to another instance (F21)',
  async (what) => {
    const url = await freshDatabase();
    const proxy = await startFaultProxy(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    const through = url.replace(/:\d+\//, `:${proxy.port}/`);
    const silent = await openDreams({
      storage: mysql({ url: through, statementTimeoutMs: 1_000 }),
    });
    const other = await openDreams({
      storage: mysql({ url }),
      clock: silent.clock,
      provider: silent.provider,
    });
    await silent.write('alice', 'user/inbox.md', '- Likes tea.\n');
    silent.clock.advance(31 * MINUTE);
    proxy.silence((sql) => {
      const isList = sql.includes('left join svc_dream_run d');
      if (isList && what === 'everything') proxy.silence('all');
      return isList;
    });
    const error = await rejection(silent.plugin.tick());
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    if (what === 'everything') {
      // It could not give the lease back: the minute until it is over is not waited for.
      const { port, pathname } = new URL(url);
      const root = await connectAsRoot(Number(port), pathname.slice(1));
      await root.query('update svc_lease set expires_at = 0');
      await root.end();
    }
    expect(await other.plugin.tick()).toMatchObject({ skipped: null, runs: 1 });
    proxy.silence(null);
    expect(await silent.plugin.tick()).toMatchObject({ skipped: null, runs: 0 });
  },
);
