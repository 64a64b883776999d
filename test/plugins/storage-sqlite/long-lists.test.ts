import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { AccessRecord } from '../../../core/contracts/records.ts';
import type { AccessFilter, PageRequest } from '../../../core/contracts/storage.ts';
import { EXAMINED_ROWS } from '../../../core/storage/read/page.ts';
import { quiet } from '../../support/quiet-log.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { accessRow, write } from '../../support/rows.ts';
import { sqlite } from '../../support/databases.ts';

const key = { scope: 'u:alice', path: 'rare.md' } as const;

it('lets a page come short where few rows pass, and skips and repeats none', async () => {
  const storage = sqlite({
    filename: join(await temporaryDirectory(), 'memory.db'),
    driver: 'better-sqlite3',
    synchronous: 'normal',
  });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  await write(storage, key, 'text');
  // Half of the rows have no file; one in 9,000 has the path that is asked for, one in 7,000 the file.
  const rows = Array.from({ length: 2 * EXAMINED_ROWS + 5_000 }, (_, index): AccessRecord => {
    const isOfFile = index % 7_000 === 0;
    return accessRow('u:alice', {
      path: isOfFile || index % 9_000 === 1 ? key.path : 'other.md',
      fileNo: isOfFile ? 1 : null,
      actor: index % 8_000 === 5 ? 'rare' : 'agent',
      outcome: isOfFile ? 'ok' : 'not_found',
    });
  });
  for (let from = 0; from < rows.length; from += 5_000) {
    await storage.log.append({ access: rows.slice(from, from + 5_000), events: [] });
  }
  const cases: [AccessFilter, (row: AccessRecord) => boolean][] = [
    [{ actor: 'rare' }, (row) => row.actor === 'rare'],
    [{ actor: 'rare', scope: 'u:alice' }, (row) => row.actor === 'rare'],
    [{ path: key, tool: 'memory_read' }, (row) => row.path === key.path],
    [{ path: key, tool: 'memory_read', actor: 'rare' }, () => false],
    [{ actor: 'nobody' }, () => false],
  ];
  for (const [filter, passes] of cases) {
    for (const order of ['asc', 'desc'] as const) {
      for (const limit of [1, 2, 500]) {
        const found: string[] = [];
        let shortPages = 0;
        for (let after: PageRequest['after'] = null; ;) {
          const page: Awaited<ReturnType<typeof storage.log.listAccess>> =
            await storage.log.listAccess(filter, { limit, order, after });
          found.push(...page.items.map(({ id }) => id));
          if (page.next === null) break;
          if (page.items.length < limit) shortPages += 1;
          after = page.next;
        }
        const expected = rows.filter(passes).map(({ id }) => id);
        expect(found).toEqual(order === 'asc' ? expected : expected.reverse());
        // The rows behind the end of a page are not read for it.
        if (limit === 500) expect(shortPages).toBe(2);
      }
    }
  }
});
