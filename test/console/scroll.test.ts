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
