import type { Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, openConsole } from './support/console.ts';

/** Types into the palette, and presses Enter on what it offers. */
async function take(page: Page, text: string, option: string | RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Go to a view, a file or a user…').fill(text);
  await page
    .getByRole('option', { name: option })
    .and(page.locator('[data-highlighted]'))
    .waitFor();
  await page.keyboard.press('Enter');
}

describe('the command palette', () => {
  it('finds users and files of the service, and runs commands', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const path = 'user/notes/harvest.md';
    await call(service.core, 'alice', 'memory_write', { path, content: 'Grapes.\n' });
    await visit('/activity');
    await page.getByText('Wrote harvest.md').waitFor();
    await take(page, 'harvest', 'users/alice/notes/harvest.md');
    await page.getByText('Grapes.').waitFor();
    await take(page, 'alic', /^alice/);
    await expectUrl(page, 'folder=users');
    await page.getByRole('tree').getByText('notes').waitFor();
    await take(page, 'langchain', 'Code for LangChain');
    await page.getByRole('region', { name: 'LangChain snippet' }).waitFor();
    // Enter at once waits for what is typed, however slow the answer is.
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a view, a file or a user…').fill('harvest');
    await page.keyboard.press('Enter');
    await expectUrl(page, 'harvest.md');
    await take(page, 'maxFilesPerUser', /limits\.maxFilesPerUser/);
    await page.getByRole('region', { name: 'Limits' }).waitFor();
    await take(page, 'profile.md', 'Write user/profile.md in the Playground');
    await expectUrl(page, 'tool=memory_write');
    await take(page, 'prune', 'Prune old revisions');
    await page.getByRole('dialog', { name: 'Prune old revisions' }).waitFor();
    expectNoProblems(opened);
  });
});
