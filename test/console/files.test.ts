import { describe, expect, it } from 'vitest';
import { asAdmin, type LiveServer } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectFocus,
  expectNoProblems,
  expectUrl,
  exportAs,
  go,
  openConsole,
} from './support/console.ts';

const PATH = 'users/alice/profile.md';
const put = (service: LiveServer, content: string, path = PATH) =>
  service.request('PUT', `/v1/admin/files/${path}`, { body: { content }, headers: asAdmin });
const contentOf = async (service: LiveServer) =>
  (await service.request('GET', `/v1/admin/files/${PATH}`, { headers: asAdmin })).json.file.content;

describe('a memory file', () => {
  it('is edited with its reason, saved with Ctrl+S, and not left unsaved by accident', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await put(service, '# Alice\n');
    await visit(`/files?path=${PATH}`);
    await page.getByText('# Alice').waitFor();
    await page.keyboard.press('e');
    const editor = page.getByRole('textbox', { name: `Content of ${PATH}` });
    await expectFocus(editor);
    await page.keyboard.press('Control+End');
    await page.keyboard.type('- tea');

    await page.getByRole('link', { name: 'Activity', exact: true }).click();
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await leave.getByRole('button', { name: 'Cancel' }).click();
    await leave.waitFor({ state: 'hidden' });
    await editor.getByText('- tea').waitFor();

    await page.getByPlaceholder(/^Reason/).fill('She told support.');
    await editor.click();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved as version 2').first().waitFor();
    expect(await contentOf(service)).toBe('# Alice\n- tea');
    const { items } = (await service.request('GET', '/v1/admin/revisions', { headers: asAdmin }))
      .json;
    expect(items[0]).toMatchObject({ actor: 'admin', reason: 'She told support.' });
    expectNoProblems(opened);
  });

  it('says beside each line who wrote it, when, and after reading what', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const tool = (name: string, args: object, actor: string) =>
      call<{ revisionId: string }>(service.core, 'alice', name, args, { actor });
    await put(service, '# Alice\n\n- tea\n');
    await put(service, 'Alice moved to Porto.\n', 'users/alice/mail.md');
    await tool('memory_read', { path: 'user/mail.md' }, 'planner');
    const edits = [{ oldText: '- tea\n', newText: '- tea\n- lives in Porto\n' }];
    const patch = { path: 'user/profile.md', edits, reason: 'From her mail.' };
    const { revisionId } = (await tool('memory_patch', patch, 'planner')).result;
    await visit(`/files?path=${PATH}`);
    await page.getByRole('button', { name: 'Blame' }).click();
    await page.getByRole('link', { name: /^Lines 1 to 3\. Version 1 by admin/ }).waitFor();
    const line = page.getByRole('link', { name: /^Lines 4 to 4\./ });
    expect(await line.getAttribute('title')).toBe(
      'Version 2 by planner with memory_patch. “From her mail.” ' +
        'Written after reading probably users/alice/mail.md.',
    );
    await line.click();
    await expectUrl(page, `/revisions?id=${revisionId}`);
    const read = page.getByRole('article', { name: 'Revision' }).getByText('Written after reading');
    await read.waitFor();
    await page.getByRole('link', { name: 'users/alice/mail.md' }).waitFor();
    await page.getByText('probably', { exact: true }).waitFor();
    // By its address, and of an earlier version.
    await visit(`/files?path=${PATH}&as=blame&version=1&earlier=content`);
    await page.getByRole('link', { name: /^Lines 1 to 3\. Version 1 by admin/ }).waitFor();
    expectNoProblems(opened);
  });

  it('of thousands of lines is drawn as far as it is seen, as source and with its blame', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const lines = Array.from({ length: 6_000 }, (_, n) => `- fact ${n + 1}`);
    const write = (content: string) =>
      call(service.core, 'alice', 'memory_write', { path: 'user/long.md', content });
    await write(`${lines.join('\n')}\n`);
    await write(`${lines.map((line) => `${line}, changed`).join('\n')}\n`);
    const source = page.getByRole('list', { name: 'Source' }).getByRole('listitem');
    const most = 150;

    // A link to a line far below brings it into view.
    await visit('/files?path=users/alice/long.md&line=5900');
    await source.getByText('fact 5900, changed').waitFor();
    expect(await source.count()).toBeLessThan(most);
    await page.locator('[data-scroll=content]').evaluate((part) => (part.scrollTop = 0));
    await source.getByText('fact 1, changed').waitFor();
    await page.getByRole('button', { name: 'Blame' }).click();
    await page.getByRole('link', { name: /^Lines 1 to 6000/ }).waitFor();
    expect(await source.count()).toBeLessThan(most);

    // To find on the page, or to select it all.
    await visit('/files?path=users/alice/long.md');
    await page.getByRole('button', { name: 'Draw all, to find on the page' }).click();
    await expectCount(source, 6_000);
    expectNoProblems(opened);
  });

  it('is rendered with its front matter, right-to-left text, aligned cells and links to memory', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const write = (path: string, content: string) =>
      call(service.core, 'alice', 'memory_write', { path, content });
    await write('user/projects/tea.md', 'Likes tea.\n');
    await write(
      'user/index.md',
      [
        '---\ntitle: "All of it"\ntags:\n  - food\n  - work\n---',
        'See [tea](projects/tea.md) and [out](../../bob/x.md), [[projects/tea|the wiki]], [then](projects/tea.md#v1).',
        'שלום עולם',
        '| name | count |\n| :-- | --: |\n| tea | 7 |',
      ].join('\n\n'),
    );
    await visit('/files?path=users/alice/index.md&as=rendered');
    await page.getByRole('row', { name: 'tags food, work' }).waitFor();
    await page.getByRole('row', { name: 'title All of it' }).waitFor();
    const styleOf = (selector: string, name: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('.rendered ${selector}')).${name}`);
    expect(await styleOf('> p + p', 'direction')).toBe('rtl');
    expect(await styleOf('td.align-right', 'textAlign')).toBe('right');
    expect(await page.getByText('out', { exact: true }).getAttribute('href')).toBeNull();
    await page.getByRole('link', { name: 'tea', exact: true }).click();
    await expectUrl(page, 'path=users/alice/projects/tea.md');
    await page.getByText('Likes tea.').waitFor();
    await page.goBack();
    const [wiki, version] = ['the wiki', 'then'].map((name) =>
      page.getByRole('link', { name, exact: true }),
    );
    expect(await wiki?.getAttribute('href')).toContain('path=users/alice/projects/tea.md');
    expect(await version?.getAttribute('href')).toContain('version=1');
    expectNoProblems(opened);
  });

  it('is rendered with the lines grey that have expired', async () => {
    const opened = await openConsole({ path: '/nothing' });
    const { page, service, visit } = opened;
    const old = '<!-- until: 2020-01-01 -->';
    await put(
      service,
      `---\ntitle: Team\n---\n\n# Team\n\n- Carol\n- Bob **was** away ${old}\n\nDan one\nDan two ${old}\nDan three\n`,
    );
    await visit(`/files?path=${PATH}&as=rendered`);
    await page.getByText('leave out what has expired: line 8, 11.').waitFor();
    const grey = page.locator('.rendered .expired');
    const texts = (await grey.allTextContents()).map((text) => text.trim());
    expect(texts.join(' ')).toBe(`Bob was away ${old} Dan two ${old}`);
    expect(await grey.first().getAttribute('title')).toBe('Expired: valid until 2020-01-01');
    const colourOf = (name: string) =>
      page.evaluate(
        `getComputedStyle([...document.querySelectorAll('.rendered *')].findLast((one) => one.textContent.trim() === '${name}')).color`,
      );
    expect(await colourOf('was')).not.toBe(await colourOf('Carol'));

    await put(service, '---\nvalid_until: 2020-01-01\n---\n\nDan\n');
    await visit(`/files?path=${PATH}&as=rendered`);
    await page.getByText('This file has expired').waitFor();
    await page.locator('.rendered.expired').getByText('Dan').waitFor();
    expectNoProblems(opened);
  });

  it('takes back what was typed, step by step', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await put(service, 'one\n');
    await visit(`/files?path=${PATH}`);
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    const editor = page.getByRole('textbox', { name: `Content of ${PATH}` });
    await editor.click();
    await page.keyboard.press('Control+End');
    // At once: keys that come slowly are a step each.
    await page.keyboard.insertText('two');
    await page.keyboard.press('Control+z');
    await page
      .getByRole('button', { name: 'Save (Ctrl S)' })
      .and(page.locator(':disabled'))
      .waitFor();
    await page.keyboard.press('Control+y');
    await page.getByText('not saved').waitFor();
    await editor.getByText('two').waitFor();
    expectNoProblems(opened);
  });

  it('that someone else wrote meanwhile shows both changes, and takes a result of the two', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await put(service, 'name: Alice\n\ncity: Porto\n\n\n');
    await visit(`/files?path=${PATH}`);
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    await page.getByRole('textbox', { name: `Content of ${PATH}` }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('tea: green');
    await call(service.core, 'alice', 'memory_patch', {
      path: 'user/profile.md',
      edits: [{ oldText: 'Porto', newText: 'Lisbon' }],
    });
    await page.keyboard.press('Control+s');

    const dialog = page.getByRole('dialog', { name: 'Someone else changed this file' });
    await dialog.getByRole('button', { name: 'Their changes' }).waitFor();
    await dialog.getByText('Lisbon').waitFor();
    await dialog.getByRole('button', { name: 'Your changes' }).click();
    await dialog.getByText('tea: green').waitFor();
    await dialog.getByRole('button', { name: 'Show the result' }).click();
    await dialog.getByText('The result has both').waitFor();
    const result = dialog.getByRole('textbox', { name: 'Result' });
    await result.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('!');
    await dialog.getByRole('button', { name: 'Save the result' }).click();
    await page.getByText('Saved as version 3').first().waitFor();
    expect(await contentOf(service)).toBe('name: Alice\n\ncity: Lisbon\n\n\ntea: green!');
    expectNoProblems(opened);
  });

  it('that others write while two changes are merged shows the new change, and loses none', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const patch = (oldText: string, newText: string) =>
      call(service.core, 'alice', 'memory_patch', {
        path: 'user/profile.md',
        edits: [{ oldText, newText }],
      });
    await put(service, 'name: Alice\n\n\ncity: Porto\n\n\njob: none\n\n\n');
    await visit(`/files?path=${PATH}`);
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    await page.getByRole('textbox', { name: `Content of ${PATH}` }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('tea: green');
    await patch('Porto', 'Lisbon');
    await page.keyboard.press('Control+s');
    const dialog = page.getByRole('dialog', { name: 'Someone else changed this file' });
    await dialog.getByRole('button', { name: 'Show the result' }).click();
    await dialog.getByText('The result has both').waitFor();
    await patch('none', 'baker');
    await dialog.getByRole('button', { name: 'Save the result' }).click();
    await dialog.getByText('baker').waitFor();
    await dialog.getByRole('button', { name: 'Show the result' }).click();
    await dialog.getByText('The result has both').waitFor();
    await dialog.getByRole('button', { name: 'Save the result' }).click();
    await page.getByText('Saved as version 4').first().waitFor();
    const merged = 'name: Alice\n\n\ncity: Lisbon\n\n\njob: baker\n\n\ntea: green';
    expect(await contentOf(service)).toBe(merged);
    expectNoProblems(opened);
  });

  it('shows an earlier version by its address, alone or against the present one, and brings it back', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    for (const content of ['one\n', 'two\n', 'three\n']) await put(service, content);
    await visit(`/files?path=${PATH}&version=1`);
    const diff = page.getByRole('region', { name: 'Diff: Version 1 and Current' });
    await diff.getByText('one').waitFor();
    await diff.getByText('three').waitFor();
    await page.getByRole('slider', { name: 'Version' }).press('ArrowRight');
    await page.getByRole('region', { name: 'Diff: Version 2 and Current' }).waitFor();
    await expectUrl(page, 'version=2');
    await page.getByRole('button', { name: 'Whole file' }).click();
    await expectUrl(page, 'lines=all');
    await page.reload();
    await page.getByRole('button', { name: 'Only changes' }).waitFor();
    await page.getByRole('button', { name: 'Content', exact: true }).click();
    await expectUrl(page, 'earlier=content');
    await page.reload();
    await page.getByRole('button', { name: 'Compare with current' }).waitFor();
    await page.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByText('Restored version 2 as version 4').first().waitFor();
    expect(await contentOf(service)).toBe('two\n');
    expectNoProblems(opened);
  });
});

describe('a search for paths', () => {
  it('is a link, leads to its files, and is exported', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await put(service, 'tea\n', 'users/alice/notes/tea.md');
    await put(service, 'tea\n', 'shared/tea.md');
    await put(service, 'cake\n', 'shared/cake.md');
    await visit('/files?q=tea');
    await page.getByRole('button', { name: /notes.*tea\.md/ }).waitFor();
    const { name, text } = await exportAs(page, 'JSON');
    expect(name).toBe('files.json');
    const rows = JSON.parse(text) as { path: string }[];
    expect(rows.map(({ path }) => path)).toEqual(['shared/tea.md', 'users/alice/notes/tea.md']);
    await page.getByRole('button', { name: /notes.*tea\.md/ }).click();
    await page.getByRole('heading', { name: 'users/alice/notes/tea.md' }).waitFor();
    await expectUrl(page, 'q=tea');
    expectNoProblems(opened);
  });
});

describe('the tree', () => {
  it('draws what is seen of many files alone, and is walked by the keyboard', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await Promise.all(
      Array.from({ length: 230 }, (_, file) =>
        call(service.core, 'alice', 'memory_write', {
          path: `user/notes/${String(file).padStart(4, '0')}.md`,
          content: 'x',
        }),
      ),
    );
    await visit('/files?folder=users/alice/notes/');
    const tree = page.getByRole('tree');
    await tree.getByText('0000.md').waitFor();
    expect(await tree.getByRole('treeitem').count()).toBeLessThan(80);
    await tree.focus();
    await page.keyboard.press('End');
    await tree.getByText('0229.md').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'users/alice/notes/0229.md' }).waitFor();
    expectNoProblems(opened);
  });
});

describe('the files', () => {
  it('open on what changed lately, with the users by their last change', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const write = (user: string, path: string, reason: string) =>
      call(service.core, user, 'memory_write', { path, content: 'tea\n', reason });
    await write('alice', 'user/a.md', 'First.');
    await write('bob', 'user/b.md', 'Second.');
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'green\n' });
    await visit('/files');
    const changed = page.getByRole('region', { name: 'Changed in the last 24 hours' });
    await changed.getByText('Second.').waitFor();
    // A file once, with its newest revision.
    expect(
      await changed
        .getByRole('listitem')
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => link.ariaLabel)),
    ).toEqual(['users/alice/a.md', 'users/bob/b.md']);
    const users = page.getByRole('region', { name: 'Users by last change' });
    expect(
      (await users.getByRole('listitem').allInnerTexts()).map((text) => text.split(/\s/)[0]),
    ).toEqual(['alice', 'bob']);
    await changed.getByRole('link', { name: 'users/bob/b.md' }).click();
    await page.getByRole('heading', { name: 'users/bob/b.md' }).waitFor();
    expectNoProblems(opened);
  });

  it('open on all users and what was left out, also where one user wrote more than the rest', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await put(service, 'tea\n', 'users/quiet/a.md');
    // One after the other: at the same time, writes of one memory wait for each other.
    for (let n = 0; n < 210; n += 1) {
      await put(service, `${n}\n`, `users/busy/${n % 30}.md`);
    }
    await visit('/files');
    const users = page.getByRole('region', { name: 'Users by last change' });
    await users.getByRole('link', { name: 'quiet', exact: true }).waitFor();
    expect(
      (await users.getByRole('listitem').allInnerTexts()).map((text) => text.split(/\s/)[0]),
    ).toEqual(['busy', 'quiet']);
    const changed = page.getByRole('region', { name: 'Changed in the last 24 hours' });
    await changed.getByText('Only the latest 25 files:').waitFor();
    await changed.getByRole('link', { name: 'all revisions of the last 24 hours' }).click();
    await expectUrl(page, '/revisions?since=24h');
    expectNoProblems(opened);
  });

  it('far down in a large folder are selected by their address, and loaded by scrolling', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const names = Array.from({ length: 1_100 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    await Promise.all(
      names.map((name) =>
        call(service.core, 'alice', 'memory_write', { path: `user/all/${name}.md`, content: name }),
      ),
    );
    await visit('/files?path=users/alice/all/n0700.md');
    const chosen = page.getByRole('treeitem', { selected: true });
    await chosen.getByText('n0700.md').waitFor();
    const header = page.getByRole('searchbox', { name: 'Search paths' });
    expect((await header.boundingBox())?.height).toBeGreaterThan(20);
    const tree = page.getByRole('tree', { name: 'Memory files' });
    await tree.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('End');
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return await tree.getByText('n1099.md').count();
      })
      .toBe(1);
    expectNoProblems(opened);
  });

  it('are shown in the tree by a link from another view, also where their folder was listed before', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    for (let n = 100; n < 200; n += 1) {
      const path = `user/notes/n-${n}.md`;
      await call(service.core, 'alice', 'memory_write', { path, content: 'x' });
    }
    await visit('/files?folder=users/alice/notes/');
    await page.getByRole('tree').getByText('n-101.md').waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { name: 'Tool Playground' }).waitFor();
    await go(page, '/files?path=users/alice/notes/n-190.md');
    await page.getByRole('treeitem', { selected: true }).getByText('n-190.md').waitFor();
    expectNoProblems(opened);
  });

  it('say when they were last read, and when they were last shown', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', {
      path: 'user/a.md',
      content: 'green tea\n',
    });
    const aside = page.getByRole('complementary', { name: 'About this file' });
    const row = async (name: string) =>
      (await aside.locator('dt', { hasText: name }).locator('+ dd').innerText()).trim();
    await visit('/files?path=users/alice/a.md');
    await aside.getByText('Last shown').waitFor();
    await expect.poll(() => row('Last shown')).toBe('never');
    await call(service.core, 'alice', 'memory_find', { query: 'tea' });
    await service.core.queue.flush();
    await page.reload();
    await aside.getByText('Last shown').waitFor();
    await expect.poll(() => row('Last shown')).toMatch(/now|ago/);
    expect(await row('Last read')).toBe('never');
    expectNoProblems(opened);
  });
});
