import { expect, it } from 'vitest';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { lines, MINUTE, openDreams, operation } from './dream-service.ts';

const TEA = '- Likes tea a lot.\n- Likes tea a lot.\n- Lives in Berlin.\n- Has a cat.\n';
const NEWER = '# News\n\n- Moved: lives in Madrid now, no longer in Berlin.\n';

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
    await first.write(userId, 'user/tea.md', TEA);
    first.clock.advance(MINUTE);
    await first.write(userId, 'user/news.md', NEWER);
  }
  first.clock.advance(31 * MINUTE);
  first.say(() => ({
    operations: [
      operation({
        kind: 'merge',
        remove: lines('user/tea.md', TEA, 1, 2),
        add: { path: 'user/tea.md', heading: null, lines: ['- Likes tea a lot.'] },
      }),
      operation({
        kind: 'supersede',
        remove: lines('user/tea.md', TEA, 3),
        sources: [{ path: 'user/news.md', line: 3 }],
      }),
    ],
  }));
  await Promise.all([first.plugin.tick(), second.plugin.tick()]);
  await second.plugin.tick();
  expect(first.provider.received).toHaveLength(users.length);
  const { items } = (await second.admin('GET', 'dream/runs')).json;
  expect(items).toHaveLength(users.length);
  for (const run of items) {
    expect(run).toMatchObject({ outcome: 'applied', operationsApplied: 2, filesTouched: 1 });
    expect(await first.read(run.userId, 'user/tea.md')).toBe('- Likes tea a lot.\n- Has a cat.\n');
    const { json } = await second.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await first.read(run.userId, 'user/tea.md')).toBe(TEA);
  }
});
