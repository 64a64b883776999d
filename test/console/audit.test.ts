import { describe, it } from 'vitest';
import { asAdmin, serveCore } from '../core/http/serve.ts';
import { expectCount, expectNoProblems, expectUrl, openConsole } from './support/console.ts';

describe('the audit', () => {
  it('lists what operators changed, leads to the change, and is filtered by its address', async () => {
    const service = await serveCore();
    const put = (path: string, content: string) =>
      service.request('PUT', `/v1/admin/files/${path}`, { body: { content }, headers: asAdmin });
    await put('users/alice/a.md', 'tea\n');
    await put('users/alice/a.md', 'coffee\n');
    await service.request('POST', '/v1/admin/revisions/prune', {
      body: { keepLast: 1 },
      headers: asAdmin,
    });
    const opened = await openConsole({ service, path: '/audit' });
    const { page } = opened;
    const rows = page.locator('[data-row]');
    await rows.getByText('revisions.prune').waitFor();
    await expectCount(rows, 3);
    await rows.nth(0).getByText('127.0.0.1').waitFor();

    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Action' }).click();
    const field = page.getByRole('textbox', { name: 'Action' });
    await field.fill('files.write');
    await field.press('Enter');
    await rows.getByText('revisions.prune').waitFor({ state: 'hidden' });
    await expectUrl(page, 'action=files.write');
    await rows.getByRole('link', { name: 'files.write' }).first().click();
    await page.getByRole('article', { name: 'Revision' }).getByText('users/alice').waitFor();
    expectNoProblems(opened);
  });
});
