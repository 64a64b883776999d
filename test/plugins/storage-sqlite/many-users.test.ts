import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { PageRequest } from '../../../core/contracts/storage.ts';
import { write } from '../../support/rows.ts';
import { quiet } from '../../support/quiet-log.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

it('lists the files of more users than one page walks, and skips and repeats none', async () => {
  const filename = join(await temporaryDirectory(), 'memory.db');
  const storage = sqlite({ filename, synchronous: 'normal' });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  const paths = Array.from({ length: 5_100 }, (_, user) => ({
    scope: `u:${String(user).padStart(5, '0')}` as const,
    path: user % 2_500 === 99 ? 'rare.md' : 'other.md',
  }));
  await Promise.all(paths.map((key) => write(storage, key, 'text')));
  for (const [contains, limit, least] of [
    ['rare', 2, 2],
    ['rare', 500, 2],
    ['nothing', 500, 2],
    ['', 500, 11],
  ] as const) {
    for (const order of ['asc', 'desc'] as const) {
      const found: string[] = [];
      let pages = 0;
      for (let after: PageRequest['after'] = null; ;) {
        const page: Awaited<ReturnType<typeof storage.files.listAll>> = await storage.files.listAll(
          { contains },
          { sort: 'path', limit, order, after },
        );
        found.push(...page.items.map(({ scope }) => scope));
        pages += 1;
        if (page.next === null) break;
        after = page.next;
      }
      const expected = paths.filter(({ path }) => path.includes(contains));
      const scopes = expected.map(({ scope }) => scope);
      expect(found).toEqual(order === 'asc' ? scopes : scopes.reverse());
      expect(pages).toBeGreaterThanOrEqual(least);
    }
  }
});
