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
