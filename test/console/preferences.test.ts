import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectCount, expectNoProblems, openConsole } from './support/console.ts';

async function choose(page: Page, choice: string): Promise<void> {
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitemcheckbox', { name: choice }).click();
}

const expectColours = (page: Page, colours: 'light' | 'dark') =>
  page.locator(`html.${colours}`).waitFor({ state: 'attached' });

describe('what a person prefers', () => {
  it('are the colours of the system, until others are chosen, which outlive the page', async () => {
    const opened = await openConsole({ context: { colorScheme: 'dark' } });
    const { page } = opened;
    await expectColours(page, 'dark');
    await choose(page, 'Light colours');
    await expectColours(page, 'light');
    await page.reload();
    await page.getByText('No memory yet').waitFor();
    await expectColours(page, 'light');

    await choose(page, 'System colours');
    await expectColours(page, 'dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await expectColours(page, 'light');
    await choose(page, 'Dark colours');
    await expectColours(page, 'dark');
    await page.reload();
    await expectColours(page, 'dark');
    expectNoProblems(opened);
  });

  it('are days of the place where they are read, in what a prune would remove', async () => {
    // Already the next day in Tokyo.
    const calledAt = Date.parse('2026-03-08T20:00:00Z');
    const opened = await openConsole({
      context: { timezoneId: 'Asia/Tokyo' },
      config: { now: () => calledAt },
    });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    await call(service.core, 'alice', 'memory_list', {});
    await call(service.core, 'alice', 'memory_read', { path: 'user/no.md' }).catch(() => null);
    // The clock goes on: where it stands still, Vue ignores clicks.
    await page.clock.install({ time: new Date('2026-03-10T20:00:00Z') });
    await visit('/revisions?prune=yes');
    const dialog = page.getByRole('dialog', { name: 'Prune old revisions' });
    await dialog.getByLabel('Older than (days)').fill('1');
    await dialog.getByRole('button', { name: 'Count' }).click();
    await dialog.getByText('older than 10 Mar 2026').waitFor();
    await page.keyboard.press('Escape');
    await choose(page, 'Times in UTC');
    await page.getByRole('button', { name: 'Prune…' }).click();
    await dialog.getByLabel('Older than (days)').fill('1');
    await dialog.getByRole('button', { name: 'Count' }).click();
    await dialog.getByText('older than 9 Mar 2026').waitFor();
    await page.keyboard.press('Escape');

    // A bar is a day of that place, and its parts add up to all calls of the day.
    const bars = (day: string) =>
      page.getByRole('link', { name: `${day}: 3 calls (writes 1, other 1, refused 1)` });
    await visit('/');
    await bars('8 Mar').waitFor();
    await choose(page, 'Local times');
    await bars('9 Mar').click();
    const calls = page.getByRole('dialog', { name: 'Calls' });
    await calls.getByText('9 Mar 2026, 00:00:00 to 10 Mar 2026, 00:00:00 GMT+9').waitFor();
    await expectCount(calls.getByRole('listitem'), 3);
    await expectCount(calls.getByText('9 Mar, 05:00:00'), 3);
    await page.keyboard.press('Escape');
    // Events of another day say which.
    const live = page.getByRole('region', { name: 'Live events', exact: true });
    await expectCount(live.getByText('9 Mar, 05:00:00'), 3);
    const activity = page.getByRole('region', { name: 'Activity', exact: true });
    await activity.getByRole('button', { name: 'Activity: as a table' }).click();
    await activity.getByRole('row', { name: '9 Mar 3 0 0 1 1 1 0' }).getByRole('link').click();
    await expectCount(calls.getByRole('listitem'), 3);
    expectNoProblems(opened);
  });

  it('is how often the console looks again: figures by themselves, lists and open files by what came', async () => {
    const opened = await openConsole({ context: {} });
    const { page, service, visit } = opened;
    const write = (path: string, content: string) =>
      call(service.core, 'alice', 'memory_write', { path, content });
    await write('user/a.md', 'one\n');
    await page.clock.install();
    await visit('/revisions');
    await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor();
    await choose(page, 'Refresh every 10 s');
    const rows = page.getByRole('button', { name: /^Open version/ });
    const before = await rows.count();
    await write('user/b.md', 'two\n');
    await write('user/c.md', 'three\n');
    await page.clock.fastForward(11_000);
    // Rows do not move under a reader: the list says that there are more.
    await page.getByRole('button', { name: '2 new: show' }).waitFor();
    expect(await rows.count()).toBe(before);
    await page.getByRole('button', { name: '2 new: show' }).click();
    await expectCount(rows, before + 2);
    await expectCount(page.getByRole('button', { name: /new: show/ }), 0);

    await visit('/files?path=users/alice/a.md');
    await page.getByText('one', { exact: true }).waitFor();
    await write('user/a.md', 'four\n');
    await page.clock.fastForward(11_000);
    const changed = page.getByRole('status').filter({ hasText: 'Version 2 was written by agent' });
    await changed.waitFor();
    await page.getByText('one', { exact: true }).waitFor();
    await changed.getByRole('button', { name: 'Show it' }).click();
    await page.getByText('four', { exact: true }).waitFor();
    await expectCount(changed, 0);

    await visit('/');
    const tile = page.getByRole('link', { name: /^Memory files/ });
    await tile.getByText('3', { exact: true }).waitFor();
    await write('user/d.md', 'five\n');
    await page.clock.fastForward(11_000);
    await tile.getByText('4', { exact: true }).waitFor();
    expectNoProblems(opened);
  });

  it('are times of the place where they are read, or UTC, which says so', async () => {
    const opened = await openConsole({ context: { timezoneId: 'Asia/Tokyo' } });
    const { page, service, visit } = opened;
    const { core } = service;
    const { result } = await call<{ revisionId: string }>(core, 'alice', 'memory_write', {
      path: 'user/a.md',
      content: 'tea\n',
    });
    const { items } = await core.revisions.list({ limit: 1 });
    const written = (timeZone: string) =>
      new Date(items[0]?.at ?? '').toLocaleTimeString('en-GB', { timeZone });
    await visit(`/revisions?id=${result.revisionId}`);
    const time = page.getByRole('article', { name: 'Revision' }).getByRole('time').first();
    await time.and(page.getByText(`${written('Asia/Tokyo')} GMT+9`)).waitFor();
    await choose(page, 'Times in UTC');
    await time.and(page.getByText(`${written('UTC')} UTC`)).waitFor();
    await page.reload();
    await time.and(page.getByText(`${written('UTC')} UTC`)).waitFor();
    await choose(page, 'Local times');
    await time.and(page.getByText(written('Asia/Tokyo'))).waitFor();
    expectNoProblems(opened);
  });
});
