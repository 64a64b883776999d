import { describe, expect, it } from 'vitest';
import { ADMIN_SECRET, asAdmin, serveCore } from '../core/http/serve.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  jump,
  openConsole,
  PLAIN_HOST,
} from './support/console.ts';

const field = 'Admin secret';

describe('the admin secret', () => {
  it('opens the console, stays in memory alone, and is gone when the page is loaded again', async () => {
    const opened = await openConsole({ isUnlocked: false, path: '/files' });
    const { page } = opened;
    await page.getByLabel(field).fill('wrong');
    await page.getByRole('button', { name: 'Open the console' }).click();
    await page.getByText('That is not the admin secret.').waitFor();

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
    const { page } = await openConsole({ isUnlocked: false });
    await page.getByLabel(field).fill(ADMIN_SECRET);
    await page.getByLabel('Keep it until this tab is closed').check();
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

  it('is forgotten after 15 minutes without use', async () => {
    const { page, visit } = await openConsole();
    await page.clock.install();
    await visit('/');
    await page.getByText('No memory yet').waitFor();
    await page.clock.fastForward('14:00');
    await page.mouse.move(200, 200);
    await page.clock.fastForward('14:00');
    await page.getByText('No memory yet').waitFor();
    await page.clock.fastForward('15:01');
    await page.getByText('Locked after 15 minutes without use.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
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
    await opened.page.getByText('No revision fits the filters').waitFor();
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
    const opened = await openConsole();
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
