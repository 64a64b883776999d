import { describe, expect, it } from 'vitest';
import { asAdmin, type LiveServer, serveCore } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  go,
  openConsole,
  textOf,
} from './support/console.ts';

const admin = async (service: LiveServer, method: string, path: string, body?: object) => {
  const answer = await service.request(method, `/v1/admin/${path}`, {
    headers: asAdmin,
    ...(body && { body }),
  });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
const FILE = '/v1/admin/files/spaces/acme/policies/refunds.md';

/** A space with a file, which a user has written, and one that is nobody's yet. */
async function filled() {
  const service = await serveCore();
  await admin(service, 'POST', 'spaces', { id: 'acme', name: 'Acme Ltd.' });
  await admin(service, 'POST', 'spaces', { id: 'empty' });
  const spaces = [{ id: 'acme', access: 'write' as const }];
  await service.core.tools.execute('memory_write', {
    context: { userId: 'alice', spaces },
    arguments: { path: 'spaces/acme/policies/refunds.md', content: 'Within 30 days.\n' },
  });
  await call(service.core, 'alice', 'memory_write', { path: 'user/own.md', content: 'Tea.\n' });
  await service.core.queue.flush();
  return service;
}

describe('spaces', () => {
  it('are made, listed with sizes and keys, archived, and lead to their memory', async () => {
    const service = await filled();
    await admin(service, 'POST', 'keys', { name: 'support bot', spaces: ['acme:read'] });
    const opened = await openConsole({ service, path: '/spaces' });
    const { page } = opened;
    const row = page.getByRole('row', { name: /^Open acme/ });
    await row.getByText('support bot').waitFor();
    await row.getByText('Acme Ltd.').waitFor();
    await page.getByRole('button', { name: 'New space…' }).click();
    const form = page.getByRole('dialog', { name: 'New space' });
    await form.getByLabel('Space id').fill('globex corp');
    await form.getByRole('checkbox', { name: /^Dreaming may work on it/ }).check();
    await form.getByRole('button', { name: 'Add an entry' }).click();
    await form.getByLabel('Name of entry 1').fill('contract');
    await form.getByLabel('Value of entry 1').fill('A-1742');
    await form.getByRole('button', { name: 'Make the space' }).click();
    await form.getByLabel('Space id').and(page.locator('[aria-invalid=true]')).waitFor();
    await form.getByLabel('Space id').fill('acme');
    await form.getByRole('button', { name: 'Make the space' }).click();
    await form.getByText('The space acme exists already.').waitFor();
    await form.getByLabel('Space id').fill('globex');
    await form.getByRole('button', { name: 'Make the space' }).click();
    const panel = page.getByRole('dialog', { name: 'globex' });
    await panel.getByText('A-1742').waitFor();
    await panel.getByText('No named key opens it.').waitFor();
    expect(await admin(service, 'GET', 'spaces/globex')).toMatchObject({
      dream: true,
      metadata: { contract: 'A-1742' },
    });

    await go(page, '/spaces?space=acme');
    const acme = page.getByRole('dialog', { name: 'Acme Ltd.' });
    await acme.getByRole('listitem').filter({ hasText: 'support bot' }).getByText('read').waitFor();
    await acme.getByRole('button', { name: 'Archive…' }).click();
    await page
      .getByRole('dialog', { name: 'Archive acme?' })
      .getByRole('button', { name: 'Archive', exact: true })
      .click();
    await acme.getByText(/nobody can write/).waitFor();
    const refused = await service.request('PUT', FILE, {
      headers: asAdmin,
      body: { content: 'x' },
    });
    expect(refused.json.error.code).toBe('READ_ONLY_SCOPE');
    await acme.getByRole('button', { name: 'Make it writable…' }).click();
    await page.getByRole('button', { name: 'Make it writable', exact: true }).click();
    await acme.getByText(/nobody can write/).waitFor({ state: 'detached' });

    await acme.getByRole('link', { name: 'Files', exact: true }).click();
    await page.getByRole('tree').getByText('policies').waitFor();
    for (const [view, shown] of [
      ['activity', 'refunds.md'],
      ['revisions', 'refunds.md'],
      ['observability', 'Top accessed files'],
    ] as const) {
      await go(page, `/${view}?spaceId=acme`);
      await page.getByRole('button', { name: 'Change the filter Space: acme' }).waitFor();
      await page.getByText(shown).first().waitFor();
      await expectCount(page.getByText('own.md'), 0);
    }
    expectNoProblems(opened);
  });

  it('are restored, exported and erased, with a receipt', async () => {
    const service = await filled();
    const before = new Date().toISOString();
    await service.request('PUT', FILE, { headers: asAdmin, body: { content: 'Never.\n' } });
    const opened = await openConsole({ service, path: `/compare?spaceId=acme&from=${before}` });
    const { page, visit } = opened;
    await page.getByRole('status').getByText('1 file changed').waitFor();
    await page.getByRole('button', { name: 'Restore the earlier time…' }).click();
    const restore = page.getByRole('dialog', { name: 'Restore the memory of acme?' });
    await restore.getByRole('button', { name: 'Restore 1 file' }).click();
    await page.getByRole('dialog', { name: 'Restored' }).waitFor();
    const { json } = await service.request('GET', FILE, { headers: asAdmin });
    expect(json.file.content).toBe('Within 30 days.\n');

    await visit('/spaces?space=acme&do=export');
    const exporting = page.getByRole('dialog', { name: 'Export the memory of the space acme' });
    await exporting.getByText('1 file, 16 B.').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      exporting.getByRole('button', { name: 'Export', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('memory-acme.tar.gz');

    await go(page, '/spaces?space=acme&do=erase');
    const erase = page.getByRole('dialog', { name: 'Erase acme?' });
    await erase.getByText(/rows would be removed/).waitFor();
    const button = erase.getByRole('button', { name: 'Erase', exact: true });
    expect(await button.isDisabled()).toBe(true);
    await erase.getByLabel('Type acme to confirm').fill('acme');
    await button.click();
    const receipt = page.getByRole('dialog', { name: 'Erased acme' });
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      receipt.getByRole('button', { name: 'Save the receipt' }).click(),
    ]);
    expect(JSON.parse(await textOf(saved))).toMatchObject({ spaceId: 'acme', dryRun: false });
    const gone = await service.request('GET', '/v1/admin/spaces/acme', { headers: asAdmin });
    expect(gone.status).toBe(404);
    expectNoProblems(opened);
  });
});

describe('a search in contents', () => {
  it('is limited to a space or to a user by a filter, which the other one replaces', async () => {
    const service = await filled();
    const write = (userId: string, content: string) =>
      call(service.core, userId, 'memory_write', { path: 'user/days.md', content });
    await write('alice', 'Away for 30 days.\n');
    await write('bob', 'Away for 12 days.\n');
    const opened = await openConsole({ service, path: '/files?q=days&in=contents' });
    const { page } = opened;
    const found = page.getByRole('list', { name: 'Files with the words' }).getByRole('link');
    await expectCount(found, 3);
    const filterBy = async (name: string, value: string) => {
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      await page.getByRole('menuitem', { name }).click();
      await page.getByLabel(name, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Apply' }).click();
    };
    await filterBy('Space', 'acme');
    await expectCount(found, 1);
    await expectUrl(page, 'spaceId=acme');
    // A hit opens its file, and the search beside it stays as it is.
    await found.getByText('Within 30').click();
    await page.getByRole('heading', { name: 'spaces/acme/policies/refunds.md' }).waitFor();
    await expectUrl(page, 'spaceId=acme');
    await expectCount(found, 1);
    await filterBy('User', 'bob');
    await expectUrl(page, 'userId=bob');
    expect(page.url()).not.toContain('spaceId');
    await found.getByText('for 12').waitFor();
    await expectCount(found, 1);

    await page.getByRole('button', { name: 'History', exact: true }).click();
    await page.getByLabel('Search history').fill('days.');
    await page.keyboard.press('Enter');
    const versions = page.getByRole('list', { name: 'Versions with the text' });
    await versions.getByText('for 12').waitFor();
    await expectCount(versions.getByRole('link'), 1);
    await page.getByRole('button', { name: 'Remove the filter User' }).click();
    await expectCount(versions.getByRole('link'), 3);
    await filterBy('Space', 'acme');
    await versions.getByText('Within 30').waitFor();
    await expectCount(versions.getByRole('link'), 1);
    await page.getByRole('button', { name: 'Paths', exact: true }).click();
    await page.getByRole('tree').waitFor();
    expect(page.url()).not.toContain('spaceId');
    expectNoProblems(opened);
  });
});

describe('a space that two operators change', () => {
  it('shows both changes, and lets one take theirs or overwrite', async () => {
    const service = await filled();
    const made = await admin(service, 'POST', 'operators', { name: 'clara', role: 'admin' });
    const asClara = { 'x-admin-secret': made.token as string };
    const change = async (body: object) => {
      const headers = { ...asClara };
      expect(
        (await service.request('PUT', '/v1/admin/spaces/acme', { headers, body })).status,
      ).toBe(200);
    };
    const opened = await openConsole({ service, path: '/spaces?space=acme&do=edit' });
    const { page } = opened;
    const form = page.getByRole('dialog', { name: 'Settings of acme' });
    const save = form.getByRole('button', { name: 'Save' });
    const name = form.getByLabel('Name', { exact: true });
    const conflict = page.getByRole('dialog', { name: 'acme was changed meanwhile' });

    await name.fill('Acme Limited');
    await change({ name: 'Acme Inc.', quota: 77 });
    await save.click();
    await conflict.getByRole('row', { name: 'Name Acme Ltd. Acme Inc. Acme Limited' }).waitFor();
    await conflict.getByRole('row', { name: 'Most files – 77 not changed' }).waitFor();
    await conflict.getByText('clara', { exact: true }).waitFor();
    await expectCount(conflict.locator('time'), 2);
    await expectCount(conflict.getByRole('row', { name: /^Description/ }), 0);
    expect(await admin(service, 'GET', 'spaces/acme')).toMatchObject({ name: 'Acme Inc.' });
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await conflict.waitFor({ state: 'detached' });
    expect([await name.inputValue(), await form.getByLabel('Most files').inputValue()]).toEqual([
      'Acme Inc.',
      '77',
    ]);

    await name.fill('Acme Limited');
    await change({ quota: 78 });
    await save.click();
    await conflict.getByRole('button', { name: 'Overwrite with mine' }).click();
    // Behind it the form is hidden, which would pass for closed.
    await conflict.waitFor({ state: 'detached' });
    await form.waitFor({ state: 'detached' });
    await expectUrl(page, 'space=acme');
    // What only the other one changed stays.
    expect(await admin(service, 'GET', 'spaces/acme')).toMatchObject({
      name: 'Acme Limited',
      quota: 78,
    });
    expectNoProblems(opened);
  });
});
