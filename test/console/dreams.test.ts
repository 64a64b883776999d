import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { dreaming } from '../../plugins/dreaming/index.ts';
import {
  type DreamService,
  type DreamServiceOptions,
  lines,
  openDreams,
  operation,
  verdicts,
} from '../plugins/dreaming/dream-service.ts';
import {
  expectCount,
  expectFocus,
  expectNoProblems,
  expectUrl,
  go,
  jump,
  openConsole,
} from './support/console.ts';

const HEALTH = 'user/health.md';
const TEXT = `# Health

- Tea in the morning
- Tea in the morning.
- Allergic to peanuts and shellfish
- No longer allergic to shellfish
- Sleeps badly before exams
- Runs on Sundays in the park
- Runs on Sundays
`;

/**
 * Five operations: 1 is certain, 2 waits for its signals, 3 was dropped by the verifier, 4 by a
 * guard, and 5 is plain.
 */
async function openReview(options: DreamServiceOptions = {}): Promise<DreamService> {
  const service = await openDreams({ settings: { dream_mode: 'review' }, ...options });
  await service.write('alice', HEALTH, TEXT);
  service.say(() => ({
    operations: [
      operation({
        kind: 'merge',
        reason: 'It is there twice.',
        remove: lines(HEALTH, TEXT, 4),
        sources: lines(HEALTH, TEXT, 3),
      }),
      operation({
        kind: 'supersede',
        reason: 'Shellfish is fine now.',
        remove: lines(HEALTH, TEXT, 5),
        add: { path: HEALTH, heading: null, lines: ['- Allergic to peanuts'] },
        sources: lines(HEALTH, TEXT, 6),
      }),
      operation({
        kind: 'reword',
        reason: 'Shorter.',
        remove: lines(HEALTH, TEXT, 7),
        add: { path: HEALTH, heading: null, lines: ['- Sleeps badly'] },
      }),
      operation({
        kind: 'reword',
        remove: lines(HEALTH, TEXT, 1),
        add: { path: HEALTH, heading: null, lines: ['Health'] },
      }),
      operation({
        kind: 'merge',
        reason: 'The other line says more.',
        remove: lines(HEALTH, TEXT, 9),
        sources: lines(HEALTH, TEXT, 8),
      }),
    ],
  }));
  service.judge(verdicts({ 2: 'replaces', 3: 'loses', 5: 'keeps' }));
  return service;
}

const card = (page: Page, number: number) =>
  page.getByRole('listitem', { name: `Operation ${number}`, exact: true });
const result = (page: Page) => page.getByRole('status', { name: 'Result' });

describe('a dream run', () => {
  it('is found from the overview, and shows what each operation changes and what speaks against it', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: '/' });
    const { page } = opened;
    const tile = page.getByRole('link', { name: /Dream operations/ });
    await tile.getByText('3', { exact: true }).waitFor();
    await tile.click();
    await page.getByRole('button', { name: 'Open the run of alice' }).click();
    await expectUrl(page, `run=${run.id}`);

    const second = card(page, 2);
    await second.getByText('Shellfish is fine now.').waitFor();
    const before = second.getByRole('group', { name: 'Before' });
    await before.getByRole('link', { name: 'users/alice/health.md' }).waitFor();
    await before.getByText('› Health').waitFor();
    const changed = before.getByRole('paragraph').filter({ hasText: 'peanuts' });
    expect(await changed.innerText()).toMatch(
      /^Line\s+5\s+−\s+- Allergic to peanuts and shellfish\s*\d+ \w+ \d{4}$/,
    );
    // Only the words that differ are marked.
    expect(await before.locator('del').allInnerTexts()).toEqual([' and shellfish']);
    const after = second.getByRole('group', { name: 'After' });
    await after.getByText('- Allergic to peanuts').waitFor();
    await second
      .getByRole('group', { name: 'Sources, which stay' })
      .getByText('- No longer allergic to shellfish')
      .waitFor();
    await second.getByText('waiting', { exact: true }).waitFor();
    const sensitive = second.getByText('sensitive', { exact: true });
    expect(await sensitive.getAttribute('title')).toMatch(/^The lines are about health/);
    // The source ends what the line says: that is no denial to ask about.
    await expectCount(second.getByText('negation', { exact: true }), 0);
    await second.getByText('The old value no longer holds').waitFor();

    await page.getByRole('button', { name: /^All 5/ }).click();
    await card(page, 3).getByText('dropped', { exact: true }).waitFor();
    await card(page, 3).getByText('A fact would be lost', { exact: true }).waitFor();
    const final = card(page, 4);
    await final.getByText('protected. Nobody can override a guard.').waitFor();
    await expectCount(final.getByRole('button'), 0);
    expectNoProblems(opened);
  });

  it('is reviewed in context, and n goes on to the next run that waits', async () => {
    const notes = '# B\n\n- Green tea\n- Lives in Porto\n- Sings\n';
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    service.say(() => ({
      operations: [
        operation({
          kind: 'reword',
          remove: lines('user/b.md', notes, 4),
          add: { path: 'user/b.md', heading: null, lines: ['- Lives somewhere'] },
        }),
      ],
    }));
    const ids: string[] = [];
    for (const userId of ['bob', 'carol']) {
      await service.write(userId, 'user/b.md', notes);
      ids.push((await service.dream(userId)).id);
    }
    const opened = await openConsole({ service, path: `/dreams?run=${ids[1]}&status=waiting` });
    const { page } = opened;
    const first = page.locator('[data-number="1"]');
    // The lines around, as they stand.
    await first.getByText('- Green tea').waitFor();
    await first.getByText('- Sings').waitFor();
    await page.keyboard.press('n');
    await expectFocus(first);
    await page.keyboard.press('n');
    await expectUrl(page, `run=${ids[0]}`);
    await page.getByRole('heading', { name: /bob/ }).waitFor();
    await expectFocus(first);
    await page.keyboard.press('?');
    await page.getByText('Next that waits, also of other runs').waitFor();
    expectNoProblems(opened);
  });

  it('is applied as preselected, or one operation at a time, and says what became of each', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}` });
    const { page } = opened;
    await page.getByRole('button', { name: 'Apply the 2 preselected' }).click();
    await result(page).getByText('Operations 1 and 5 were applied.').waitFor();
    await card(page, 1).getByText('applied', { exact: true }).waitFor();
    // Its log is no memory file: both places count the file, and name the log.
    await page.getByText('1 file read, 1 file and the dream log written;').waitFor();
    await page.getByText('What it wrote, file by file (1 file and the dream log)').waitFor();

    await card(page, 2).getByRole('button', { name: 'Reject operation 2 (r)' }).click();
    await result(page).getByText('Operation 2 was rejected.').waitFor();

    await card(page, 3).getByRole('button', { name: 'Apply operation 3 anyway (a)' }).click();
    const dialog = page.getByRole('dialog', { name: 'Apply operation 3 anyway?' });
    await dialog.getByText('A fact would be lost', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await service.read('alice', HEALTH)).toContain('before exams');
    await card(page, 3).getByRole('button', { name: 'Apply operation 3 anyway (a)' }).click();
    await dialog.getByRole('button', { name: 'Apply anyway' }).click();
    await result(page).getByText('Operation 3 was applied.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(await service.read('alice', HEALTH)).toBe(`# Health

- Tea in the morning
- Allergic to peanuts and shellfish
- No longer allergic to shellfish
- Sleeps badly
- Runs on Sundays in the park
`);
    await expectCount(page.getByRole('checkbox'), 0);
    expectNoProblems(opened);
  });

  it('is decided on by keys, which other keys and fields never set off', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}` });
    const { page } = opened;
    await card(page, 1).waitFor();
    await page.keyboard.press('j');
    await expectFocus(card(page, 1));
    // On its way to Activity, which is another view's.
    await jump(page, 'g', 'a');
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    await page.goBack();
    await card(page, 1).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await expectFocus(card(page, 2));
    await page.keyboard.press('k');
    await expectFocus(card(page, 1));
    await page.keyboard.press('a');
    await result(page).getByText('Operation 1 was applied.').waitFor();
    await expectFocus(card(page, 1));
    await page.keyboard.press('j');
    await expectFocus(card(page, 2));
    // A key held down decides once.
    await page.keyboard.press('r');
    await page.keyboard.press('r');
    await result(page).getByText('Operation 2 was rejected.').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    const dialog = page.getByRole('dialog', { name: 'Apply operation 3 anyway?' });
    await dialog.waitFor();
    // Keys in a dialog are the dialog's.
    await page.keyboard.press('r');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Reject the operation').waitFor();
    const { json } = await service.admin('GET', `dream/runs/${run.id}`);
    expect(json.operations.map(({ status }: { status: string }) => status)).toEqual([
      ...['applied', 'rejected', 'dropped', 'dropped', 'waiting'],
    ]);
    expectNoProblems(opened);
  });

  it('lets a person choose operations, which then leave the list of those that wait', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}&status=waiting` });
    const { page } = opened;
    await expectCount(page.getByRole('listitem', { name: /^Operation/ }), 3);
    const choice = (number: number) =>
      page.getByRole('checkbox', { name: `Choose operation ${number}` });
    // The preselected are chosen from the start.
    expect(await choice(1).isChecked()).toBe(true);
    expect(await choice(2).isChecked()).toBe(false);
    await choice(2).check();
    await choice(5).uncheck();
    await page.getByRole('button', { name: 'Reject the 2 chosen' }).click();
    await result(page).getByText('Operations 1 and 2 were rejected.').waitFor();
    await expectCount(page.getByRole('listitem', { name: /^Operation/ }), 1);
    await page.getByRole('button', { name: 'Apply operation 5 (a)' }).click();
    await page.getByText('No operation of this run is waiting').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await card(page, 1).getByText('rejected', { exact: true }).waitFor();
    expectNoProblems(opened);
  });

  it('says which operation is stale, and which files a revert left', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    await service.write('alice', HEALTH, TEXT.replace('- Runs on Sundays\n', ''));
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}` });
    const { page } = opened;
    await page.getByRole('button', { name: 'Apply the 2 preselected' }).click();
    await result(page)
      .getByText(/^Operation.* 1 was applied; 5 is stale: /)
      .waitFor();
    await card(page, 5).getByText('stale', { exact: true }).waitFor();
    await card(page, 5).getByText('It is stale because:').waitFor();

    const later = `${(await service.read('alice', HEALTH)) ?? ''}- Swims\n`;
    await service.write('alice', HEALTH, later);
    await page.getByRole('button', { name: 'Revert the run' }).click();
    await page.getByRole('button', { name: /^Revert \d+ files?$/ }).click();
    await result(page)
      .getByText(/^The run was reverted/)
      .waitFor();
    // What was written since the run is kept.
    expect(await service.read('alice', HEALTH)).toContain('- Swims\n');
    expectNoProblems(opened);
  });

  it('is reverted, file by file', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}` });
    const { page } = opened;
    await page.getByRole('button', { name: 'Revert the run' }).click();
    await page.getByRole('button', { name: /^Revert \d+ files?$/ }).click();
    await result(page)
      .getByText(/^The run was reverted: \d files? put back\.$/)
      .waitFor();
    await result(page)
      .getByText(/put back as version 3/)
      .first()
      .waitFor();
    await card(page, 1).getByText('reverted', { exact: true }).waitFor();
    await expectCount(page.getByRole('button', { name: 'Revert the run' }), 0);
    expect(await service.read('alice', HEALTH)).toBe(TEXT);
    expectNoProblems(opened);
  });

  it('that is dry cannot be applied, and says so', async () => {
    const service = await openReview();
    const opened = await openConsole({ service, path: '/dreams?tab=users' });
    const { page } = opened;
    await page.getByRole('row', { name: /alice/ }).getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('it wrote nothing and cannot be applied').waitFor();
    await card(page, 2).getByText('would not be applied', { exact: true }).waitFor();
    await card(page, 2)
      .getByText(/A person decides, because/)
      .waitFor();
    await expectCount(page.getByRole('button', { name: /^(?:Apply|Reject|Revert)/ }), 0);
    await page.keyboard.press('j');
    await expectFocus(card(page, 1));
    await page.keyboard.press('a');
    await page.getByRole('link', { name: 'Back to the list' }).click();
    await page.getByRole('row', { name: /alice/ }).waitFor();
    expect(await service.read('alice', HEALTH)).toBe(TEXT);
    const { items } = await service.core.revisions.list({ actor: 'dream-agent' });
    expect(items).toEqual([]);
    expectNoProblems(opened);
  });

  it('says that it is not there, why it failed, or that it found nothing', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/a.md', 'Tea.\n');
    const opened = await openConsole({ service, path: '/dreams?run=nothing' });
    const { page } = opened;
    await page.getByRole('alert').getByText('RUN_NOT_FOUND').waitFor();
    const empty = await service.dream('alice');
    await go(page, `/dreams?run=${empty.id}`);
    await page.getByText('The model found nothing to tidy.').waitFor();
    service.say(() => 'no JSON at all');
    const failed = await service.dream('alice');
    await go(page, `/dreams?run=${failed.id}`);
    await page.getByText(failed.error.message, { exact: true }).waitFor();
    expectNoProblems(opened);
  });

  it('says what it did not look at', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/small.md', 'Likes tea.\n');
    await service.write('alice', 'user/large.md', 'A line of a long list.\n'.repeat(10_000));
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: `/dreams?run=${run.id}` });
    const part = opened.page.getByRole('region', { name: 'Left out' });
    await part.getByText(/^users\/alice\/large\.md: lines 1 to \d+ only/).waitFor();
    expectNoProblems(opened);
  });

  it('is what the activity of dreaming leads to', async () => {
    const service = await openReview();
    const run = await service.dream('alice');
    const opened = await openConsole({ service, path: '/activity?actor=dream-agent' });
    const { page } = opened;
    await page
      .getByRole('button', { name: /^Read health\.md/ })
      .first()
      .click();
    await expectUrl(page, `run=${run.id}`);
    await card(page, 1).waitFor();
    expectNoProblems(opened);
  });
});

describe('dreams', () => {
  it('list the runs that wait, those that wrote, and those of an outcome', async () => {
    const service = await openReview();
    await service.dream('alice');
    await service.write('bob', 'user/a.md', 'Tea.\n');
    service.say(() => ({ operations: [] }));
    await service.dream('bob');
    await service.write('carol', HEALTH, TEXT);
    await service.admin('PUT', 'dream/config', { dream_mode: 'auto' });
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          remove: lines(HEALTH, TEXT, 4),
          sources: lines(HEALTH, TEXT, 3),
        }),
      ],
    }));
    await service.dream('carol');
    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    const users = page.getByRole('button', { name: /^Open the run of/ });
    const shows = (...names: string[]) => expect.poll(() => users.allInnerTexts()).toEqual(names);
    await users.first().waitFor();
    await shows('alice');
    const row = page.getByRole('row', { name: /alice/ });
    await row.getByText('3 waiting', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await shows('carol', 'bob', 'alice');
    for (const [query, ...names] of [
      ['show=waiting', 'alice'],
      ['show=wrote', 'carol'],
      ['outcome=no_op', 'bob'],
      ['userId=bob', 'bob'],
      ['until=2020-01-01T00:00:00.000Z'],
    ]) {
      await go(page, `/dreams?tab=runs&${query}`);
      if (names.length === 0) await page.getByText('No runs match the filters').waitFor();
      else await shows(...names);
    }
    await page.getByRole('button', { name: 'Also later: 3 rows' }).click();
    await shows('carol', 'bob', 'alice');
    await page.getByRole('button', { name: 'Outcome no changes: 1 row' }).click();
    await shows('bob');
    expectNoProblems(opened);
  });

  it('show the first run on the first screen, however many users there are', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    for (let index = 0; index < 60; index += 1) {
      await service.write(`user-${String(index).padStart(2, '0')}`, 'user/a.md', 'Tea.\n');
    }
    await service.dream('user-07');
    const opened = await openConsole({ service, path: '/dreams?tab=runs' });
    const { page } = opened;
    const run = page.getByRole('button', { name: 'Open the run of user-07' });
    await run.waitFor();
    expect((await run.boundingBox())?.y).toBeLessThan(300);
    const parts = page.getByRole('navigation', { name: /^Parts of/ });
    await parts.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('row', { name: /user-07/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('er-42');
    await expectCount(page.getByRole('row', { name: /^user-/ }), 1);
    await expectUrl(page, 'q=er-42');
    await page.reload();
    await expectCount(page.getByRole('row', { name: /^user-/ }), 1);
    expectNoProblems(opened);
  });

  it('say in one sentence what holds, with the one thing to do', async () => {
    const without = await openConsole({ path: '/dreams', config: { plugins: [dreaming()] } });
    await without.page.getByText('Dreaming cannot run: no model is configured.').waitFor();
    await without.page.getByText(/Set SERVICE_MODEL_PROVIDER/).waitFor();
    expectNoProblems(without);

    const service = await openReview();
    await service.dream('alice');
    const byHand = await openConsole({ service, path: '/dreams' });
    await byHand.page.getByText('Runs start only by hand').waitFor();
    await byHand.page.getByText('Set SERVICE_DREAM_ENABLED=true.').waitFor();
    expectNoProblems(byHand);
  });

  it('are paused for one user, switched off for all, and keep to their bounds', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/a.md', 'a\n');
    const opened = await openConsole({ service, path: '/dreams?tab=users' });
    const { page } = opened;
    const row = page.getByRole('row', { name: /alice/ });
    await row.getByRole('button', { name: 'Pause alice' }).click();
    await row.getByRole('button', { name: 'Resume alice' }).waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByLabel('Write budget, writes per run').fill('7');
    await page.getByLabel('Waiting time, days').fill('14');
    await page.getByLabel('Time of day').fill('22:30-05:00');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).first().waitFor();
    await page.getByRole('switch', { name: 'Dreaming enabled' }).click();
    await page.getByText('Dreaming disabled', { exact: true }).first().waitFor();
    const { json } = await service.admin('GET', 'dream/config');
    expect(json).toMatchObject({
      dream_enabled: false,
      dream_max_writes: 7,
      dream_waiting_days: 14,
      dream_window: '22:30-05:00',
    });
    await page.getByLabel('Write budget, writes per run').fill('101');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('input:focus:invalid').waitFor();
    expect((await service.admin('GET', 'dream/config')).json.dream_max_writes).toBe(7);
    expectNoProblems(opened);
  });

  it('that somebody else changed meanwhile are shown beside yours, and nothing is lost unseen', async () => {
    const service = await openDreams();
    const opened = await openConsole({ service, path: '/dreams?tab=settings' });
    const { page } = opened;
    const budget = page.getByLabel('Write budget, writes per run');
    const read = async () => (await service.admin('GET', 'dream/config')).json;
    const { dream_max_writes: was } = await read();
    await budget.fill('9');
    await service.admin('PUT', 'dream/config', { dream_max_writes: 5, dream_waiting_days: 3 });
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('dialog', { name: 'The settings were changed meanwhile' });
    await conflict.getByRole('row', { name: `Write budget ${was} 5 9` }).waitFor();
    await conflict.getByRole('row', { name: /^Waiting time/ }).waitFor();
    await conflict.getByText('admin', { exact: true }).waitFor();
    await conflict.getByRole('button', { name: 'Keep editing' }).click();
    await conflict.waitFor({ state: 'detached' });
    expect(await budget.inputValue()).toBe('9');
    await page.getByRole('button', { name: 'Save' }).click();
    await conflict.getByRole('button', { name: 'Overwrite with mine' }).click();
    await page.getByText('Saved', { exact: true }).first().waitFor();
    expect(await read()).toMatchObject({ dream_max_writes: 9, dream_waiting_days: 3 });
    await expect.poll(() => page.getByLabel('Waiting time, days').inputValue()).toBe('3');

    await budget.fill('4');
    await service.admin('PUT', 'dream/config', { dream_max_writes: 6 });
    await page.getByRole('button', { name: 'Save' }).click();
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await conflict.waitFor({ state: 'detached' });
    expect(await budget.inputValue()).toBe('6');
    expect(await read()).toMatchObject({ dream_max_writes: 6 });
    expectNoProblems(opened);
  });
});
