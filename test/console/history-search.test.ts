import { expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

const SECRET = 'sk-live-4242';

it('finds a text in past versions, and has it in no address', async () => {
  const opened = await openConsole();
  const { page, service, visit } = opened;
  const { core } = service;
  const write = (userId: string, content: string) =>
    call(core, userId, 'memory_write', { path: 'user/keys.md', content });
  await write('anna', `# Keys\n- key: ${SECRET}\n`);
  await write('anna', `# Keys\n- key: ${SECRET}\n- tea\n`);
  await write('anna', '# Keys\n- tea\n');
  await write('bob', `- ${SECRET}\n`);
  await write('carol', `- ${SECRET.toUpperCase()}\n`);

  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  page.on('framenavigated', (frame) => addresses.push(frame.url()));
  await visit('/files?q=kept&in=contents');
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByLabel('Search history').fill(SECRET);
  await page.keyboard.press('Enter');
  const found = page.getByRole('region', { name: 'Found versions' });
  await found.getByText('versions 1 to 2').waitFor();
  await found.getByText('there now').waitFor();
  expect(await found.getByText('carol').count()).toBe(0);
  expect(await found.locator('mark').allTextContents()).toEqual([SECRET, SECRET]);
  await found.getByRole('link', { name: /key:/ }).click();
  await page.getByRole('article', { name: 'Revision' }).getByText('version 2').waitFor();
  await page.getByRole('region', { name: 'Content after' }).getByText(SECRET).waitFor();
  await page.goBack();
  await page.getByLabel('Search history').waitFor();
  await page.getByLabel('Search history').fill(SECRET);
  await page.getByRole('button', { name: 'Paths' }).click();
  expect(await page.getByLabel('Search paths').inputValue()).toBe('');
  addresses.push(page.url());
  expect(addresses.filter((one) => decodeURIComponent(one).includes(SECRET))).toEqual([]);
  expectNoProblems(opened);
});
