import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { lines, openDreams, operation } from '../plugins/dreaming/dream-service.ts';
import { manualClock } from '../support/clock.ts';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, go, openConsole } from './support/console.ts';

/** The most clicks of a job, from the overview on. */
const MOST = { see: 3, act: 4 };
const DAY = 86_400_000;

/** The jobs that the guide lists, with their clicks. */
const CLICKS = new Map(
  readFileSync('docs/guides/console.md', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, job = '', clicks = ''] = line.split('|').map((cell) => cell.trim());
      return /^\d+$/.test(clicks) ? [[job, Number(clicks)] as const] : [];
    }),
);
const done = new Set<string>();

/** Counts presses of the pointer and of Enter from now on; the page stays the same one to the end of the job. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.getByText('Latest revisions').waitFor();
  await page.evaluate(
    `window.clicks = 0;
    window.isCounted ??= ['pointerdown', 'keydown'].map((name) =>
      addEventListener(name, ({ key }) => { window.clicks += key === undefined || key === 'Enter' ? 1 : 0; }, true));`,
  );
  return () => page.evaluate<number>('window.clicks');
}

/** The job took as many clicks as the guide says. */
async function expectClicks(clicks: () => Promise<number>, job: string, kind: keyof typeof MOST) {
  done.add(job);
  const taken = await clicks();
  expect({ job, taken }).toEqual({ job, taken: CLICKS.get(job) });
  expect(taken, job).toBeLessThanOrEqual(MOST[kind]);
}

describe('a job of an operator takes at most three clicks to see, and four to act', () => {
  it('a wrong allergy is found in all memory, with who wrote it, and corrected', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', {
      path: 'user/health.md',
      content: '# Health\n\n- No allergies\n- Sleeps well\n',
      reason: 'Guessed from a menu.',
    });
    await call(service.core, 'bob', 'memory_write', { path: 'user/a.md', content: 'Tea.\n' });
    await visit('/');
    const clicks = await countClicks(page);
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a view, a file or a user…').fill('allergies');
    await page
      .getByRole('option', { name: 'Search all memory for “allergies”' })
      .and(page.locator('[data-highlighted]'))
      .waitFor();
    await page.keyboard.press('Enter');
    await page
      .getByRole('list', { name: 'Files with the words' })
      .getByRole('link', { name: /No allergies/ })
      .click();
    const line = page.getByRole('list', { name: 'Source' }).locator('[aria-current]');
    await line.getByText('No allergies').waitFor();
    await page.getByRole('link', { name: /“Guessed from a menu.”/ }).waitFor();
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    const editor = page.getByRole('textbox', { name: 'Content of users/alice/health.md' });
    for (const key of ['Control+Home', 'ArrowDown', 'ArrowDown', 'End']) await editor.press(key);
    await page.keyboard.type(', but to peanuts');
    await page.getByRole('button', { name: 'Save (Ctrl S)' }).click();
    await page.getByText('Saved as version 2').first().waitFor();
    await expectClicks(clicks, 'correct a wrong allergy', 'act');
    expect((await service.core.fileLists.file('users/alice/health.md', {})).file.content).toContain(
      '- No allergies, but to peanuts\n',
    );
    expectNoProblems(opened);
  });

  it('a harmful dream is reverted', async () => {
    const text = '# Health\n\n- Sleeps badly before exams\n';
    const service = await openDreams();
    await service.write('alice', 'user/health.md', text);
    service.say(() => ({
      operations: [
        operation({
          kind: 'reword',
          reason: 'Shorter.',
          remove: lines('user/health.md', text, 3),
          add: { path: 'user/health.md', heading: null, lines: ['- Sleeps badly'] },
        }),
      ],
    }));
    await service.dream('alice');
    expect(await service.read('alice', 'user/health.md')).not.toBe(text);
    const opened = await openConsole({ service, path: '/' });
    const { page } = opened;
    const clicks = await countClicks(page);
    await page
      .getByRole('link', { name: /dream-agent/ })
      .first()
      .click();
    const revision = page.getByRole('article', { name: 'Revision' });
    await revision
      .getByRole('definition')
      .filter({ hasText: /^[0-9a-f-]{36}$/ })
      .getByRole('link')
      .last()
      .click();
    await page.getByRole('button', { name: 'Revert the run' }).click();
    // After the look at what it would do.
    await page.getByRole('button', { name: /^Revert \d+ files?$/ }).click();
    await page
      .getByText(/^The run was reverted: \d files? put back\.$/)
      .first()
      .waitFor();
    await expectClicks(clicks, 'undo a harmful dream', 'act');
    expect(await service.read('alice', 'user/health.md')).toBe(text);
    expectNoProblems(opened);
  });

  it('dead weight is found: whose memory no agent was shown', async () => {
    const clock = manualClock(Date.now() - 60 * DAY);
    const opened = await openConsole({ path: '/nothing', config: { now: clock.now } });
    const { page, service, visit } = opened;
    const write = (userId: string) =>
      call(service.core, userId, 'memory_write', { path: 'user/a.md', content: 'Likes tea.\n' });
    const find = (userId: string) => call(service.core, userId, 'memory_find', { query: 'tea' });
    for (const userId of ['never', 'long-ago', 'played', 'used']) await write(userId);
    await find('long-ago');
    clock.advance(59 * DAY);
    await find('used');
    // What the Playground reads is no use, and what is new had no time to be used.
    await service.core.tools.executeAs(
      'memory_read',
      { context: { userId: 'played' }, arguments: { path: 'user/a.md' } },
      { actor: 'playground' },
    );
    await write('new');
    await visit('/');
    const clicks = await countClicks(page);
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('button', { name: /^Dead weight/ }).click();
    await page.getByRole('status').getByText('3 users shown').waitFor();
    await page.getByRole('button', { name: 'Open never' }).waitFor();
    await page.getByRole('button', { name: 'Open long-ago' }).waitFor();
    await page.getByRole('button', { name: 'Open played' }).waitFor();
    expect(await page.getByRole('button', { name: 'Open new' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Open used' }).count()).toBe(0);
    await expectClicks(clicks, 'find users whose memory is dead weight', 'see');
    // The same among all users, which are read where findings are sorted by.
    await visit('/users?show=dead&sort=findings');
    await page.getByRole('status').getByText('3 users shown').waitFor();
    await page.getByRole('button', { name: 'Open played' }).waitFor();
    expectNoProblems(opened);
  });

  it('a slow call is found, with the phase that took the time', async () => {
    const opened = await openConsole({ path: '/nothing', config: { sla: { slowCallMs: 1 } } });
    const { page, service, visit } = opened;
    const content = 'Likes tea in the morning, and jazz.\n'.repeat(7_000);
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content });
    await visit('/');
    const clicks = await countClicks(page);
    await page
      .getByRole('navigation', { name: 'Views' })
      .getByRole('link', { name: 'Observability' })
      .click();
    await page
      .getByRole('list', { name: 'Calls', exact: true })
      .getByRole('button', { name: /memory_write/ })
      .click();
    await page
      .getByRole('dialog', { name: 'Tool call' })
      .getByRole('button', { name: /^db/ })
      .first()
      .waitFor();
    await expectClicks(clicks, 'find out why a call was slow', 'see');
    expectNoProblems(opened);
  });

  it('the code that connects LangChain is copied', async () => {
    const opened = await openConsole({ path: '/nothing', context: {} });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'Tea.\n' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await visit('/');
    const clicks = await countClicks(page);
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a view, a file or a user…').fill('langchain');
    await page.getByRole('option', { name: 'Code for LangChain' }).click();
    await expectUrl(page, 'lang=langchain');
    await page.getByRole('region', { name: 'LangChain snippet' }).waitFor();
    await page.getByRole('button', { name: 'Copy the snippet' }).click();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('langchain');
    await expectClicks(clicks, 'copy the code that connects LangChain', 'see');
    expectNoProblems(opened);
  });

  it('eleven more jobs, and no other is in the guide', async () => {
    const opened = await openConsole({ path: '/nothing', context: { acceptDownloads: true } });
    const { page, service, visit } = opened;
    const { core } = service;
    const write = (userId: string, content: string) =>
      call(core, userId, 'memory_write', { path: 'user/a.md', content, reason: 'As told.' });
    await write('alice', 'Likes green tea.\n');
    await write('alice', 'Likes black tea.\n');
    await write('bob', 'Sings.\n');
    await call(core, 'alice', 'memory_find', { query: 'tea' });
    await call(core, 'bob', 'memory_read', { path: 'user/none.md' }).catch(() => undefined);
    await visit('/');
    const nav = (name: string) =>
      page
        .getByRole('navigation', { name: 'Views' })
        .getByRole('link', { name, exact: true })
        .click();
    const take = async (text: string, option: RegExp) => {
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Go to a view, a file or a user…').fill(text);
      await page.getByRole('option', { name: option }).first().click();
    };
    const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
    /** Each begins at the overview. */
    const jobs: readonly [job: string, kind: keyof typeof MOST, work: () => Promise<unknown>][] = [
      [
        'see who wrote a line, and why',
        'see',
        async () => {
          await take('black', /^Search all memory/);
          await page.getByRole('link', { name: /Likes black tea/ }).click();
          await page.getByRole('link', { name: /“As told.”/ }).waitFor();
        },
      ],
      [
        'see who looked at contents',
        'see',
        async () => {
          await take('looked', /^Who looked/);
          await page.getByText('contents.read').first().waitFor();
        },
      ],
      [
        'see who wrote most, and what it cost',
        'see',
        async () => {
          await nav('Usage');
          const table = page.getByRole('region', { name: 'By user and space', exact: true });
          await table.getByRole('row', { name: /^alice 2/ }).waitFor();
          await page.getByRole('region', { name: 'By model' }).waitFor();
        },
      ],
      [
        'see what is set, and where',
        'see',
        async () => {
          await nav('Configuration');
          await page.getByRole('region', { name: 'Access', exact: true }).waitFor();
        },
      ],
      [
        'see the accesses of a user that failed',
        'see',
        async () => {
          await nav('Activity');
          await button(/^Outcome not found/).click();
          await button(/^User bob/).click();
          await page.getByText('1 call shown').waitFor();
        },
      ],
      [
        'see why a question does not find a file',
        'see',
        async () => {
          await take('bob/a', /^users\/bob\/a\.md/);
          await page.getByRole('link', { name: 'Why was it not found?' }).click();
          await page.getByLabel('query', { exact: true }).fill('tea');
          await button('Explain').click();
          await page.getByText(/^It has none of the words/).waitFor();
        },
      ],
      [
        'see what changed',
        'see',
        async () => {
          await nav('Revisions');
          await button('Open version 2 of users/alice/a.md').click();
          await page.getByRole('region', { name: /^Diff: / }).waitFor();
        },
      ],
      [
        'stop the writes of a user',
        'act',
        async () => {
          await nav('Users');
          await button('Open bob').click();
          await page
            .getByRole('dialog', { name: 'bob' })
            .getByRole('button', { name: 'Stop writes…' })
            .click();
          const stop = page.getByRole('dialog', { name: 'Stop writes?' });
          await stop.getByLabel('Reason').fill('looks odd');
          await stop.getByRole('button', { name: 'Stop writes' }).click();
          await stop.waitFor({ state: 'detached' });
        },
      ],
      [
        'make an API key',
        'act',
        async () => {
          await take('new api', /^New API key/);
          const form = page.getByRole('dialog', { name: 'New API key' });
          await form.getByLabel('Name', { exact: true }).fill('bot');
          await form.getByRole('button', { name: 'Make the key' }).click();
          await button('I have stored the key').click();
        },
      ],
      [
        'export the memory of a user',
        'act',
        async () => {
          await take('alice', /^Export the memory of alice/);
          const dialog = page.getByRole('dialog');
          await dialog.getByRole('button', { name: 'Export', exact: true }).click();
          await dialog.getByText('Saved memory-alice').waitFor();
        },
      ],
      [
        'revert a write',
        'act',
        async () => {
          await nav('Revisions');
          await button('Open version 2 of users/alice/a.md').click();
          await button('Revert…').click();
          const dialog = page.getByRole('dialog');
          await dialog
            .getByRole('button', { name: /^Revert/ })
            .last()
            .click();
          await page.getByRole('dialog', { name: 'Reverted' }).waitFor();
          expect((await core.fileLists.file('users/alice/a.md', {})).file.content).toBe(
            'Likes green tea.\n',
          );
        },
      ],
    ];
    for (const [job, kind, work] of jobs) {
      await go(page, '/');
      const clicks = await countClicks(page);
      await work();
      await expectClicks(clicks, job, kind);
    }
    expect([...done].sort()).toEqual([...CLICKS.keys()].sort());
    expectNoProblems(opened);
  });
});
