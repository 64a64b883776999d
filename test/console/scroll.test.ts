import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

describe('a list', () => {
  it('is where it was scrolled to when the operator comes back to it', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    for (let n = 100; n < 180; n += 1) {
      const path = `user/note-${n}.md`;
      await call(core, `user-${n}`, 'memory_write', { path, content: 'tea\n' });
    }
    await core.queue.flush();
    for (const { view, label, link } of [
      { view: '/activity?rows=each', label: 'Accesses', link: 'users/user-110/note-110.md' },
      { view: '/users?sort=userId&order=asc', label: 'List of users', link: 'user-140' },
    ]) {
      await visit(view);
      const list = page.getByRole('region', { name: label });
      const target = list.getByText(link, { exact: true }).first();
      await list.getByText('user').first().waitFor();
      // Rows out of view may not be drawn.
      await list.evaluate((element) => element.scrollTo(0, 1_000));
      await target.scrollIntoViewIfNeeded();
      const before = await list.evaluate(({ scrollTop }) => scrollTop);
      expect(before).toBeGreaterThan(500);
      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('heading', { name: 'Tool Playground' }).waitFor();
      await page.goBack();
      await list.waitFor();
      await expect.poll(() => list.evaluate(({ scrollTop }) => scrollTop)).toBe(before);
    }
    expectNoProblems(opened);
  });
});

describe('the files', () => {
  it('are where they were scrolled to when the operator comes back: tree, searches and content', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const lines = Array.from({ length: 200 }, (_, n) => `Tea number ${n}\n`);
    for (let n = 100; n < 180; n += 1) {
      const path = `user/notes/tea-${n}.md`;
      await call(service.core, 'alice', 'memory_write', { path, content: lines.join('') });
    }
    const file = 'path=users/alice/notes/tea-100.md';
    for (const [address, selector, shown] of [
      ['/files?folder=users/alice/notes/', '[role=tree]', 'tea-101.md'],
      ['/files?q=tea', '[aria-label="Found files"]', 'tea-101.md'],
      ['/files?q=tea&in=contents', '[aria-label="Found lines"]', 'tea-101.md'],
      [`/files?${file}`, '[data-scroll=content]', 'Tea number 7'],
    ] as const) {
      await visit(address);
      const part = page.locator(selector);
      await part.getByText(shown, { exact: true }).waitFor();
      await part.evaluate((element) => element.scrollTo(0, 500));
      await expect
        .poll(() => part.evaluate(({ scrollTop }) => scrollTop), { message: address })
        .toBe(500);
      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('heading', { name: 'Tool Playground' }).waitFor();
      await page.goBack();
      await part.waitFor();
      await expect
        .poll(() => part.evaluate(({ scrollTop }) => scrollTop), { message: address })
        .toBe(500);
    }

    await page.setViewportSize({ width: 390, height: 844 });
    await visit(`/files?${file}`);
    const pane = page.locator('[data-scroll=file]');
    await pane.getByText('Tea number 7', { exact: true }).waitFor();
    await pane.evaluate((element) => element.scrollTo(0, 500));
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await page.goBack();
    await pane.waitFor();
    await expect.poll(() => pane.evaluate(({ scrollTop }) => scrollTop)).toBe(500);
    expectNoProblems(opened);
  });
});
