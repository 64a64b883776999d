import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectCount, expectNoProblems, openConsole } from './support/console.ts';

const PATH = 'users/anna/diet.md';

async function open() {
  const opened = await openConsole();
  const { core } = opened.service;
  const write = async (content: string, actor: string) => {
    const args = { path: 'user/diet.md', content };
    return (await call<{ revisionId: string }>(core, 'anna', 'memory_write', args, { actor }))
      .result;
  };
  const contentOf = async () => (await core.fileLists.file(PATH, {})).file.content;
  return { ...opened, write, contentOf };
}

describe('a revert of a revision', () => {
  it('takes out its lines, keeps what was written since, and is taken back from the banner', async () => {
    const opened = await open();
    const { page, visit, write, contentOf } = opened;
    await write('# Diet\n', 'assistant');
    const { revisionId } = await write('# Diet\n- No known food allergies\n', 'mail-agent');
    await write('# Diet\n- No known food allergies\n- Started yoga\n', 'assistant');
    await visit(`/revisions?id=${revisionId}`);
    // Two clicks to the preview and the end.
    await page.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    await dialog.getByText('1 file would be put back, 0 left as they are.').waitFor();
    await dialog.getByText('- No known food allergies').waitFor();
    await dialog.getByRole('button', { name: 'Revert 1 file' }).click();
    const receipt = page.getByRole('dialog', { name: 'Reverted' });
    await receipt.getByText('undone, the rest kept').waitFor();
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await receipt.waitFor({ state: 'detached' });
    expect(await contentOf()).toBe('# Diet\n- Started yoga\n');

    const banner = page.getByRole('region', { name: 'Undone last' });
    await banner.getByText('1 file put back').waitFor();
    await banner.getByRole('button', { name: 'Undo…' }).click();
    const back = page.getByRole('dialog', { name: 'Take this back?' });
    await back.getByRole('button', { name: 'Write 1 file' }).click();
    const taken = page.getByRole('dialog', { name: 'Taken back' });
    await taken.getByRole('button', { name: 'Close' }).first().click();
    expect(await contentOf()).toBe('# Diet\n- No known food allergies\n- Started yoga\n');
    expectNoProblems(opened);
  });

  it('asks at each place that others changed since what is to stand there', async () => {
    const opened = await open();
    const { page, visit, write, contentOf } = opened;
    const lines = (first: string, last: string) => `${first}\n\n\nbetween\n\n\n${last}\n`;
    await write(lines('- tea', '- bread'), 'assistant');
    const { revisionId } = await write(lines('- coffee', '- cake'), 'mail-agent');
    await write(lines('- cocoa', '- pie'), 'planner');
    await visit(`/revisions?id=${revisionId}`);
    await page.getByRole('button', { name: 'Revert…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revert this revision?' });
    const places = dialog.getByRole('group');
    await expectCount(places, 2);
    await places.nth(0).getByText('planner').waitFor();
    await places.nth(0).getByText('- cocoa').waitFor();
    await places.nth(0).getByText('- tea').waitFor();
    // Nothing would be written: what stands there stays.
    await expectCount(dialog.getByRole('button', { name: /^Revert \d/ }), 0);
    await places.nth(0).getByLabel('Put back what was there').check();
    await places.nth(1).getByLabel('Both').check();
    await dialog
      .getByRole('region', { name: /^Diff 1/ })
      .getByText('- bread')
      .waitFor();
    await dialog.getByRole('button', { name: 'Revert 1 file' }).click();
    await page.getByRole('dialog', { name: 'Reverted' }).waitFor();
    expect(await contentOf()).toBe(lines('- tea', '- bread\n- pie'));
    expectNoProblems(opened);
  });
});

describe('a line that is undone', () => {
  it('is previewed from blame, and gets back what it was, and nothing else of its write changes', async () => {
    const opened = await open();
    const { page, visit, write, contentOf } = opened;
    await write('# Diet\n- vegan\n', 'assistant');
    await write('# Diet\n- No known food allergies\n- Likes tea\n', 'mail-agent');
    await visit(`/files?path=${PATH}`);
    // Two clicks to the preview, a third to the end.
    await page.getByRole('button', { name: 'Blame' }).click();
    await page.getByRole('button', { name: 'Undo line 2…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Undo line 2?' });
    await dialog.getByText('- vegan').waitFor();
    await dialog.getByRole('button', { name: 'Write 1 file' }).click();
    const receipt = page.getByRole('dialog', { name: 'Undone' });
    await receipt.getByRole('button', { name: 'Close' }).first().click();
    await receipt.waitFor({ state: 'detached' });
    expect(await contentOf()).toBe('# Diet\n- vegan\n- Likes tea\n');
    await page.getByRole('region', { name: 'Undone last' }).getByText('1 file put back').waitFor();
    expectNoProblems(opened);
  });

  it('is found by a search, one by one or in all memories at once', async () => {
    const opened = await open();
    const { page, visit, contentOf, service } = opened;
    const FALSE = 'The office is closed';
    for (const userId of ['anna', 'bob', 'carol']) {
      const put = (content: string, actor: string) =>
        call(service.core, userId, 'memory_write', { path: 'user/diet.md', content }, { actor });
      await put('# Diet\n', 'assistant');
      await put(`# Diet\n- ${FALSE}\n`, 'mail-agent');
    }
    await visit('/files?q=office&in=contents');
    const found = page.getByRole('region', { name: 'Found lines' });
    await found.getByRole('button', { name: `Undo line 2 of ${PATH}…` }).click();
    const one = page.getByRole('dialog', { name: 'Undo line 2?' });
    await one.getByRole('button', { name: 'Write 1 file' }).click();
    const undone = page.getByRole('dialog', { name: 'Undone' });
    await undone.getByRole('button', { name: 'Close' }).first().click();
    await undone.waitFor({ state: 'detached' });
    expect(await contentOf()).toBe('# Diet\n');

    await page.getByRole('button', { name: 'History' }).click();
    await page.getByLabel('Search history').fill(FALSE);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Take out of all memories…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Take this text out of all memories?' });
    await dialog.getByText('2 lines: bob 1, carol 1.').waitFor();
    await dialog.getByText('Written by: mail-agent 2.').waitFor();
    await dialog.getByRole('button', { name: 'Write 2 files' }).click();
    await page.getByRole('dialog', { name: 'Taken out' }).waitFor();
    for (const userId of ['bob', 'carol']) {
      const { file } = await service.core.fileLists.file(`users/${userId}/diet.md`, {});
      expect(file.content).toBe('# Diet\n');
    }
    expectNoProblems(opened);
  });
});
