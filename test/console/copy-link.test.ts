import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole, PLAIN_HOST } from './support/console.ts';

const NAME = 'Copy the link to this screen';
const WITH_CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
const press = (page: Page) => page.getByRole('button', { name: NAME }).click();
const clipboard = (page: Page) => page.evaluate('navigator.clipboard.readText()');

describe('the link to a screen', () => {
  it('is copied in each panel, and in each dialog that has an address', async () => {
    const opened = await openConsole({ context: WITH_CLIPBOARD });
    const { page, service, visit } = opened;
    const write = { path: 'user/a.md', content: 'tea\n' };
    const written = await call<{ revisionId: string }>(
      service.core,
      'alice',
      'memory_write',
      write,
    );
    await service.core.queue.flush();
    const { revisionId } = written.result;
    const calls = 'callsSince=2020-01-01T00:00:00.000Z&callsUntil=2100-01-01T00:00:00.000Z';
    for (const [path, title] of [
      [`/activity?call=${written.toolCallId}`, 'Tool call'],
      [`/activity?trace=${written.traceId}`, 'Trace'],
      ['/files?path=users/alice/a.md&incident=1:1', 'Incident'],
      [`/observability?${calls}`, 'Calls'],
      ['/users?user=alice', 'alice'],
      ['/users?user=alice&do=erase', 'Erase alice?'],
      ['/users?user=alice&do=export', 'Export the memory of alice'],
      ['/users?do=import', 'Import memory'],
      ['/files?new=yes', 'New memory file'],
      ['/revisions?prune=yes', 'Prune old revisions'],
      [`/revisions?id=${revisionId}&redact=yes`, 'Redact this revision?'],
      ['/revisions?actor=agent&since=24h&revert=yes', 'Revert these writes?'],
    ] as const) {
      await visit(path);
      const front = page.getByRole('dialog', { name: title, exact: true });
      await front.getByRole('button', { name: NAME }).click();
      await expect.poll(() => clipboard(page), { message: path }).toBe(page.url());
      expect(page.url()).toContain(path);
    }
    expectNoProblems(opened);
  });

  it('is copied where a file takes the whole of a narrow screen', async () => {
    const context = { ...WITH_CLIPBOARD, viewport: { width: 390, height: 844 } };
    const opened = await openConsole({ context });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
    await visit('/files?path=users/alice/a.md');
    await page.getByText('tea', { exact: true }).waitFor();
    await press(page);
    await expect.poll(() => clipboard(page)).toBe(page.url());
    expectNoProblems(opened);
  });

  it('is copied in a panel on plain http too', async () => {
    const opened = await openConsole({ host: PLAIN_HOST });
    const { page, service, visit } = opened;
    const { toolCallId } = await call(service.core, 'alice', 'memory_list', {});
    await service.core.queue.flush();
    await visit(`/files?call=${toolCallId}`);
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await Promise.all([
      panel.getByRole('button', { name: 'Copied the link to this screen' }).waitFor(),
      panel.getByRole('button', { name: NAME }).click(),
    ]);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    // Only a paste tells what is on the clipboard here.
    const field = page.getByRole('searchbox', { name: 'Search paths' });
    await field.focus();
    await page.keyboard.press('Control+v');
    await expect.poll(() => field.inputValue()).toContain(`/files?call=${toolCallId}`);
    expectNoProblems(opened);
  });
});
