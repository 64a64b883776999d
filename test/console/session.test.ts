import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADMIN_SECRET, asAdmin, serveCore } from '../core/http/serve.ts';
import { manualClock } from '../support/clock.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  jump,
  openConsole,
  PLAIN_HOST,
  settled,
} from './support/console.ts';

const field = 'Admin secret';

/** A console whose service and page have clocks that go by hand. */
async function openLimited({ isUnlocked = false } = {}) {
  const clock = manualClock(Date.now());
  const service = await serveCore({ now: clock.now });
  const opened = await openConsole({ service, isUnlocked, path: '/nothing', context: {} });
  const { page } = opened;
  await page.clock.install();
  await opened.visit('/');
  return {
    opened,
    service,
    async lockOut() {
      const headers = { 'x-admin-secret': 'wrong' };
      for (let count = 0; count < 10; count++) {
        expect((await service.request('GET', '/v1/admin/status', { headers })).status).toBe(401);
      }
    },
    /** From here on, time passes by `pass` alone, however busy the machine is. */
    freeze: () => page.clock.pauseAt(Date.now() + 120_000),
    async pass(seconds: number) {
      clock.advance(seconds * 1000);
      await page.clock.runFor(seconds * 1000);
    },
  };
}

/** Leads a page to another port of the same host. */
async function serveEmptyPage(page: Page): Promise<void> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

describe('the admin secret', () => {
  it('opens the console, stays in memory alone, and is gone when the page is loaded again', async () => {
    const opened = await openConsole({ isUnlocked: false, path: '/files', context: {} });
    const { page } = opened;
    await page.getByLabel(field).fill('wrong');
    await page.getByRole('button', { name: 'Open the console' }).click();
    await page.getByText('Wrong admin secret.').waitFor();

    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('No memory yet').waitFor();
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML])',
    );
    expect(kept).not.toContain(ADMIN_SECRET);
    const stores =
      '(async () => [await indexedDB.databases(), await caches.keys(), history.state])()';
    expect(JSON.stringify(await page.evaluate(stores))).not.toContain(ADMIN_SECRET);
    expect(JSON.stringify(opened.service.log.lines)).not.toContain(ADMIN_SECRET);

    await page.reload();
    await page.getByLabel(field).waitFor();
    expectNoProblems(opened);
  });

  it('is kept for the tab when its owner asks for it, until it is locked', async () => {
    const { page } = await openConsole({ isUnlocked: false, context: {} });
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.getByLabel('Remember until this tab is closed').check();
    await page.keyboard.press('Enter');
    await page.getByText('No memory yet').waitFor();
    await page.reload();
    await page.getByText('No memory yet').waitFor();
    expect(await page.evaluate('Object.keys(localStorage).join()')).not.toContain('secret');

    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Lock' }).click();
    await page.getByLabel(field).waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.reload();
    await page.getByLabel(field).waitFor();
  });

  it('is handed to a new tab by one that is unlocked, stored nowhere, and locked in both', async () => {
    const opened = await openConsole({ isUnlocked: false, context: {} });
    const { page, service } = opened;
    await page.getByLabel('Admin secret').fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('No memory yet').waitFor();
    const second = await page.context().newPage();
    await second.goto(`http://127.0.0.1:${service.port}/admin`);
    await second.getByText('No memory yet').waitFor();
    expect(await second.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(
      ADMIN_SECRET,
    );
    await second.getByRole('button', { name: /^Signed in as/ }).click();
    await second.getByRole('menuitem', { name: 'Lock' }).click();
    await page.getByText('Locked in another tab.').waitFor();
    // Nobody is left who could hand it over.
    await second.reload();
    await second.getByLabel('Admin secret').waitFor();
    expectNoProblems(opened);
  });

  it('is kept for up to 8 hours while live events are watched', async () => {
    const opened = await openConsole({ path: '/nothing', context: {} });
    const { page, visit } = opened;
    await page.clock.install();
    await visit('/observability');
    const live = page.getByRole('region', { name: 'Live events', exact: true });
    await live.getByText('live', { exact: true }).waitFor();
    for (let hours = 0; hours < 7; hours += 1) await page.clock.fastForward('01:00:00');
    await live.getByText('live', { exact: true }).waitFor();
    for (let half = 0; half < 5; half += 1) await page.clock.fastForward('00:16:00');
    await page.getByText('Locked after 8 hours of inactivity.').waitFor();
    expectNoProblems(opened);
  });

  it('is forgotten after 15 minutes without use', async () => {
    const { page, visit } = await openConsole({ context: {} });
    await page.clock.install();
    await visit('/');
    await page.getByText('No memory yet').waitFor();
    await page.clock.fastForward('14:00');
    await page.mouse.move(200, 200);
    await page.clock.fastForward('14:00');
    await page.getByText('No memory yet').waitFor();
    await page.clock.fastForward('15:01');
    await page.getByText('Locked after 15 minutes of inactivity.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('that is forgotten takes no unsaved edit with it: the edit is back after unlocking', async () => {
    const opened = await openConsole({ context: {} });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: '# A\n' });
    await page.clock.install();
    await visit('/files?path=users/alice/a.md');
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    const editor = page.getByRole('textbox', { name: 'Content of users/alice/a.md' });
    await editor.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('half a thought');
    await page.getByPlaceholder(/^Reason/).fill('Because.');
    await page.clock.fastForward('15:01');
    await page.getByText('Your unsaved changes are kept in this page.').waitFor();
    expect(await page.content()).not.toContain('half a thought');
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(
      'half a thought',
    );
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await editor.getByText('half a thought').waitFor();
    await page.getByText('not saved').waitFor();
    await page.getByRole('button', { name: 'Save (Ctrl S)' }).click();
    await page.getByText('Saved as version 2').first().waitFor();
    const { items } = await service.core.revisions.list({ path: 'users/alice/a.md' });
    expect(items[0]).toMatchObject({ version: 2, reason: 'Because.' });
    expectNoProblems(opened);
  });

  it('that is forgotten takes no new file with it that is not created, but one that was given up', async () => {
    const opened = await openConsole({ context: {} });
    const { page, service, visit } = opened;
    await page.clock.install();
    await visit('/files?new=yes');
    const dialog = page.getByRole('dialog', { name: 'New memory file' });
    await dialog.getByLabel('Physical path').fill('users/alice/plans.md');
    await dialog.getByLabel('Content', { exact: true }).fill('half a thought');
    await dialog.getByLabel('Reason (optional)').fill('Because.');
    await page.clock.fastForward('15:01');
    await page.getByText('Your unsaved changes are kept in this page.').waitFor();
    await expectCount(page.locator('textarea'), 0);
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    expect(await dialog.getByLabel('Reason (optional)').inputValue()).toBe('Because.');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'users/alice/plans.md' }).waitFor();
    const { file } = await service.core.fileLists.file('users/alice/plans.md', {});
    expect(file.content).toBe('half a thought');

    await visit('/files?new=yes');
    await dialog.getByLabel('Content', { exact: true }).fill('given up');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'New memory file' }).click();
    expect(await dialog.getByLabel('Content', { exact: true }).inputValue()).toBe('');
    expectNoProblems(opened);
  });

  it('that is forgotten takes no merge with it that is under way', async () => {
    const opened = await openConsole({ context: {} });
    const { page, service, visit } = opened;
    const write = (content: string) =>
      call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content });
    await write('one\n');
    await page.clock.install();
    await visit('/files?path=users/alice/a.md');
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    await page.getByRole('textbox', { name: 'Content of users/alice/a.md' }).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('mine ');
    await write('theirs\n');
    await page.keyboard.press('Control+s');
    const dialog = page.getByRole('dialog', { name: 'Someone else changed this file' });
    await dialog.getByRole('button', { name: 'Show the result' }).click();
    const merge = dialog.getByRole('textbox', { name: 'Result' });
    await merge.click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('both: ');
    await page.clock.fastForward('15:01');
    await page.getByText('Your unsaved changes are kept in this page.').waitFor();
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await merge.getByText('both: mine one').waitFor();
    await dialog.getByRole('button', { name: 'Save the result' }).click();
    await page.getByText('Saved as version 3').first().waitFor();
    const { file } = await service.core.fileLists.file('users/alice/a.md', {});
    expect(file.content).toBe('both: mine one\n');
    expectNoProblems(opened);
  });

  it('cannot be tried for the rest of the minute after ten wrong ones, and the page counts down', async () => {
    const { opened, lockOut, freeze, pass } = await openLimited();
    const { page } = opened;
    await page.getByLabel(field).waitFor();
    await lockOut();
    await freeze();
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('Too many wrong secrets from this address.').waitFor();
    await page.getByText('You can try again in 60 seconds.').waitFor();
    const button = page.getByRole('button', { name: 'Open the console' });
    expect(await button.isDisabled()).toBe(true);
    await pass(20);
    await page.getByText('You can try again in 40 seconds.').waitFor();
    await pass(39);
    await page.getByText('You can try again in 1 second.').waitFor();
    await pass(1);
    await expectCount(page.getByText('Too many wrong secrets'), 0);
    await page.clock.resume();
    // What was typed is still there.
    await page.keyboard.press('Enter');
    await page.getByText('No memory yet').waitFor();
    expectNoProblems(opened);
  });

  it('that is kept and no longer right is tried once, whatever the view asks for', async () => {
    const opened = await openConsole({ path: '/nothing', isUnlocked: false, context: {} });
    const { page, visit } = opened;
    const refused: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() === 401) refused.push(new URL(answer.url()).pathname);
    });
    await page.getByLabel('Admin secret').waitFor();
    refused.length = 0;
    await page.evaluate(`sessionStorage.setItem('memory-service.admin-secret', 'another one')`);
    await visit('/');
    await page.getByText('The admin secret is no longer accepted.').waitFor();
    await settled(page);
    expect(refused).toEqual(['/v1/admin/me/rights']);
  });

  it('that is kept opens the console by itself once its address may try again', async () => {
    const { opened, lockOut, freeze, pass } = await openLimited({ isUnlocked: true });
    const { page } = opened;
    await page.getByText('No memory yet').waitFor();
    await lockOut();
    // Someone else's guesses close no open console: its views say how long to wait.
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByText(/Too many wrong secrets.* Try again in 60 seconds\./).waitFor();
    await freeze();
    await page.reload();
    await page.getByText('The console tries again in 60 seconds.').waitFor();
    await expectCount(page.getByText('The service does not answer'), 0);
    await pass(60);
    await page.clock.resume();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expectNoProblems(opened);
  });

  it('is asked of nobody who has none: a page on another port locks no one out', async () => {
    const { opened, service } = await openLimited();
    const { page } = opened;
    await page.getByLabel(field).waitFor();
    const elsewhere = await page.context().newPage();
    await serveEmptyPage(elsewhere);
    const target = `http://127.0.0.1:${service.port}/v1/admin/status`;
    const asked = `(async () => {
      const outcomes = [];
      for (let count = 0; count < 12; count++) {
        for (const options of [{ mode: 'no-cors' }, { headers: { 'x-admin-secret': 'wrong' } }]) {
          outcomes.push(await fetch('${target}', options).then(() => 'read', () => 'kept from it'));
        }
      }
      return [...new Set(outcomes)];
    })()`;
    expect(await elsewhere.evaluate(asked)).toEqual(['kept from it']);
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('No memory yet').waitFor();
  });

  it('is not asked for when a proxy in front adds it', async () => {
    const opened = await openConsole({
      isUnlocked: false,
      context: { extraHTTPHeaders: { 'x-admin-secret': ADMIN_SECRET } },
    });
    await opened.page.getByText('No memory yet').waitFor();
    await opened.page.getByRole('button', { name: 'Settings' }).click();
    await opened.page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).waitFor();
    await expectCount(opened.page.getByRole('menuitem', { name: 'Lock' }), 0);
    expectNoProblems(opened);
  });
});

describe('the console', () => {
  it('works below a base path, with a link to a view several folders deep', async () => {
    const service = await serveCore({ basePath: '/apps/memory' });
    const opened = await openConsole({
      service,
      basePath: '/apps/memory',
      path: '/revisions?actor=x',
    });
    await opened.page.getByText('No revisions match the filters').waitFor();
    await opened.page.getByRole('link', { name: 'Activity', exact: true }).click();
    await expectUrl(opened.page, '/apps/memory/admin/activity');
    expectNoProblems(opened);
  });

  it('copies on plain http too, where the browser has no clipboard of its own', async () => {
    const service = await serveCore();
    await service.request('PUT', '/v1/admin/files/users/alice/a.md', {
      body: { content: 'tea' },
      headers: asAdmin,
    });
    const opened = await openConsole({
      service,
      host: PLAIN_HOST,
      path: '/files?path=users/alice/a.md',
    });
    const { page } = opened;
    // It says so for a moment: who looks later sees the button as it was.
    await Promise.all([
      page.getByRole('button', { name: 'Copied the path' }).waitFor(),
      page.getByRole('button', { name: 'Copy the path' }).click(),
    ]);
    expect(await page.evaluate('[isSecureContext, typeof navigator.clipboard]')).toEqual([
      false,
      'undefined',
    ]);
    // Only a paste tells what is on the clipboard here.
    await page.getByRole('searchbox', { name: 'Search paths' }).focus();
    await page.keyboard.press('Control+v');
    await page.waitForURL(/q=users(?:%2F|\/)alice(?:%2F|\/)a\.md/);
    expectNoProblems(opened);
  });

  it('is reached everywhere by the keyboard: palette, jumps and a list of the keys', async () => {
    const opened = await openConsole({ context: {} });
    const { page } = opened;
    await page.getByText('No memory yet').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a view, a file or a user…').fill('playgr');
    await page
      .getByRole('option', { name: /Playground/ })
      .and(page.locator('[data-highlighted]'))
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tool Playground' }).waitFor();
    await jump(page, 'g', 'r');
    await page.getByRole('heading', { name: 'Revisions' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expectNoProblems(opened);
  });
});
