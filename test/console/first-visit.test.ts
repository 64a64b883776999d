import { describe, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, go, openConsole } from './support/console.ts';

describe('the first visit', () => {
  it('leads from nothing to a memory, a find, an agent and a trace, each step ticking itself', async () => {
    const opened = await openConsole();
    const { page, service } = opened;
    await page.getByText('No memory yet').waitFor();
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('0 of 4 done').waitFor();
    await steps.getByRole('link', { name: 'Write it' }).click();
    await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
    // From the first memory to the file.
    await page.getByRole('link', { name: 'Open users/alice/profile.md' }).click();
    await page.getByText('Prefers tea to coffee.').first().waitFor();
    await go(page, '/');
    await steps.getByText('1 of 4 done').waitFor();
    await steps.getByRole('link', { name: 'Find it' }).click();
    await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
    await page.getByRole('region', { name: 'the answer' }).waitFor();
    await call(service.core, 'alice', 'memory_list', {});
    await go(page, '/');
    await steps.getByText('3 of 4 done').waitFor();
    await steps.getByRole('link', { name: 'Open the activity' }).click();
    await page.locator('[data-row]').first().click();
    await page.getByRole('dialog', { name: 'Tool call' }).waitFor();
    await page.keyboard.press('Escape');
    await go(page, '/');
    await steps.getByText('4 of 4 done').waitFor();
    await steps.getByRole('button', { name: 'Done' }).click();
    await steps.waitFor({ state: 'hidden' });
    expectNoProblems(opened);
  });
});
