import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectFocus,
  expectNoProblems,
  expectUrl,
  openConsole,
} from './support/console.ts';

describe('revisions', () => {
  it('are filtered by chips that the address holds', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'a' });
    await call(service.core, 'bob', 'memory_write', { path: 'user/b.md', content: 'b' });
    await visit('/revisions');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    const sidebar = await page.getByRole('navigation', { name: 'Views' }).boundingBox();
    await expectFocus(page.getByRole('menuitem').first());
    expect((await page.getByRole('menu').boundingBox())?.x).toBeGreaterThan(
      (sidebar?.x ?? NaN) + (sidebar?.width ?? NaN),
    );
    await page.getByRole('menuitem', { name: 'User' }).click();
    const field = page.getByRole('combobox', { name: 'User' });
    await field.fill('bob');
    await field.press('Enter');
    await page.getByRole('button', { name: 'Change the filter User: bob' }).waitFor();
    await page.getByText('users/alice/').waitFor({ state: 'hidden' });
    await expectUrl(page, 'userId=bob');
    await page.reload();
    await page.getByRole('button', { name: /Open version 1 of users\/bob\/b\.md/ }).waitFor();
    await expectCount(page.getByText('users/alice/'), 0);
    await page.getByRole('button', { name: 'Remove the filter User' }).click();
    await page.getByText('users/alice/').first().waitFor();
    expectNoProblems(opened);
  });

  it('of any two versions are compared, the older one left', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    for (const content of ['red\n', 'green\n', 'blue\n']) {
      await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content });
    }
    await visit('/revisions');
    await page.getByLabel('Compare version 3 of users/alice/a.md').check();
    await page.getByLabel('Compare version 1 of users/alice/a.md').check();
    await page.getByRole('button', { name: 'Compare' }).click();
    const diff = page.getByRole('region', { name: 'Diff: Version 1 and Version 3' });
    await diff.getByText('red').waitFor();
    await diff.getByText('blue').waitFor();
    await expectCount(diff.getByText('green'), 0);
    expectNoProblems(opened);
  });

  it('tell who was shown their content, call by call', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    const write = (content: string) =>
      call<{ revisionId: string }>(core, 'alice', 'memory_write', { path: 'user/a.md', content });
    const wrong = await write('She likes coffee.\n');
    const read = await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    const right = await write('She likes tea.\n');
    await core.queue.flush();
    await visit(`/revisions?id=${wrong.result.revisionId}`);
    await page.getByRole('button', { name: 'Who read it' }).click();
    const readers = page.getByRole('region', { name: 'Who read this content' });
    const reader = readers.getByRole('link', { name: /memory_read/ });
    await reader.waitFor();
    await reader.getByText('line 1').waitFor();
    await expectCount(readers.getByRole('link'), 1);
    await reader.click();
    await page.getByRole('dialog', { name: 'Tool call' }).getByText(read.toolCallId).waitFor();
    await visit(`/revisions?id=${right.result.revisionId}&show=readers`);
    await page.getByText('Nobody read this content').waitFor();
    expectNoProblems(opened);
  });

  it('of one actor since a time are reverted together, after a look at what becomes of each file', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const write = (path: string, content: string, actor: string) =>
      call(service.core, 'alice', 'memory_write', { path: `user/${path}`, content }, { actor });
    await write('a.md', 'good\n', 'ann');
    await write('b.md', 'good\n', 'ann');
    await write('a.md', 'poison\n', 'mallory');
    await write('b.md', 'poison\n', 'mallory');
    await write('b.md', 'poison\nmine\n', 'ann');
    await visit('/revisions?actor=mallory');
    await page.getByRole('button', { name: 'Open version 2 of users/alice/a.md' }).waitFor();
    // A revert of all that an actor ever wrote needs a time to be said.
    expect(await page.getByRole('button', { name: 'Revert these…' }).count()).toBe(0);
    await visit('/revisions?actor=mallory&since=24h');
    await page.getByRole('button', { name: 'Revert these…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert these writes?' });
    await dialog.getByText('2 files would be put back, 0 left as they are.').waitFor();
    await dialog.getByText('to be undone, the rest kept').waitFor();
    await dialog.getByText('poison').first().waitFor();
    await dialog.getByRole('button', { name: 'Revert 2 files' }).click();
    const receipt = page.getByRole('dialog', { name: 'Reverted' });
    await receipt.getByText('2 files put back, 0 left as they are.').waitFor();
    await receipt.getByText('v3').waitFor();
    await receipt.getByText('v4').waitFor();
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    const { items } = await service.core.revisions.list({ path: 'users/alice/a.md' });
    expect(items[0]).toMatchObject({ version: 3, action: 'revert', actor: 'admin' });
    expectNoProblems(opened);
  });

  it('keep what others wrote since, also after the preview', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const write = (content: string, actor: string) =>
      call<{ revisionId: string }>(
        service.core,
        'alice',
        'memory_write',
        { path: 'user/a.md', content },
        { actor },
      );
    await write('tea\n', 'ann');
    const { revisionId } = (await write('poison\n', 'mallory')).result;
    await write('poison\nmine\n', 'bob');
    await visit(`/revisions?id=${revisionId}`);
    await page.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.getByText('to be undone, the rest kept').waitFor();
    await write('poison\nmine\nours\n', 'bob');
    await dialog.getByRole('button', { name: 'Revert 1 file' }).click();
    await page.getByRole('dialog', { name: 'Reverted' }).getByText('v5').waitFor();
    const { file } = await service.core.fileLists.file('users/alice/a.md', {});
    expect(file.content).toBe('tea\nmine\nours\n');
  });

  it('offer no revert that would write nothing', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const write = (content: string) =>
      call<{ revisionId: string }>(service.core, 'alice', 'memory_write', {
        path: 'user/a.md',
        content,
      });
    await write('tea\n');
    const { revisionId } = (await write('coffee\n')).result;
    await write('tea\n');
    await visit(`/revisions?id=${revisionId}`);
    await page.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.getByText('Nothing would be written.').waitFor();
    await expectCount(dialog.getByRole('button', { name: 'Revert' }), 0);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expectNoProblems(opened);
  });

  it('of thousands of lines are drawn as far as they are seen', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const text = (word: string) =>
      Array.from({ length: 3_000 }, (_, at) => `- ${word} ${at}\n`).join('');
    const path = 'user/long.md';
    await call(service.core, 'alice', 'memory_write', { path, content: text('tea') });
    const { revisionId } = (
      await call<{ revisionId: string }>(service.core, 'alice', 'memory_write', {
        path,
        content: text('coffee'),
      })
    ).result;
    await visit(`/revisions?id=${revisionId}&lines=all`);
    const diff = page.getByRole('region', { name: /^Diff: / });
    await diff.getByText('- tea 0', { exact: true }).waitFor();
    expect(await diff.getByRole('row').count()).toBeLessThan(300);
    await diff.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await diff.getByText('- coffee 2999').waitFor();
    expectNoProblems(opened);
  });

  it('are pruned after the filter and the exact count were shown, and nothing else is', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    for (let version = 1; version <= 6; version += 1) {
      await call(service.core, 'alice', 'memory_write', {
        path: 'user/a.md',
        content: `${version}\n`,
      });
    }
    await call(service.core, 'bob', 'memory_write', { path: 'user/b.md', content: 'b' });
    await visit('/revisions');
    await page.getByRole('button', { name: 'Prune…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Prune old revisions' });
    await dialog.getByLabel('Older than (days)').fill('');
    await dialog.getByLabel('Keep newest, per file').fill('2');
    await dialog.getByLabel('User (optional)').fill('alice');
    await dialog.getByRole('button', { name: 'Count' }).click();
    await dialog.getByText('4 revisions would be removed').waitFor();
    await dialog.getByText(/[1-9][\d.]* K?B of history, of alice\./).waitFor();
    const before = await service.core.revisions.list({});
    expect(before.items).toHaveLength(7);
    await dialog.getByRole('button', { name: 'Remove 4 revisions' }).click();
    await page.getByText('Pruned 4 revisions').first().waitFor();
    expect((await service.core.revisions.list({})).items).toHaveLength(3);
    expect((await service.core.accessLog.list({})).items).toHaveLength(7);
    expectNoProblems(opened);
  });
});
