import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openDreams } from '../plugins/dreaming/dream-service.ts';
import { call } from '../support/service.ts';
import { openConsole, settled } from './support/console.ts';

/** What moves more than this is noticed: see web.dev/articles/cls, whose limit is 0.1. */
const MOST = 0.02;
const VIEWS = [
  ...['/', '/files', '/files?path=users/alice/a.md', '/users', '/users?hygiene=yes'],
  ...['/revisions', '/compare?userId=alice', '/activity', '/activity?rows=each'],
  ...['/observability', '/observability?userId=alice', '/playground', '/audit'],
  ...['/dreams', '/dreams?tab=runs', '/dreams?tab=users', '/dreams?tab=settings'],
];

const WATCH = `window.moved = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries()) {
    moved.push({ value, what: sources.map(({ node }) => node?.outerHTML?.slice(0, 120)).join(' ') });
  }
}).observe({ type: 'layout-shift', buffered: true });`;

it.each([1440, 390])(
  'moves nothing in any view while its answers arrive one by one, %d wide',
  async (width) => {
    const service = await openDreams();
    for (let n = 0; n < 40; n += 1) {
      const content = `# Note\n\n${'- See [b](b.md).\n'.repeat(30)}`;
      await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content });
      await call(service.core, `user-${n}`, 'memory_write', { path: `user/${n}.md`, content });
      await call(service.core, 'alice', 'memory_read', { path: `user/no-${n}.md` }).catch(
        () => undefined,
      );
    }
    await service.core.queue.flush();
    const opened = await openConsole({
      service,
      path: '/nowhere',
      script: WATCH,
      context: { viewport: { width, height: 900 }, reducedMotion: 'reduce' },
    });
    const { page, visit } = opened;
    await answerOneByOne(page);
    const found: Record<string, unknown> = {};
    for (const view of VIEWS) {
      await visit(view);
      await page.locator('h1').first().waitFor({ state: 'attached' });
      await settled(page);
      const moved = await page.evaluate<{ value: number; what: string }[]>('moved');
      const sum = moved.reduce((total, { value }) => total + value, 0);
      if (sum > MOST) found[view] = moved.filter(({ value }) => value > MOST / 10);
    }
    expect(found).toEqual({});
  },
);

/** The first answer of a view comes after the others, each of which waits for the one before. */
async function answerOneByOne(page: Page): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  await page.route(/\/v1\/admin\/(?!.*\/stream)/, (route) => {
    last = last
      .then(() => new Promise((resolve) => setTimeout(resolve, 60)))
      .then(() => route.continue())
      .catch(() => undefined);
    return last as Promise<void>;
  });
}
