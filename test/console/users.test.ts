import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../core/errors.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  exportAs,
  openConsole,
  textOf,
} from './support/console.ts';

const SECRET = 'AKIAIOSFODNN7EXAMPLE';

/** Three users: one with a secret in memory, one with a broken link, one in order. */
async function filled(path: string) {
  const opened = await openConsole({ path: '/nothing' });
  const { core } = opened.service;
  const write = (userId: string, file: string, content: string) =>
    call(core, userId, 'memory_write', { path: file, content });
  await write('alice', 'user/a.md', 'See [b](b.md).\n');
  await write('bob', 'user/keys.md', `aws_access_key_id: ${SECRET}\n`);
  await write('carol', 'user/c.md', 'Likes tea.\n');
  await write('carol', 'user/d.md', 'Likes jazz.\n');
  for (const file of ['user/c.md', 'user/d.md', 'user/c.md']) {
    await call(core, 'carol', 'memory_read', { path: file });
  }
  // The counts of reads are written some time after the reads.
  await core.queue.flush();
  await opened.visit(path);
  return opened;
}

describe('the users', () => {
  it('are sorted by each column, and a link shows the same', async () => {
    const opened = await filled('/users');
    const { page } = opened;
    const names = page.getByRole('button', { name: /^Open / });
    const order = async () => (await names.allInnerTexts()).map((text) => text.trim());
    await names.first().waitFor();
    expect(await order()).toEqual(['carol', 'bob', 'alice']);
    await page.getByRole('button', { name: 'Reads per write' }).click();
    await expectUrl(page, 'sort=readsPerWrite');
    await page.getByRole('columnheader', { name: 'Reads per write', exact: true }).waitFor();
    expect((await order()).at(-1)).toBe('carol');
    await page.getByRole('button', { name: 'Reads per write' }).click();
    await expectUrl(page, 'order=desc');
    await expect.poll(async () => (await order())[0]).toBe('carol');
    await page.reload();
    await names.first().waitFor();
    expect((await order())[0]).toBe('carol');
    const { name, text } = await exportAs(page, 'CSV');
    expect(name).toBe('users.csv');
    expect(text.split('\r\n')[1]).toMatch(/^carol,2,/);
    expectNoProblems(opened);
  });

  it('are read a page at a time, sorted over all of them', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const names = Array.from({ length: 130 }, (_, n) => `user-${String(n).padStart(3, '0')}`);
    for (const [n, userId] of names.entries()) {
      const content = 'x'.repeat(1 + ((n * 37) % 130));
      await call(service.core, userId, 'memory_write', { path: 'user/a.md', content });
    }
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await visit('/users?sort=bytes');
    const rows = page.getByRole('button', { name: /^Open user-/ });
    await rows.first().waitFor();
    // Each user's file has another size.
    const bySize = names.toSorted(
      (a, b) => ((Number(b.slice(5)) * 37) % 130) - ((Number(a.slice(5)) * 37) % 130),
    );
    expect((await rows.first().innerText()).trim()).toBe(bySize[0]);
    expect(asked.some((url) => url.includes('/v1/admin/users?') && !url.includes('limit=50'))).toBe(
      false,
    );
    await page.getByRole('status').getByText('The first 50 users').waitFor();
    const list = page.getByRole('region', { name: 'List of users' });
    const seen = new Set<string>();
    await expect
      .poll(async () => {
        for (const text of await rows.allInnerTexts()) seen.add(text.trim());
        // Rows out of view are not drawn.
        expect(await rows.count()).toBeLessThan(80);
        await list.evaluate((element) => element.scrollBy(0, 400));
        return [...seen];
      })
      .toEqual(bySize);
    await page.getByRole('status').getByText('130 users').waitFor();
    await visit('/users?user=user-117&sort=bytes');
    await page.getByRole('dialog', { name: 'user-117' }).waitFor();
    expectNoProblems(opened);
  });

  it('are all checked, the worst memory first, each with its findings', async () => {
    const opened = await filled('/users');
    const { page } = opened;
    let check = () => {};
    const isWanted = new Promise<void>((resolve) => (check = resolve));
    await page.route('**/hygiene/users?**', (route) => isWanted.then(() => route.continue()));
    await page.getByRole('button', { name: 'Check all memory' }).click();
    // An export during the check does not have all findings yet. It says so.
    await page.getByRole('status').getByText('3 users, 0 checked…').waitFor();
    await exportAs(page, 'CSV');
    await page.getByText('Exported 3 rows, not all of them', { exact: true }).waitFor();
    await page.getByText(/^The check is still running: 0 of 3 users are checked/).waitFor();
    check();
    await page.getByRole('status').getByText('memory of 3 users checked').waitFor();
    const names = page.getByRole('button', { name: /^Open / });
    expect((await names.allInnerTexts())[0]?.trim()).toBe('bob');
    await page.getByRole('button', { name: 'With findings' }).click();
    await expectCount(page.getByRole('button', { name: 'Open carol' }), 0);
    await page.getByRole('button', { name: 'Open bob' }).click();
    const panel = page.getByRole('dialog', { name: 'bob' });
    await panel.getByText('secret', { exact: true }).waitFor();
    await expectUrl(page, 'user=bob');
    await expectCount(page.getByText(SECRET), 0);
    expectNoProblems(opened);
  });

  it('are erased after a look at what goes, and the receipt is saved', async () => {
    const opened = await filled('/users?user=carol');
    const { page, service } = opened;
    await page.getByRole('button', { name: 'Erase…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Erase carol?' });
    await dialog.getByText(/rows would be removed/).waitFor();
    await dialog
      .getByRole('group', { name: 'Rows by what they hold' })
      .getByText('Files, deleted ones too')
      .waitFor();
    expect(await dialog.innerText()).not.toContain('svc_');
    const button = dialog.getByRole('button', { name: 'Erase', exact: true });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Type carol to confirm').fill('carol');
    await button.click();
    const receipt = page.getByRole('dialog', { name: 'Erased carol' });
    await receipt.getByText(/rows removed/).waitFor();
    await receipt.getByText('Nothing of it is left in the database.').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      receipt.getByRole('button', { name: 'Save the receipt' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('erase-carol.json');
    expect(JSON.parse(await textOf(download))).toMatchObject({ userId: 'carol', dryRun: false });
    // The receipt is shown only once, so saving it is the main button.
    const buttons = receipt.getByRole('button').and(page.locator('.bg-primary'));
    expect(await buttons.allInnerTexts()).toEqual(['Save the receipt']);
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await expectCount(page.getByRole('button', { name: 'Open carol' }), 0);
    const { items } = await service.core.fileLists.users({});
    expect(items.map(({ userId }) => userId)).toEqual(['alice', 'bob']);
    expectNoProblems(opened);
  });
});

describe('a memory', () => {
  it('is exported, and imported elsewhere after a look at what would be written', async () => {
    const opened = await filled('/users?user=carol');
    const { page } = opened;
    await page.getByRole('button', { name: 'Export…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export the memory of carol' });
    await dialog.getByText(/^2 files, /).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Export', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('memory-carol.tar.gz');
    await dialog.getByText(/SHA-256 [0-9a-f]{64}/).waitFor();
    const file = await download.path();

    const other = await openConsole({ path: '/users?do=import' });
    const importing = other.page.getByRole('dialog', { name: 'Import memory' });
    await importing.getByLabel('File', { exact: true }).setInputFiles(file);
    await importing.getByRole('button', { name: 'Preview' }).click();
    await importing.getByText('2 files would be written.').waitFor();
    expect((await other.service.core.fileLists.users({})).items).toEqual([]);
    await importing.getByRole('button', { name: 'Import 2 files' }).click();
    const receipt = other.page.getByRole('dialog', { name: 'Imported' });
    await receipt.getByText('2 files written.').waitFor();
    await receipt.getByText('users/carol/').first().waitFor();
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await other.page.getByRole('button', { name: 'Open carol' }).waitFor();
    expectNoProblems(opened);
    expectNoProblems(other);
  });

  it('is not imported from a file that is none', async () => {
    const opened = await openConsole({ path: '/users?do=import' });
    const importing = opened.page.getByRole('dialog', { name: 'Import memory' });
    await importing
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'x.txt', mimeType: 'text/plain', buffer: Buffer.from('nothing') });
    await importing.getByRole('button', { name: 'Preview' }).click();
    await importing.getByRole('alert').getByText('INVALID_ARCHIVE').waitFor();
    expectNoProblems(opened);
  });
});

describe('the receipt of an erasure', () => {
  it('says that the database file is pending, why, and later that it is rewritten', async () => {
    const opened = await filled('/users?user=carol&do=erase');
    const { page, service } = opened;
    const { file } = service.core.storage.erasure ?? {};
    if (file === undefined) throw new Error('The database is not a file.');
    const full = new MemoryError('STORAGE_FULL', 'There is no room to rewrite it.');
    const rewrite = vi.spyOn(file, 'rewrite').mockRejectedValue(full);
    const dialog = page.getByRole('dialog', { name: 'Erase carol?' });
    await dialog.getByLabel('Type carol to confirm').fill('carol');
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
    const receipt = page.getByRole('dialog', { name: 'Erased carol' });
    await receipt.getByText('Pending: pages of the database file may still have').waitFor();
    await receipt.getByText('memory-service vacuum').waitFor();
    await receipt.getByText('There is no room to rewrite it.').waitFor();
    rewrite.mockRestore();
    await service.core.rewriter.rewrite({ address: null, traceId: null });
    await receipt.getByText('The database file is rewritten').waitFor();
    expectNoProblems(opened);
  });

  it('names the copies beside the database, and removes those that the service made', async () => {
    const opened = await filled('/nothing');
    const { page, service, visit } = opened;
    const copy = `${service.core.storage.filename ?? ''}.schema-3.backup`;
    await writeFile(copy, 'SQLite format 3\0');
    await visit('/users?user=carol&do=erase');
    const dialog = page.getByRole('dialog', { name: 'Erase carol?' });
    await dialog.getByText(basename(copy)).waitFor();
    await dialog.getByLabel('Remove those that the service made, too').check();
    await dialog.getByLabel('Type carol to confirm').fill('carol');
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
    const receipt = page.getByRole('dialog', { name: 'Erased carol' });
    await receipt.getByText(`Removed beside the database: ${basename(copy)}.`).waitFor();
    expect(existsSync(copy)).toBe(false);
    expectNoProblems(opened);
  });
});

describe('a revision', () => {
  it('is redacted with a reason, after a look at what loses content', async () => {
    const opened = await filled('/nothing');
    const { page, service, visit } = opened;
    const write = (content: string) =>
      call<{ revisionId: string }>(service.core, 'bob', 'memory_write', {
        path: 'user/keys.md',
        content,
      });
    const [first] = (await service.core.revisions.list({ userId: 'bob' })).items;
    await visit(`/revisions?id=${first?.id ?? ''}`);
    await page.getByRole('button', { name: 'Redact…' }).click();
    await page.getByText('REVISION_NOT_REDACTABLE').waitFor();
    await write('none\n');
    await visit(`/revisions?id=${first?.id ?? ''}&redact=yes`);
    const dialog = page.getByRole('dialog', { name: 'Redact this revision?' });
    await dialog.getByText('2 revisions would lose content.').waitFor();
    await dialog.getByLabel(/^Reason/).fill('A key of the cloud.');
    await dialog.getByRole('button', { name: 'Redact', exact: true }).click();
    const receipt = page.getByRole('dialog', { name: 'Redacted' });
    await receipt.getByText('2 revisions lost content.').waitFor();
    const buttons = receipt.getByRole('button').and(page.locator('.bg-primary'));
    expect(await buttons.allInnerTexts()).toEqual(['Save the receipt']);
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await page.getByText('redacted', { exact: true }).waitFor();
    await expectCount(page.getByText(SECRET), 0);
    expectNoProblems(opened);
  });
});
