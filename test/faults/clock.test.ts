import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import { createCore } from '../../core/core.ts';
import { mysql } from '../../plugins/storage-mysql/index.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';
import { manualClock } from '../support/clock.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { call, temporaryDirectory } from '../support/service.ts';

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
