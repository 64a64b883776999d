import { expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

const SECRET = 'sk-live-4242';

async function open() {
  const opened = await openConsole();
  const write = (userId: string, content: string) =>
    call(opened.service.core, userId, 'memory_write', { path: 'user/keys.md', content });
  await write('anna', `# Keys\n- key: ${SECRET}\n`);
  await write('anna', `# Keys\n- key: ${SECRET}\n- tea\n`);
  await write('anna', '# Keys\n- tea\n');
  await write('bob', `- ${SECRET}\n`);
  const isFound = async () => {
    const { json } = await opened.service.request('POST', '/v1/admin/search', {
      headers: { 'x-admin-secret': 'admin-secret-0123456789abcdef0123456789' },
      body: { text: SECRET, history: true },
    });
    return json.items.length > 0;
  };
  return { ...opened, isFound };
}

it('a text is redacted everywhere, from a search of the history, after a look with the text masked', async () => {
  const opened = await open();
  const { page, visit, service, isFound } = opened;
  await visit('/files?in=history');
  await page.getByLabel('Search history').fill(SECRET);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Redact everywhere…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Redact this text?' });
  await dialog.getByText(/^It would be taken out of 3 versions of 2 files/).waitFor();
  const places = dialog.getByRole('list', { name: 'Places' });
  await places.getByText('- key: [redacted]').first().waitFor();
  expect(await places.textContent()).not.toContain(SECRET);
  expect(await isFound()).toBe(true);
  await dialog.getByLabel('Reason').fill('a key was leaked');
  await dialog.getByRole('button', { name: 'Redact' }).click();
  const receipt = page.getByRole('dialog', { name: 'Redacted' });
  await receipt.getByText(/^It was taken out of 3 versions of 2 files/).waitFor();
  expect(await isFound()).toBe(false);
  const { file } = await service.core.fileLists.file('users/bob/keys.md', {});
  expect(file.content).toBe('- [redacted]\n');
  expect(page.url()).not.toContain(SECRET);
  expectNoProblems(opened);
});

it('a line is redacted from an incident, in the memory of its user alone if so chosen', async () => {
  const opened = await open();
  const { page, visit, service } = opened;
  await visit('/files?path=users/bob/keys.md&as=blame&incident=1:1');
  await page.getByRole('button', { name: 'Redact this line…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Redact this text?' });
  await dialog.getByLabel('The exact text').fill(SECRET);
  await dialog.getByLabel('Where').selectOption('The memory of bob');
  await dialog.getByText(/^It would be taken out of 1 version of 1 file/).waitFor();
  await dialog.getByLabel('Reason').fill('a key was leaked');
  await dialog.getByRole('button', { name: 'Redact' }).click();
  await page.getByRole('dialog', { name: 'Redacted' }).waitFor();
  const bob = await service.core.fileLists.file('users/bob/keys.md', {});
  expect(bob.file.content).toBe('- [redacted]\n');
  const anna = await service.core.fileLists.file('users/anna/keys.md', { version: 2 });
  expect(anna.file.content).toContain(SECRET);
  expectNoProblems(opened);
});

it('a secret is redacted from a finding of hygiene, without the rest of its line', async () => {
  const opened = await openConsole();
  const { page, visit, service } = opened;
  const key = 'AKIAIOSFODNN7EXAMPL2';
  await call(service.core, 'anna', 'memory_write', {
    path: 'user/keys.md',
    content: `# Keys\n\n- The key of the bucket is ${key}, for backups\n`,
  });
  await visit('/users?user=anna');
  const hygiene = page.getByRole('region', { name: 'Hygiene' });
  await hygiene.getByText('This looks like an AWS access key.').waitFor();
  await hygiene.getByRole('button', { name: 'Redact a text…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Redact this text?' });
  expect(await dialog.getByLabel('The exact text').inputValue()).toBe(key);
  await dialog.getByText(/^It would be taken out of 1 version of 1 file/).waitFor();
  await dialog.getByLabel('Reason').fill('a key was leaked');
  await dialog.getByRole('button', { name: 'Redact' }).click();
  const receipt = page.getByRole('dialog', { name: 'Redacted' });
  await receipt.getByText(/^It was taken out of 1 version of 1 file/).waitFor();
  const { file } = await service.core.fileLists.file('users/anna/keys.md', {});
  expect(file.content).toBe('# Keys\n\n- The key of the bucket is [redacted], for backups\n');
  await page.keyboard.press('Escape');
  await hygiene.getByText('This looks like an AWS access key.').waitFor({ state: 'hidden' });
  expectNoProblems(opened);
});
