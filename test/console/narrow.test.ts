import { describe, expect, it } from 'vitest';
import { openDreams, operation } from '../plugins/dreaming/dream-service.ts';
import { call } from '../support/service.ts';
import { expectNoProblems, go, openConsole, settled } from './support/console.ts';

const VIEWS: [path: string, shown: string][] = [
  ['/', 'Latest revisions'],
  [
    '/files?path=users/alice/projects/of-this-year/a-name-that-is-long.md',
    'Nearby files, 24 hours',
  ],
  ['/files?q=tea&in=contents', '1 file shown'],
  ['/files?q=tea&in=contents&userId=alice', '1 file shown'],
  ['/search?q=tea', 'searched'],
  ['/users?hygiene=yes', 'checked, the worst first'],
  ['/revisions', 'Prune…'],
  ['/revisions?path=users/alice/projects/of-this-year/a-name-that-is-long.md', 'Path'],
  ['/compare?userId=alice&from=2020-01-01T00:00:00.000Z', '2 files changed'],
  ['/activity', 'Wrote a-name-that-is-long.md'],
  ['/activity?rows=each', 'write'],
  ['/observability', 'Top accessed files'],
  ['/playground?tool=memory_patch&show=code', 'A POSIX shell'],
  ['/playground?tool=memory_patch&spaces=a-space-whose-id-is-long:read', 'Add a space'],
  ['/users?do=erase-prefix', 'What their ids start with'],
  ['/dreams', '1 shown'],
  ['/dreams?tab=runs', '1 shown'],
  ['/dreams?tab=users', '1 shown'],
  ['/dreams?tab=settings', 'Waiting time, days'],
  ['/usage?since=2020-01-01T00:00:00.000Z', 'By user and space'],
  ['/checks', 'No checks yet'],
  ['/checks?tab=edit', 'What checks can say'],
  ['/configuration?show=all', 'What works, and what is missing'],
  ['/audit', 'files.write'],
  ['/spaces', 'No spaces yet'],
  ['/spaces?do=new', 'Metadata'],
  ['/access', 'No named keys yet'],
  ['/access?do=new', 'Calls a minute'],
  ['/access?tab=operators', 'Named operators'],
];

/** What stands beyond the screen's right edge, unless it is in a part that scrolls by itself. */
const BEYOND = `[...document.querySelectorAll('#view *')]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1)
  .filter((element) => {
    let above = element.parentElement;
    while (above && above.id !== 'view' && !/auto|scroll|hidden|clip/.test(getComputedStyle(above).overflowX)) above = above.parentElement;
    return !above || above.id === 'view';
  })
  .map((element) => element.outerHTML.slice(0, 120))`;

/** What stands over the cell beside its own. */
const OVER_OTHERS = `[...document.querySelectorAll('#view td *')]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > element.closest('td').getBoundingClientRect().right + 1)
  .map((element) => element.outerHTML.slice(0, 120))`;

describe('on a narrow screen', () => {
  it('no view is wider than it, and what can be done is within reach', async () => {
    const service = await openDreams();
    const path = 'user/projects/of-this-year/a-name-that-is-long.md';
    await call(service.core, 'alice', 'memory_write', { path, content: 'tea, medication\n' });
    service.say(() => ({
      operations: [
        operation({
          kind: 'reword',
          remove: [{ path, line: 1, text: 'tea, medication' }],
          add: {
            path,
            heading: null,
            lines: ['tea, medication-with-a-name-that-is-long-and-does-not-break-anywhere-at-all'],
          },
        }),
      ],
    }));
    await service.admin('PUT', 'files/users/alice/a.md', { content: 'coffee\n' });
    const opened = await openConsole({
      service,
      context: { viewport: { width: 390, height: 844 } },
    });
    const { page } = opened;
    const run = await service.dream('alice');
    for (const [view, shown] of [...VIEWS, [`/dreams?run=${run.id}`, 'Full record'] as const]) {
      await go(page, view);
      await page.getByText(shown).first().waitFor();
      await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
      await settled(page);
      expect(await page.evaluate(BEYOND), view).toEqual([]);
      // Also the frame around it, with what only screen readers read.
      expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBe(390);
      expect(await page.evaluate(OVER_OTHERS), view).toEqual([]);
    }

    // The search of the files is hidden behind an open one: the palette takes its key.
    await go(page, '/files?path=users/alice/a.md');
    await page.getByText('coffee').waitFor();
    await page.keyboard.press('/');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    await palette.waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });

    await go(page, '/playground?show=code');
    const copy = page.getByRole('button', { name: 'Copy the snippet' });
    const code = page.getByRole('region', { name: 'curl snippet' });
    const [button, text] = [await copy.boundingBox(), await code.boundingBox()];
    expect((button?.y ?? NaN) + (button?.height ?? NaN)).toBeLessThanOrEqual(text?.y ?? NaN);

    await go(page, '/dreams?tab=users');
    await page.getByRole('button', { name: 'Actions for alice' }).click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await page
      .getByRole('row', { name: /alice/ })
      .getByText('paused', { exact: true })
      .first()
      .waitFor();
    expectNoProblems(opened);
  });
});
