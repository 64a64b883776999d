import { describe, expect, it } from 'vitest';
import type { PrefixEraseAnswer } from '../../core/contracts/admin.ts';
import { asAdmin, serveCore } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import { expectCount, expectNoProblems, go, openConsole, textOf } from './support/console.ts';

/** A tenant with three users and a space, and a user of another tenant. Two wrote after they had read the space. */
async function tenants() {
  const service = await serveCore();
  const { core } = service;
  const spaces = [{ id: 'acme:docs', access: 'write' as const }];
  const users = ['acme:ann', 'acme:bob', 'acme:cat', 'acme2:dan'];
  /** All calls for a user are of one trace. */
  const run = (userId: string, tool: string, args: object) =>
    core.tools.execute(tool, {
      context: { userId, spaces },
      arguments: args,
      traceparent: `00-${String(users.indexOf(userId) + 1).padStart(32, '0')}-00000000000000a1-01`,
    });
  const path = 'spaces/acme:docs/a.md';
  await run('acme:ann', 'memory_write', { path, content: 'Refunds.\n' });
  await run('acme:bob', 'memory_read', { path });
  await run('acme2:dan', 'memory_read', { path });
  for (const userId of users) {
    await run(userId, 'memory_write', { path: 'user/a.md', content: `Of ${userId}.\n` });
  }
  const usersOf = async () => (await core.fileLists.users({})).items.map(({ userId }) => userId);
  return { service, usersOf };
}

async function openDialog(service: Awaited<ReturnType<typeof tenants>>['service']) {
  const opened = await openConsole({ service, path: '/users' });
  await opened.page.getByRole('button', { name: 'Erase a tenant…' }).click();
  const dialog = opened.page.getByRole('dialog', { name: 'Erase a tenant?' });
  const prefix = dialog.getByLabel('What their ids start with');
  const button = dialog.getByRole('button', { name: 'Erase', exact: true });
  return { opened, dialog, prefix, button };
}

describe('erasing a tenant', () => {
  it('shows whom it is about, takes the prefix again, and gives one receipt for all', async () => {
    const { service, usersOf } = await tenants();
    const { opened, dialog, prefix, button } = await openDialog(service);
    const { page } = opened;
    expect(await button.isDisabled()).toBe(true);
    await prefix.fill('acme*');
    await prefix.press('Enter');
    await dialog.getByText(/^This is not the start of ids\./).waitFor();
    await prefix.fill('nobody:*');
    await prefix.press('Enter');
    await dialog.getByText('No user and no space has such an id.').waitFor();
    expect(await button.isDisabled()).toBe(true);
    await prefix.fill('acme:*');
    await prefix.press('Enter');
    await dialog.getByText('3 users and 1 space would be erased.').waitFor();
    const listed = dialog.getByRole('list', { name: 'Users and spaces' }).getByRole('listitem');
    const names = (await listed.allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(names).toEqual(['space acme:docs', 'acme:ann', 'acme:bob', 'acme:cat']);
    await dialog.getByLabel('Type acme:* to confirm').fill('acme:');
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Type acme:* to confirm').fill('acme:*');
    await button.click();

    const receipt = page.getByRole('dialog', { name: 'Erased acme:*' });
    await receipt.getByText('4 of 4 users and spaces erased.').waitFor();
    // acme:bob wrote after reading the space, too, and is erased as well.
    const readers = receipt.getByRole('list', { name: 'Files to look at' }).getByRole('listitem');
    await expectCount(readers, 1);
    expect(await readers.innerText()).toContain('acme2:dan');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      receipt.getByRole('button', { name: 'Save the receipt' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('erase-acme.json');
    const answer = JSON.parse(await textOf(saved)) as PrefixEraseAnswer;
    expect(answer).toMatchObject({ prefix: 'acme:*', dryRun: false, users: 3, spaces: 1 });
    expect(answer.receipts.map((one) => one.userId ?? one.spaceId)).toEqual([
      'acme:docs',
      'acme:ann',
      'acme:bob',
      'acme:cat',
    ]);
    expect(await usersOf()).toEqual(['acme2:dan']);
    const { json } = await service.request('GET', '/v1/admin/spaces', { headers: asAdmin });
    expect(json.items).toEqual([]);
    await receipt.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('row', { name: /acme2:dan/ }).waitFor();
    await expectCount(page.getByRole('row', { name: /acme:ann/ }), 0);
    expectNoProblems(opened);
  });

  it('erases nobody where more match than were shown, and shows the new numbers', async () => {
    const { service, usersOf } = await tenants();
    const { opened, dialog, prefix, button } = await openDialog(service);
    await prefix.fill('acme:*');
    await prefix.press('Enter');
    await dialog.getByText('3 users and 1 space would be erased.').waitFor();
    await call(service.core, 'acme:eve', 'memory_write', { path: 'user/a.md', content: 'New.\n' });
    const confirm = dialog.getByLabel('Type acme:* to confirm');
    await confirm.fill('acme:*');
    await button.click();
    await dialog
      .getByRole('alert')
      .getByText(/matches 4 users and 1 spaces/)
      .waitFor();
    await dialog.getByText('4 users and 1 space would be erased.').waitFor();
    expect(await usersOf()).toHaveLength(5);
    // The new numbers have to be confirmed, too.
    expect([await confirm.inputValue(), await button.isDisabled()]).toEqual(['', true]);
    expectNoProblems(opened);
  });

  it('keeps the receipts of the pages before the one that fails, and goes on when it is asked again', async () => {
    const { service, usersOf } = await tenants();
    const { opened, dialog, prefix, button } = await openDialog(service);
    const { page } = opened;
    let pages = 0;
    await page.route('**/v1/admin/erase', async (route) => {
      const body = route.request().postDataJSON() as { dryRun?: boolean };
      if (body.dryRun === true) return await route.continue();
      pages += 1;
      if (pages === 2) return await route.abort();
      // A page of two, as the service ends one after so many seconds.
      return await route.continue({ postData: JSON.stringify({ ...body, limit: 2 }) });
    });
    const eraseAll = async () => {
      await prefix.fill('acme:*');
      await prefix.press('Enter');
      await dialog.getByLabel('Type acme:* to confirm').fill('acme:*');
      await button.click();
    };
    await eraseAll();
    const receipt = page.getByRole('dialog', { name: 'Erased acme:*' });
    await receipt.getByText('2 of 4 users and spaces erased.').waitFor();
    await receipt.getByRole('alert').getByText('It stopped before its end: ').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      receipt.getByRole('button', { name: 'Save the receipt' }).click(),
    ]);
    const { receipts } = JSON.parse(await textOf(saved)) as PrefixEraseAnswer;
    expect(receipts.map((one) => one.userId ?? one.spaceId)).toEqual(['acme:docs', 'acme:ann']);
    expect(await usersOf()).toEqual(['acme2:dan', 'acme:bob', 'acme:cat']);

    await go(page, '/spaces');
    await page.getByRole('button', { name: 'Erase a tenant…' }).click();
    await eraseAll();
    await receipt.getByText('2 of 2 users and spaces erased.').waitFor();
    expect(await usersOf()).toEqual(['acme2:dan']);
    expectNoProblems(opened);
  });
});
