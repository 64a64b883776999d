import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectCount, expectNoProblems, openConsole } from './support/console.ts';

const FILE = { path: 'user/a.md', content: '- one\n' };

async function open() {
  const opened = await openConsole();
  const write = (userId: string, actor = 'mail-agent') =>
    call(opened.service.core, userId, 'memory_write', FILE, { actor });
  await write('anna');
  return { ...opened, write };
}

describe('stop writes', () => {
  it('is on the overview, and a banner on every page says so and allows them again', async () => {
    const opened = await open();
    const { page, write, visit, service } = opened;
    await visit('/');
    await page.getByRole('button', { name: 'Stop writes…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop writes?' });
    const stop = dialog.getByRole('button', { name: 'Stop writes' });
    expect(await stop.isDisabled()).toBe(true);
    await dialog.getByLabel('Reason').fill('a forged mail');
    await dialog.getByLabel('For how long').selectOption('15 minutes');
    await stop.click();
    await dialog.waitFor({ state: 'detached' });
    await expect(write('bob')).rejects.toMatchObject({ code: 'WRITES_FROZEN' });
    const [freeze] = await service.core.freezes.list();
    expect(freeze).toMatchObject({ all: true, reason: 'a forged mail' });
    expect(Date.parse(freeze?.until ?? '') - Date.parse(freeze?.at ?? '')).toBe(15 * 60_000);

    await visit('/files');
    const banner = page.getByRole('region', { name: 'Stopped writes' });
    await banner.getByText('All writes').waitFor();
    await banner.getByText('“a forged mail”').waitFor();
    await banner.getByText('from 127.0.0.1').waitFor();
    await banner.getByRole('button', { name: 'Allow writes again' }).click();
    await banner.waitFor({ state: 'detached' });
    await write('bob');
    expectNoProblems(opened);
  });

  it('is on the page of a user, for that user', async () => {
    const opened = await open();
    const { page, write, visit } = opened;
    await visit('/users?user=anna');
    await page.getByRole('button', { name: 'Stop writes…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop writes?' });
    await dialog.getByLabel('Reason').fill('looking into it');
    await dialog.getByRole('button', { name: 'Stop writes' }).click();
    await page.getByText('Writes for the user anna').first().waitFor();
    await expect(write('anna')).rejects.toMatchObject({ code: 'WRITES_FROZEN' });
    await write('bob');
    expectNoProblems(opened);
  });

  it('is in an incident, for the user or the one who wrote the line', async () => {
    const opened = await open();
    const { page, write, visit } = opened;
    await visit('/files?path=users/anna/a.md&as=blame');
    await page.getByRole('link', { name: 'Follow line 1' }).click();
    const panel = page.getByRole('dialog', { name: 'Incident' });
    await panel.getByRole('button', { name: 'Stop writes…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop writes?' });
    await dialog.getByLabel('Whose writes').selectOption('The actor mail-agent, for every user');
    await dialog.getByLabel('Reason').fill('a forged mail');
    await dialog.getByRole('button', { name: 'Stop writes' }).click();
    await page.getByText('Writes by the actor mail-agent').first().waitFor();
    await expect(write('bob')).rejects.toMatchObject({ code: 'WRITES_FROZEN' });
    await write('bob', 'planner');
    expectNoProblems(opened);
  });

  it('lists many freezes on demand', async () => {
    const opened = await open();
    const { page, visit, service } = opened;
    const operator = { address: null, traceId: null };
    for (let n = 0; n < 5; n += 1) {
      const request = { actor: `bot-${n}`, reason: 'a test', minutes: 5 };
      await service.core.freezes.freeze(request, operator);
    }
    await visit('/audit');
    const banner = page.getByRole('region', { name: 'Stopped writes' });
    await expectCount(banner.getByRole('listitem'), 3);
    await banner.getByRole('button', { name: 'Show 2 more' }).click();
    await expectCount(banner.getByRole('listitem'), 5);
    expectNoProblems(opened);
  });
});
