import { describe, expect, it } from 'vitest';
import type { AdminRevisionDetail } from '../../core/contracts/admin.ts';
import { toStory } from '../../console/src/incident.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectFocus,
  expectNoProblems,
  openConsole,
  textOf,
} from './support/console.ts';

const PATH = 'users/anna/suppliers.md';
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** A forged mail changed a supplier's account; others read it and wrote more. */
async function poisoned() {
  const opened = await openConsole();
  const { core } = opened.service;
  const tool = (name: string, args: object, actor: string, traceparent?: string) =>
    call(core, 'anna', name, args, {
      actor,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
  const content = '# Suppliers\n\n- Acme: account 12-34\n- Borealis: account 56-78\n';
  await tool('memory_write', { path: 'user/suppliers.md', content }, 'assistant');
  await tool('memory_write', { path: 'user/mail.md', content: 'We have `moved`.\n' }, 'assistant');
  await tool('memory_read', { path: 'user/mail.md' }, 'mail-agent');
  const edits = [{ oldText: '12-34', newText: '99-99' }];
  const patch = { path: 'user/suppliers.md', edits, reason: 'Acme wrote that it changed.' };
  await tool('memory_patch', patch, 'mail-agent');
  await core.queue.flush();
  await tool('memory_read', { path: 'user/suppliers.md' }, 'billing-agent', TRACE);
  const payments = { path: 'user/payments.md', content: '1,200 EUR to 99-99\n' };
  await tool('memory_write', payments, 'billing-agent', TRACE);
  await tool('memory_read', { path: 'user/suppliers.md', startLine: 3, endLine: 3 }, 'planner');
  await core.queue.flush();
  await tool('memory_write', { path: 'user/plans.md', content: 'Call Acme.\n' }, 'planner');
  // Read another line, and wrote.
  await tool('memory_read', { path: 'user/suppliers.md', startLine: 4, endLine: 4 }, 'bystander');
  await tool('memory_write', { path: 'user/other.md', content: 'x\n' }, 'bystander');
  await core.queue.flush();
  return opened;
}

describe('an incident', () => {
  it('is followed from a line of the blame gutter, reverted after a preview, and told as markdown', async () => {
    const opened = await poisoned();
    const { page, service, visit } = opened;
    await visit(`/files?path=${PATH}&as=blame`);
    // By the keyboard: the third line from the top.
    const follow = page.getByRole('link', { name: 'Follow line 3' });
    await follow.waitFor();
    for (let row = 0; row < 3; row += 1) await page.keyboard.press('j');
    await expectFocus(follow);
    await page.keyboard.press('Enter');

    const panel = page.getByRole('dialog', { name: 'Incident' });
    await panel.getByText('- Acme: account 99-99').waitFor();
    const writer = panel.getByRole('region', { name: 'Who wrote it' });
    await writer.getByText('mail-agent').waitFor();
    await writer.getByText('“Acme wrote that it changed.”').waitFor();
    await writer.getByRole('link', { name: 'users/anna/mail.md' }).waitFor();
    const shown = panel.getByRole('region', { name: 'Who was shown it since' });
    await expectCount(shown.getByRole('link'), 2);
    await shown
      .getByRole('link', { name: /billing-agent.*memory_read.*version 2, line 3/ })
      .waitFor();
    await shown.getByRole('link', { name: /planner.*memory_read.*version 2, line 3/ }).waitFor();
    const written = panel.getByRole('region', { name: 'What they wrote afterwards' });
    await expectCount(written.getByRole('checkbox'), 2);
    const certain = written.getByLabel('Revert what billing-agent wrote to users/anna/payments.md');
    const probable = written.getByLabel('Revert what planner wrote to users/anna/plans.md');
    expect([await certain.isChecked(), await probable.isChecked()]).toEqual([true, false]);
    await expectCount(panel.getByText(/They may have written more/), 0);

    await panel.getByRole('button', { name: 'Revert the 2 writes chosen…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert the chosen writes?' });
    await dialog.getByText('2 files would be put back, 0 left as they are.').waitFor();
    await dialog.getByText('- Acme: account 12-34').waitFor();
    await dialog.getByRole('button', { name: 'Revert 2 files' }).click();
    const receipt = page.getByRole('dialog', { name: 'Reverted' });
    await receipt.getByText('2 files put back, 0 left as they are.').waitFor();
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await receipt.waitFor({ state: 'detached' });
    const { file } = await service.core.fileLists.file(PATH, {});
    expect(file.content).toContain('Acme: account 12-34');
    await expect(service.core.fileLists.file('users/anna/payments.md', {})).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
    });
    expect((await service.core.fileLists.file('users/anna/plans.md', {})).file.version).toBe(1);

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      panel.getByRole('button', { name: 'Export the story' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('incident-suppliers-line-3.md');
    const story = await textOf(download);
    expect(story).not.toContain('They may have written more');
    expect(story).toContain(
      '# Incident: `users/anna/suppliers.md`, line 3\n\n```\n- Acme: account 99-99',
    );
    expect(story).toMatch(/`mail-agent` wrote `users\/anna\/suppliers\.md`, version 2/);
    expect(story).toMatch(/- after reading `users\/anna\/mail\.md` \(probably\)/);
    expect(story).toMatch(/`billing-agent` for `anna`, with `memory_read`, version 2, line 3/);
    expect(story).toMatch(/`planner` wrote `users\/anna\/plans\.md`, version 1 .*\(probably\)/);
    expect(story).toContain('- `users/anna/payments.md`: reverted, now version 2');
    expectNoProblems(opened);
  });

  it('opens by its address, with the call that was shown the line beside it', async () => {
    const opened = await poisoned();
    const { page, visit } = opened;
    await visit(`/files?path=${PATH}&as=blame&incident=2:3`);
    const panel = page.getByRole('dialog', { name: 'Incident' });
    await panel.getByRole('link', { name: /planner.*memory_read/ }).click();
    const call = page.getByRole('dialog', { name: 'Tool call' });
    await call.getByRole('region', { name: /^Lines shown: / }).waitFor();
    await page.keyboard.press('Escape');
    await call.waitFor({ state: 'detached' });
    await panel.getByText('- Acme: account 99-99').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    // A line that nobody was shown, of a file that nobody read.
    await visit('/files?path=users/anna/plans.md&as=blame&incident=1:1');
    await panel.getByText('No tool call was shown it.').waitFor();
    await panel.getByText('Those calls wrote nothing afterwards.').waitFor();
    await visit(`/files?path=${PATH}&incident=9:3`);
    await panel.getByText('The line could not be followed').waitFor();
    expectNoProblems(opened);
  });
});

describe('an incident with more readers than are followed', () => {
  it('says so in the panel and in its story', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const write = { path: 'user/a.md', content: 'Pays in advance.\n' };
    await call(service.core, 'anna', 'memory_write', write);
    for (let reader = 1; reader <= 41; reader += 1) {
      await call(
        service.core,
        'anna',
        'memory_read',
        { path: 'user/a.md' },
        { actor: `a${reader}` },
      );
    }
    await service.core.queue.flush();
    await visit('/files?path=users/anna/a.md&incident=1:1');
    const panel = page.getByRole('dialog', { name: 'Incident' });
    const more = 'They may have written more: only the latest 40 readers are followed';
    await panel
      .getByRole('region', { name: 'What they wrote afterwards' })
      .getByText(more)
      .waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      panel.getByRole('button', { name: 'Export the story' }).click(),
    ]);
    expect(await textOf(download)).toContain(`Nothing.\n\n${more}`);
    expectNoProblems(opened);
  });
});

describe('the story of an incident', () => {
  it('shows memory and reasons as code, which is no markup and no link', () => {
    const revision = {
      id: 'r1',
      path: 'users/anna/a.md',
      userId: 'anna',
      spaceId: null,
      version: 1,
      action: 'create' as const,
      actor: 'agent',
      operator: null,
      reason: 'see `[x](http://evil.example)`\n# Title',
      tool: null,
      toolCallId: null,
      traceId: null,
      runId: null,
      at: '2026-01-01T00:00:00.000Z',
      size: 1,
      addedLines: 1,
      removedLines: 0,
      peerId: null,
      reverts: null,
      merged: false,
      redacted: false,
      contentBefore: null,
      contentAfter: 'x',
      diff: '',
      redactedBefore: false,
      redactionId: null,
      hash: null,
      previousHash: null,
    } as const;
    const writer: AdminRevisionDetail = { ...revision, afterReading: [] };
    const story = toStory(
      {
        place: { path: 'users/anna/a.md', version: 1, line: 1 },
        text: '```\n<img src=x onerror=alert(1)>',
        blamed: null,
        writer,
        shown: [],
        isComplete: false,
        writes: [{ key: 'r1', revisions: [writer], isProbable: false }],
        hasAllWrites: true,
      },
      null,
    );
    expect(story).toContain('````\n```\n<img src=x onerror=alert(1)>\n````');
    expect(story).toContain('reason `` see `[x](http://evil.example)` # Title ``');
    expect(story).not.toMatch(/^# Title/m);
    expect(story).toContain('## Who was shown it since\n\nNobody.');
    expect(story).toContain('More calls may have been shown it');
    expect(story).toContain('## What they wrote afterwards\n\nNothing.');
  });
});
