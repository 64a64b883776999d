import { expect, it } from 'vitest';
import { asAdmin, serveCore } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, jump, openConsole } from './support/console.ts';

const GOOD = 'checks: [{ name: her tea, user: ann, contains: tea }]';

it('checks are written with their mistakes at the line, run, and followed to the write that broke one', async () => {
  const service = await serveCore();
  const write = (content: string) =>
    call<{ revisionId: string }>(service.core, 'ann', 'memory_write', {
      path: 'user/note.md',
      content,
    });
  await write('- Likes tea.\n');
  const opened = await openConsole({ service });
  const { page } = opened;
  await page.getByRole('heading', { name: 'Overview' }).first().waitFor();
  await jump(page, 'g', 'e');
  await page.getByText('No checks yet').waitFor();
  await page.getByRole('link', { name: 'Write the first check' }).click();
  const editor = page.getByRole('textbox', { name: 'Stored checks' });
  await editor.fill('checks:\n  - nme: her tea\n    user: ann\n    contains: tea');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: /^Line 2 nme is not known: did you mean name/ }).click();
  await page.locator('.cm-line.bg-error\\/15').filter({ hasText: 'nme' }).waitFor();
  expect((await service.core.checks.stored.read()).text).toBe('');
  await editor.fill(GOOD);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The service keeps 1 check.', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Results' }).click();
  await page.getByText('No run yet').waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('listitem', { name: 'her tea: passes' }).waitFor();
  const { result } = await write('- Likes milk.\n');
  await write('- Likes milk a lot.\n');
  await page.getByRole('button', { name: 'Run now' }).click();
  const row = page.getByRole('listitem', { name: 'her tea: fails' });
  await row.getByText('worse: fails now').waitFor();
  await row.getByRole('img', { name: 'her tea: failed in 1 of the last 2 runs' }).waitFor();
  await row.getByRole('button', { name: 'Find the write that made it fail' }).click();
  await row.getByText('It passed before this write, and failed after it.').waitFor();
  await row.getByRole('link', { name: /version 2$/ }).click();
  await expectUrl(page, `id=${result.revisionId}`);
  expectNoProblems(opened);
});

it('a viewer without contents sees results, and not the text of the checks', async () => {
  const service = await serveCore();
  await service.core.checks.stored.write(
    { text: GOOD },
    { caller: {} as never, ifVersion: undefined },
  );
  await service.core.checks.stored.run('nightly');
  const made = await service.request('POST', '/v1/admin/operators', {
    headers: asAdmin,
    body: { name: 'vera', role: 'viewer' },
  });
  const opened = await openConsole({ service, path: '/checks', secret: made.json.token });
  const { page } = opened;
  await page.getByRole('listitem', { name: 'her tea: fails' }).waitFor();
  await page.getByText('There is no user ann.').waitFor();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page
    .getByText(/needs|may not|role/i)
    .first()
    .waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  expectNoProblems(opened);
});
