import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, openConsole } from './support/console.ts';

describe('the search in all memory', () => {
  it('ranks contents, finds names, and looks at all versions without the text in an address', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const { core } = service;
    const write = (userId: string, path: string, content: string) =>
      call(core, userId, 'memory_write', { path, content });
    await write('alice', 'user/health.md', '# Health\n\nHer allergies are many.\n');
    await write('bob', 'user/health.md', '# Health\n\nAn allergy to peanuts.\n');
    await write('allergy-clinic', 'user/a.md', 'the canary sang\n');
    await write('allergy-clinic', 'user/a.md', 'quiet\n');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    await visit('/search');
    await page.getByLabel('Search all memory').fill('allergy');
    await page.keyboard.press('Enter');
    await expectUrl(page, 'q=allergy');
    await page.getByText('2 lines in 2 files. 3 files searched').waitFor();
    const contents = page.getByRole('list', { name: 'Files with the words' });
    // The word as it was typed ranks above its other forms.
    expect(
      (await contents.getByRole('listitem').allInnerTexts()).map((text) => text.slice(0, 9)),
    ).toEqual(['users/bob', 'users/ali']);
    expect(await contents.locator('mark').allInnerTexts()).toEqual(['allergy', 'allergies']);
    await page
      .getByRole('region', { name: 'Users and spaces' })
      .getByText('allergy-clinic')
      .waitFor();
    await contents.getByRole('link', { name: /An allergy/ }).click();
    await page.getByRole('list', { name: 'Source' }).locator('[aria-current]').waitFor();
    await expectUrl(page, 'line=3');

    await visit('/search');
    await page.getByLabel('In all versions, exactly as typed').check();
    await page.getByLabel('Search all memory').fill('the canary');
    await page.keyboard.press('Enter');
    const versions = page.getByRole('list', { name: 'Versions with the text' });
    await versions.getByText('version 1', { exact: true }).waitFor();
    expect([page.url(), ...asked].filter((url) => url.includes('canary'))).toEqual([]);
    expectNoProblems(opened);
  });
});
