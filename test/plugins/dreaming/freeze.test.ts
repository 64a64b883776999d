import { describe, expect, it } from 'vitest';
import { lines, MINUTE, openDreams, operation } from './dream-service.ts';

const TWICE = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
const ONCE = '- Likes tea a lot.\n- Has a cat.\n';
const PATH = 'user/inbox.md';
const merging = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines(PATH, TWICE, 1, 2),
      add: { path: PATH, heading: null, lines: ['- Likes tea a lot.'] },
    }),
  ],
});

async function open() {
  const service = await openDreams();
  service.say(merging);
  await service.write('alice', PATH, TWICE);
  const freeze = async (target: object) =>
    (await service.admin('POST', 'freeze', { ...target, reason: 'an incident', minutes: 600 }))
      .json;
  return { ...service, freeze };
}

describe('while the writes of a user are stopped', () => {
  it.each([{ userId: 'alice' }, { actor: 'dream-agent' }, { all: true }])(
    'no run begins for %o: one that is asked for is refused, and a tick skips the user',
    async (target) => {
      const service = await open();
      const { id } = await service.freeze(target);
      const asked = await service.admin('POST', 'dream/users/alice/run', {});
      expect([asked.status, asked.json.error?.code]).toEqual([403, 'WRITES_FROZEN']);
      service.clock.advance(31 * MINUTE);
      expect(await service.plugin.tick()).toMatchObject({ runs: 0, reasons: { frozen: 1 } });
      const users = await service.admin('GET', 'dream/users');
      expect(users.json.items[0]).toMatchObject({ userId: 'alice', skipReason: 'frozen' });
      expect(service.provider.received).toEqual([]);
      await service.admin('DELETE', `freezes/${id}`);
      expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
      expect(await service.read('alice', PATH)).toBe(ONCE);
    },
  );

  it('what a run that is under way proposes waits for a person, who may apply and revert it', async () => {
    const service = await open();
    let stopping: Promise<unknown> = Promise.resolve();
    service.say(() => {
      stopping = service.freeze({ userId: 'alice' });
      return merging();
    });
    const run = await service.dream('alice');
    await stopping;
    expect(run).toMatchObject({ state: 'completed', outcome: 'waiting', operationsWaiting: 1 });
    expect(run.operations[0].why).toContain('An operator has stopped writes here until');
    expect(await service.read('alice', PATH)).toBe(TWICE);
    const applied = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(applied.status).toBe(200);
    expect(await service.read('alice', PATH)).toBe(ONCE);
    const reverted = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(reverted.status).toBe(200);
    expect(await service.read('alice', PATH)).toBe(TWICE);
  });

  it('a dry run goes on', async () => {
    const service = await open();
    await service.freeze({ userId: 'alice' });
    expect(await service.dream('alice', { dryRun: true })).toMatchObject({ dryRun: true });
  });
});
