import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openDreams } from '../plugins/dreaming/dream-service.ts';
import { call } from '../support/service.ts';
import {
  expectFocus,
  expectNoProblems,
  go,
  jump,
  openConsole,
  settled,
} from './support/console.ts';

const VIEWS: [path: string, shown: string][] = [
  ['/', 'Latest revisions'],
  ['/files?path=users/alice/a.md', 'Nearby files, 24 hours'],
  ['/files?path=users/alice/a.md&as=blame', 'Nearby files, 24 hours'],
  ['/revisions', 'Prune…'],
  ['/compare?userId=alice&from=2020-01-01T00:00:00.000Z&file=users/alice/a.md', 'Whole file'],
  ['/activity?rows=each', 'memory_write'],
  ['/observability', 'Top accessed files'],
  ['/playground?tool=memory_patch', 'Patch a memory file'],
  ['/dreams', 'Nothing waits'],
  ['/dreams?tab=users', 'Run now'],
  ['/dreams?tab=settings', 'Waiting time, days'],
  ['/audit', 'files.write'],
];

/** Numbers what Tab is to reach, and gives how many that are. */
const NUMBER_STOPS = `(() => {
  const wanted = 'a[href], button, input, select, textarea, summary, [tabindex="0"], [contenteditable=true]';
  const all = [...document.querySelectorAll(wanted)].filter((element) =>
    !element.disabled && element.tabIndex >= 0 && element.checkVisibility() && !element.closest('[inert]'));
  document.querySelectorAll('[data-stop]').forEach((element) => delete element.dataset.stop);
  all.forEach((element, index) => (element.dataset.stop = String(index)));
  document.activeElement?.blur?.();
  return all.length;
})()`;
const STOP = `document.activeElement?.dataset?.stop ?? null`;
/** What can be pressed with a pointer, and neither has the focus nor stands in what can have it. */
const POINTER_ONLY = `[...document.querySelectorAll('#view *')]
  .filter((element) => getComputedStyle(element).cursor === 'pointer' && element.checkVisibility())
  .filter((element) => !element.closest('a[href], button, input, select, textarea, summary, label, [tabindex], [role=tree]'))
  .map((element) => element.outerHTML.slice(0, 120))`;

async function filled() {
  const service = await openDreams();
  await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
  await service.admin('PUT', 'files/users/alice/a.md', { content: 'coffee\n' });
  return service;
}

/** Presses Tab until the button that is named has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true });
  await button.and(page.locator(':enabled')).first().waitFor();
  for (let step = 0; step < 150; step += 1) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate(
      `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim()`,
    );
    if (label === name) return;
  }
  throw new Error(`Tab does not come to ${name}.`);
}

describe('by the keyboard alone', () => {
  it('every control of every view is reached, and nothing is there for a pointer only', async () => {
    const opened = await openConsole({ service: await filled() });
    const { page } = opened;
    for (const [path, shown] of VIEWS) {
      await go(page, path);
      await page.getByText(shown).first().waitFor();
      await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
      await settled(page);
      expect(await page.evaluate(POINTER_ONLY), path).toEqual([]);
      const stops = Number(await page.evaluate(NUMBER_STOPS));
      const reached = new Set<unknown>();
      for (let step = 0; step < stops + 5; step += 1) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(STOP));
      }
      const missed = Array.from({ length: stops }, (_, stop) => String(stop)).filter(
        (stop) => !reached.has(stop),
      );
      const names = await Promise.all(
        missed.map((stop) => page.locator(`[data-stop="${stop}"]`).evaluateAll(String)),
      );
      expect(names, path).toEqual([]);
    }
    expectNoProblems(opened);
  });

  it('a wrong change is found, looked at and reverted', async () => {
    const service = await filled();
    const opened = await openConsole({ service });
    const { page } = opened;
    await page.getByText('Latest revisions').waitFor();
    await jump(page, 'g', 'r');
    await page.getByRole('button', { name: 'Open version 2 of users/alice/a.md' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'Revision' }).waitFor();
    await tabTo(page, 'Revert…');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Revert 1 file' }).waitFor();
    await tabTo(page, 'Revert 1 file');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Reverted' }).waitFor();
    expect(await service.read('alice', 'user/a.md')).toBe('tea\n');
    expectNoProblems(opened);
  });

  it('a filter is set by its menu, taken away again, and a panel closes with Escape', async () => {
    const opened = await openConsole({ service: await filled(), path: '/activity' });
    const { page } = opened;
    await page.getByText('Wrote a.md').first().waitFor();
    await tabTo(page, 'Filter');
    await page.keyboard.press('Enter');
    await expectFocus(page.getByRole('menuitem').first());
    await page.keyboard.type('ac');
    await expectFocus(page.getByRole('menuitem', { name: 'Actor' }));
    await page.keyboard.press('Enter');
    await expectFocus(page.getByRole('combobox', { name: 'Actor' }));
    await page.keyboard.type('agent');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Change the filter Actor: agent' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await panel.waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await tabTo(page, 'Remove the filter Actor');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Change the filter/ }).waitFor({ state: 'detached' });
    expectNoProblems(opened);
  });

  it('a revision, a comparison and a changed file close with Escape, after what is in front of them', async () => {
    const opened = await openConsole({ service: await filled() });
    const { page, visit } = opened;
    await visit('/revisions');
    await page.getByRole('button', { name: 'Open version 2 of users/alice/a.md' }).click();
    const revision = page.getByRole('article', { name: 'Revision' });
    await page.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    const menu = page.getByRole('menu');
    await expectFocus(menu.getByRole('menuitem').first());
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await menu.getByRole('menuitem', { name: 'Actor' }).click();
    const field = page.getByRole('combobox', { name: 'Actor' });
    await field.fill('agent');
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await revision.waitFor();
    await page.keyboard.press('Escape');
    await revision.waitFor({ state: 'detached' });

    await page.getByLabel('Compare version 1 of users/alice/a.md').check();
    await page.getByLabel('Compare version 2 of users/alice/a.md').check();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    const comparison = page.getByRole('article', { name: 'Comparison' });
    await comparison.waitFor();
    await page.keyboard.press('Escape');
    await comparison.waitFor({ state: 'detached' });

    await visit('/compare?userId=alice&from=2020-01-01T00:00:00.000Z&file=users/alice/a.md');
    const file = page.getByRole('article', { name: 'Changed file' });
    await file.waitFor();
    await page.keyboard.press('Escape');
    await file.waitFor({ state: 'detached' });
    expectNoProblems(opened);
  });

  it('keys that are quicker than the rows hold for them when they come', async () => {
    const opened = await openConsole({ service: await filled() });
    const { page } = opened;
    await page.getByText('Latest revisions').waitFor();
    await settled(page);
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/v1/admin/revisions?**', async (route) => {
      await held;
      await route.continue();
    });
    await jump(page, 'g', 'r');
    await page
      .getByRole('region', { name: 'List of revisions' })
      .getByText('Loading', { exact: true })
      .waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    answer();
    await page.getByRole('article', { name: 'Revision' }).getByText('version 1').waitFor();
    expectNoProblems(opened);
  });
});
