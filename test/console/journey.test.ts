import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

describe('an operator who hears of a wrong answer', () => {
  it('finds the fact, sees who wrote it and why, reverts it, and the agent reads the right one', async () => {
    const opened = await openConsole();
    const { page, service } = opened;
    const { core } = service;
    await call(core, 'alice', 'memory_write', {
      path: 'user/profile.md',
      content: '# Alice\n\n- Vegetarian\n- Lives in Porto\n',
      reason: 'She introduced herself.',
    });
    const wrong = await call(core, 'alice', 'memory_patch', {
      path: 'user/profile.md',
      edits: [{ oldText: 'Vegetarian', newText: 'Eats everything' }],
      reason: 'Guessed from a restaurant booking.',
    });
    await call(core, 'bob', 'memory_write', { path: 'user/profile.md', content: '# Bob\n' });

    // The fact.
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    const tree = page.getByRole('tree', { name: 'Memory files' });
    await tree.getByRole('treeitem', { name: /users/ }).click();
    await tree.getByRole('treeitem', { name: /alice/ }).click();
    await tree.getByRole('treeitem', { name: /profile\.md/ }).click();
    await page.getByText('Eats everything').waitFor();

    // Who, and why.
    const about = page.getByRole('complementary', { name: 'About this file' });
    await about.getByText('Guessed from a restaurant booking.').click();
    const revision = page.getByRole('article', { name: 'Revision' });
    await revision.getByText('“Guessed from a restaurant booking.”').waitFor();
    await revision.getByText('agent', { exact: true }).first().waitFor();
    await revision.getByRole('link', { name: wrong.toolCallId }).click();
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await panel.getByText('Wrote profile.md').first().waitFor();
    await panel.getByText('memory_patch').first().waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });

    // Undone, after a look at what that changes.
    await revision.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.getByText('- Vegetarian').waitFor();
    await dialog.getByRole('button', { name: 'Revert' }).click();
    const receipt = page.getByRole('dialog', { name: 'Reverted' });
    await receipt.getByText('v3').waitFor();
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await receipt.waitFor({ state: 'detached' });

    // And the agent?
    const read = await call<{ content: string }>(core, 'alice', 'memory_read', {
      path: 'user/profile.md',
    });
    expect(read.result.content).toBe('# Alice\n\n- Vegetarian\n- Lives in Porto\n');
    await page.getByRole('row').filter({ hasText: 'admin' }).first().waitFor();
    expectNoProblems(opened);
  });
});
