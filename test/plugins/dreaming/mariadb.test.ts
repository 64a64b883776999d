import { describe, expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { call } from '../../support/service.ts';
import { lines, MINUTE, openDreams, operation, verdicts } from './dream-service.ts';
import { mysql } from '../../support/databases.ts';

const TEA = '- Likes tea a lot.\n- Likes tea a lot.\n- Lives in Berlin.\n- Has a cat.\n';
const NEWER = '# News\n\n- Moved: lives in Madrid now, no longer in Berlin.\n';
/** How often a user's write and the run's own meet at one file. */
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 4 : 300;
const LONG = { timeout: 180_000 + ROUNDS * 6_000 };

it('two instances on MariaDB dream of each user once, and undo it to the byte', async () => {
  const url = await freshDatabase();
  const first = await openDreams({ storage: mysql({ url }) });
  const second = await openDreams({
    storage: mysql({ url }),
    clock: first.clock,
    provider: first.provider,
  });
  const users = ['alice', 'bob', 'carol', 'dave'];
  for (const userId of users) {
    await first.write(userId, 'user/profile.md', TEA);
    first.clock.advance(MINUTE);
    await first.write(userId, 'user/news.md', NEWER);
  }
  first.clock.advance(31 * MINUTE);
  first.say(() => ({
    operations: [
      operation({
        kind: 'merge',
        remove: lines('user/profile.md', TEA, 1, 2),
        add: { path: 'user/profile.md', heading: null, lines: ['- Likes tea a lot.'] },
      }),
      operation({
        kind: 'supersede',
        remove: lines('user/profile.md', TEA, 3),
        sources: [{ path: 'user/news.md', line: 3 }],
      }),
    ],
  }));
  first.judge(verdicts({ 1: 'keeps', 2: 'replaces' }));
  await Promise.all([first.plugin.tick(), second.plugin.tick()]);
  await second.plugin.tick();
  // Each run asks the model, and the verifier.
  expect(first.provider.received).toHaveLength(2 * users.length);
  const { items } = (await second.admin('GET', 'dream/runs')).json;
  expect(items).toHaveLength(users.length);
  for (const run of items) {
    // The newer note ends what the line says, and says what holds now.
    expect(run).toMatchObject({ outcome: 'applied', operationsApplied: 2, filesTouched: 1 });
    expect(await first.read(run.userId, 'user/profile.md')).toBe(
      '- Likes tea a lot.\n- Has a cat.\n',
    );
    const { json } = await second.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await first.read(run.userId, 'user/profile.md')).toBe(TEA);
  }
});

describe('a user who writes on one instance while another applies a run (MariaDB)', LONG, () => {
  const FILES = ['user/inbox.md', 'user/projects.md', 'user/c.md'];
  const MERGED = '- Likes tea a lot.\n- Lives in Berlin.\n- Has a cat.\n';
  const MINE = '- Plays chess on Fridays.\n';

  /** Two instances; `meanwhile` is called before each write of memory on the first one. */
  async function openTwo() {
    const url = await freshDatabase();
    const real = mysql({ url });
    let meanwhile: (paths: string[]) => Promise<void> = async () => undefined;
    const storage: Storage = {
      ...real,
      async mutate(request, decide) {
        await meanwhile(request.files.map(({ path }) => `user/${path}`));
        return await real.mutate(request, decide);
      },
    };
    const first = await openDreams({ storage });
    const second = await openDreams({
      storage: mysql({ url }),
      clock: first.clock,
      provider: first.provider,
    });
    /** Does `act` once, when the file is about to be written. */
    const atWriteOf = (file: string, act: () => Promise<void>) => {
      let isDone = false;
      meanwhile = async (paths) => {
        if (isDone || !paths.includes(file)) return;
        isDone = true;
        await act();
      };
    };
    return { first, second, atWriteOf };
  }

  const merges = () => ({
    operations: FILES.map((path) =>
      operation({
        kind: 'merge',
        remove: lines(path, TEA, 1, 2),
        add: { path, heading: null, lines: ['- Likes tea a lot.'] },
      }),
    ),
  });

  it('keeps the write wherever it comes in, and applies what it leaves standing', async () => {
    const { first, second, atWriteOf } = await openTwo();
    first.say(merges);
    for (const [index, mine] of ['while the model thinks', ...FILES].entries()) {
      const userId = `user${index}`;
      const target = FILES.includes(mine) ? mine : 'user/projects.md';
      for (const file of FILES) await second.write(userId, file, TEA);
      const write = () => second.write(userId, target, `${TEA}${MINE}`);
      if (target === mine) atWriteOf(target, write);
      else {
        first.provider.next((exchange) => {
          void write().then(() => exchange.sendJson(200, exchange.proper()));
        });
      }
      const run = await first.dream(userId);
      expect(run).toMatchObject({ state: 'completed', outcome: 'applied', filesTouched: 3 });
      for (const file of FILES) {
        const theirs = file === target ? MINE : '';
        expect(await second.read(userId, file)).toBe(`${MERGED}${theirs}`);
      }
    }
  });

  it('keeps a line that is appended at the same moment, before the run’s write or after it', async () => {
    const { first, second, atWriteOf } = await openTwo();
    first.say(merges);
    for (let round = 0; round < ROUNDS; round += 1) {
      const userId = `user${round}`;
      const target = FILES[round % FILES.length] ?? '';
      for (const file of FILES) await second.write(userId, file, TEA);
      let appended: Promise<unknown> = Promise.resolve();
      atWriteOf(target, async () => {
        const append = { path: target, append: { text: MINE } };
        appended = call(second.core, userId, 'memory_patch', append);
      });
      const run = await first.dream(userId);
      await appended;
      expect(run).toMatchObject({ state: 'completed', outcome: 'applied', filesTouched: 3 });
      expect(await second.read(userId, target)).toBe(`${MERGED}${MINE}`);
    }
  });
});
