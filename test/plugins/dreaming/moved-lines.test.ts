import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Host, Plugin } from '../../../core/contracts/plugin.ts';
import { call } from '../../support/service.ts';
import { lines, MINUTE, openDreams, operation, verdicts } from './dream-service.ts';

const FOOD = '# Food\n\n- Allergic to nuts\n- Likes rice\n';
const REWORDED = '- Has an allergy to nuts';

/** A run with an operation that waits: by default it rewords a line of food.md, the first. */
async function openWaiting(
  content = FOOD,
  line = 3,
  proposed: Omit<Parameters<typeof operation>[0], 'remove'> = {
    kind: 'reword',
    add: { path: 'user/food.md', heading: null, lines: [REWORDED] },
  },
) {
  const hosts: Host[] = [];
  const carrier: Plugin = {
    name: 'carrier',
    apiVersion: 2,
    setup: (host) => void hosts.push(host),
  };
  const config = { plugins: [carrier], tools: { move: true, delete: true } };
  const service = await openDreams({ config });
  const [host] = hosts as [Host];
  await service.write('alice', 'user/food.md', content);
  service.say(() => ({
    operations: [operation({ ...proposed, remove: lines('user/food.md', content, line) })],
  }));
  service.judge(verdicts({ 1: 'keeps' }));
  const run = await service.dream('alice');
  expect(run).toMatchObject({ outcome: 'waiting', operationsWaiting: 1 });
  const act = async (verb: string, body: object = {}) => {
    service.clock.advance(MINUTE);
    return (await service.admin('POST', `dream/runs/${run.id}/${verb}`, body)).json;
  };
  service.clock.advance(MINUTE);
  return {
    service,
    run,
    act,
    move: (from: string, to: string) => {
      service.clock.advance(MINUTE);
      return call(service.core, 'alice', 'memory_move', { from: `user/${from}`, to: `user/${to}` });
    },
    carry: async (contents: Record<string, string>) => {
      service.clock.advance(MINUTE);
      await host.write(
        Object.entries(contents).map(([path, content]) => ({
          scope: 'u:alice' as const,
          path: `user/${path}`,
          content,
          reason: 'Carries lines.',
        })),
        { actor: 'carrier', runId: randomUUID() },
      );
    },
  };
}

describe('a waiting operation', () => {
  it('is applied where its file was moved to, and its run is undone there', async () => {
    const { service, run, act, move } = await openWaiting();
    await move('food.md', 'diet.md');
    await move('diet.md', 'about/diet.md');
    await service.write('alice', 'user/food.md', '# Another\n');
    const answer = await act('apply', { operations: [1] });
    expect(answer).toMatchObject({
      outcome: 'applied',
      decided: [{ number: 1, status: 'applied' }],
    });
    const applied = FOOD.replace('- Allergic to nuts', REWORDED);
    expect(await service.read('alice', 'user/about/diet.md')).toBe(applied);
    expect(await service.read('alice', 'user/food.md')).toBe('# Another\n');
    const { json } = await service.admin('GET', `dream/runs/${run.id}`);
    expect(json.operations[0]).toMatchObject({
      remove: [{ path: 'users/alice/about/diet.md', line: 3 }],
      add: { path: 'users/alice/about/diet.md' },
    });
    expect(await act('revert')).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/about/diet.md')).toBe(FOOD);
  });

  it('is applied where a call carried its line to, below the same heading', async () => {
    const { service, act, carry, move } = await openWaiting();
    await service.write('alice', 'user/health.md', '# Food\n\n- No milk\n');
    await carry({
      'food.md': '# Food\n\n- Likes rice\n',
      'health.md': '# Food\n\n- No milk\n- Allergic to nuts\n',
    });
    await move('health.md', 'body.md');
    const answer = await act('apply', { operations: [1] });
    expect(answer.decided).toMatchObject([{ number: 1, status: 'applied' }]);
    expect(await service.read('alice', 'user/body.md')).toBe(`# Food\n\n- No milk\n${REWORDED}\n`);
    expect(await service.read('alice', 'user/food.md')).toBe('# Food\n\n- Likes rice\n');
  });

  it('is applied where its line stands below another heading, in another file or in its own', async () => {
    const { service, act, carry } = await openWaiting();
    await service.write('alice', 'user/ben.md', '# Ben\n\n- Swims\n');
    await carry({
      'food.md': '# Food\n\n- Likes rice\n',
      'ben.md': '# Ben\n\n- Swims\n- Allergic to nuts\n',
    });
    const answer = await act('apply', { operations: [1] });
    expect(answer.decided).toMatchObject([{ number: 1, status: 'applied' }]);
    expect(await service.read('alice', 'user/ben.md')).toBe(`# Ben\n\n- Swims\n${REWORDED}\n`);

    for (const now of [
      '# Food\n\n- Likes rice\n\n## Health\n\n- Allergic to nuts\n',
      '# Diet\n\n- Allergic to nuts\n- Likes rice\n',
    ]) {
      const other = await openWaiting();
      await other.service.write('alice', 'user/food.md', now);
      const applied = await other.act('apply', { operations: [1] });
      expect(applied.decided).toMatchObject([{ number: 1, status: 'applied' }]);
      expect(await other.service.read('alice', 'user/food.md')).toBe(
        now.replace('- Allergic to nuts', REWORDED),
      );
    }
  });

  it('is stale where only the heading that its line left says what it adds', async () => {
    const content = '# Ben\n\n- Allergic to nuts\n';
    const { service, act } = await openWaiting(content, 3, {
      kind: 'reword',
      add: { path: 'user/food.md', heading: null, lines: ['- Allergic to nuts, says Ben'] },
    });
    const now = content.replace('Ben', 'Mia');
    await service.write('alice', 'user/food.md', now);
    const answer = await act('apply', { operations: [1] });
    expect(answer.decided).toMatchObject([
      { number: 1, status: 'stale', why: 'Its lines stand in another place by now.' },
    ]);
    expect(await service.read('alice', 'user/food.md')).toBe(now);
  });

  it('is stale where somebody took its lines apart, and applied where they moved together', async () => {
    const twice = '# Food\n\n- Allergic to nuts\n- Likes rice\n- Has a nut allergy\n';
    const merge = { kind: 'merge', sources: lines('user/food.md', twice, 5) } as const;
    const apart = '# Food\n\n- Likes rice\n- Has a nut allergy\n\n# Ben\n\n- Allergic to nuts\n';
    const { service, act } = await openWaiting(twice, 3, merge);
    await service.write('alice', 'user/food.md', apart);
    const answer = await act('apply', { operations: [1] });
    expect(answer.decided).toMatchObject([
      { number: 1, status: 'stale', why: 'Its lines stand in another place by now.' },
    ]);
    expect(await service.read('alice', 'user/food.md')).toBe(apart);

    const other = await openWaiting(twice, 3, merge);
    await other.service.write(
      'alice',
      'user/food.md',
      '# Food\n\n- Likes rice\n\n# Ben\n\n- Allergic to nuts\n- Has a nut allergy\n',
    );
    const applied = await other.act('apply', { operations: [1] });
    expect(applied.decided).toMatchObject([{ number: 1, status: 'applied' }]);
    expect(await other.service.read('alice', 'user/food.md')).toBe(
      '# Food\n\n- Likes rice\n\n# Ben\n\n- Has a nut allergy\n',
    );
  });

  it('is stale where its line is gone', async () => {
    const { service, act, move } = await openWaiting();
    await move('food.md', 'diet.md');
    await service.write('alice', 'user/diet.md', '# Food\n\n- Likes rice\n');
    const gone = await act('apply', { operations: [1] });
    expect(gone.decided).toMatchObject([{ number: 1, status: 'stale' }]);
  });

  it('is stale where its file was deleted', async () => {
    const { service, act } = await openWaiting();
    await call(service.core, 'alice', 'memory_delete', { path: 'user/food.md' });
    const answer = await act('apply', { operations: [1] });
    expect(answer.decided).toMatchObject([{ number: 1, status: 'stale' }]);
  });

  describe('whose line stands twice', () => {
    const TWICE = '# Food\n\n- Allergic to nuts\n\n# Ben\n\n- Swims\n- Allergic to nuts\n';
    const reworded = (content: string) => {
      const at = content.lastIndexOf('- Allergic to nuts');
      return content.slice(0, at) + content.slice(at).replace('- Allergic to nuts', REWORDED);
    };

    it.each([
      ['others were added above', `# New\n\n- One\n- Two\n- Three\n\n${TWICE}`],
      ['others were taken out above', TWICE.replace('- Swims\n', '')],
      ['the other one went', TWICE.replace('- Allergic to nuts\n', '- Likes rice\n')],
      [
        // The other one has the number that it had.
        'the other one took its place',
        TWICE.replace('# Food\n\n', '# Food\n\n- A\n- B\n- C\n- D\n- E\n'),
      ],
    ])('is applied to that very line, after %s', async (_, now) => {
      const { service, act } = await openWaiting(TWICE, 8);
      await service.write('alice', 'user/food.md', now);
      const answer = await act('apply', { operations: [1] });
      expect(answer.decided).toMatchObject([{ number: 1, status: 'applied' }]);
      expect(await service.read('alice', 'user/food.md')).toBe(reworded(now));
    });

    it('is stale where that very line is gone, and the other one stays', async () => {
      const { service, act } = await openWaiting(TWICE, 8);
      const now = reworded(TWICE).replace(`${REWORDED}\n`, '');
      await service.write('alice', 'user/food.md', now);
      const answer = await act('apply', { operations: [1] });
      expect(answer.decided).toMatchObject([
        { number: 1, status: 'stale', why: 'One of its lines is gone by now.' },
      ]);
      expect(await service.read('alice', 'user/food.md')).toBe(now);
    });

    it('is applied where a revert brought the line back', async () => {
      const { service, act } = await openWaiting(TWICE, 8);
      await service.write(
        'alice',
        'user/food.md',
        TWICE.replace('- Swims\n- Allergic to nuts\n', ''),
      );
      await service.write(
        'alice',
        'user/food.md',
        '# New\n\n' + TWICE.replace('- Swims\n- Allergic to nuts\n', ''),
      );
      const { items } = await service.core.revisions.list({ path: 'users/alice/food.md' });
      await service.core.revisions.revert(
        items[1]?.id ?? '',
        {},
        { address: null, operator: null, traceId: '0'.repeat(31) + '1' },
      );
      const now = await service.read('alice', 'user/food.md');
      expect(now).toBe(`# New\n\n${TWICE}`);
      const answer = await act('apply', { operations: [1] });
      expect(answer.decided).toMatchObject([{ number: 1, status: 'applied' }]);
      expect(await service.read('alice', 'user/food.md')).toBe(reworded(`# New\n\n${TWICE}`));
    });
  });
});
