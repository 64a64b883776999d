import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, exportAs, openConsole } from './support/console.ts';

describe('the activity', () => {
  it('tells a tool call as a story, and its address opens the trace again', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'She likes tea.\n' });
    await call(core, 'alice', 'memory_find', { query: 'tea' });
    await call(core, 'alice', 'memory_read', { path: 'user/coffee.md' }).catch(() => undefined);
    await visit('/activity');
    await page.getByText('Searched and found tea.md').waitFor();
    await page.getByText('3 calls shown').waitFor();
    await page.getByText('Tried to read users/alice/coffee.md, which does not exist').waitFor();
    await page.getByText('Searched and found tea.md').click();
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await panel.getByRole('list', { name: 'Phases' }).getByText('search.bm25').waitFor();
    await expectUrl(page, 'call=');
    await page.reload();
    await panel.getByText('search.bm25').waitFor();
    await panel.getByText('version 1, line 1').waitFor();
    await panel.getByText('She likes tea.').waitFor();
    expectNoProblems(opened);
  });

  it('shows the version and the lines that a call was shown, not what the file holds now', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    const path = 'user/tea.md';
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await call(core, 'alice', 'memory_write', { path, content: '# Tea\n\nGreen.\nBlack.\n' });
    const lines = { path, startLine: 3, endLine: 4 };
    const read = await call(core, 'alice', 'memory_read', lines, { traceparent });
    await call(core, 'alice', 'memory_write', { path, content: 'Coffee.\n' });
    await core.queue.flush();
    // A trace may hold many calls: each leads to what it was shown.
    await visit(`/activity?trace=${read.traceId}`);
    await page.getByRole('link', { name: 'What it was shown' }).click();
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await panel.getByText('version 1, lines 3–4').waitFor();
    const content = panel.getByRole('region', {
      name: 'Lines shown: users/alice/tea.md, lines 3–4',
    });
    expect((await content.innerText()).split(/\s+/)).toEqual(['3', 'Green.', '4', 'Black.']);
    await panel.getByRole('link', { name: 'users/alice/tea.md, version 1' }).first().click();
    await page.getByText('# Tea').waitFor();
    await expectUrl(page, 'version=1');
    await page.getByText('Coffee.').waitFor({ state: 'hidden' });
    expectNoProblems(opened);
  });

  it('shows how each access ended on a screen of 1024 px', async () => {
    const opened = await openConsole({ context: { viewport: { width: 1024, height: 700 } } });
    const { page, service, visit } = opened;
    const { core } = service;
    const path = 'user/projects/a-folder-with-a-name/a-file-with-a-long-name-2026.md';
    await call(core, 'someone.with.a.name', 'memory_write', { path, content: 'tea\n' });
    await call(core, 'someone.with.a.name', 'memory_read', { path: `${path}x.md` }).catch(
      () => undefined,
    );
    await core.queue.flush();
    await visit('/activity?rows=each');
    // The version that was written, not what the file holds now.
    const link = `users/someone.with.a.name/${path.slice('user/'.length)}, version 1`;
    await page.getByRole('link', { name: link }).waitFor();
    for (const outcome of ['ok', 'not found']) {
      const box = await page.getByRole('cell', { name: outcome, exact: true }).boundingBox();
      expect((box?.x ?? 9_999) + (box?.width ?? 0)).toBeLessThanOrEqual(1024);
    }
    expectNoProblems(opened);
  });

  it('is filtered by values that there are, with their counts, and says which filter leaves nothing', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    for (const userId of ['alice', 'bob']) {
      await call(core, userId, 'memory_write', { path: 'user/tea.md', content: 'tea\n' });
      await call(core, userId, 'memory_read', { path: 'user/tea.md' });
    }
    await visit('/activity');
    await page.getByRole('button', { name: 'User alice: 2 rows' }).click();
    await expectUrl(page, 'userId=alice');
    await page.getByText('2 calls shown').waitFor();
    await page.getByRole('button', { name: 'Action read: 1 row' }).click();
    await page.getByText('1 call shown').waitFor();
    await visit('/activity?userId=ali&action=read');
    await page.getByText('No row that passes the others has User “ali”.').waitFor();
    await page.getByText('No access has one of these values.').waitFor();
    await page.getByRole('button', { name: 'Without User: 2 rows' }).waitFor();
    await page.getByRole('button', { name: 'Filter by User alice' }).click();
    await page.getByText('1 call shown').waitFor();
    // One field for the time range, here as in all views.
    await page.getByRole('button', { name: 'Time range: Any time' }).click();
    const range = page.getByRole('dialog', { name: 'Time range' });
    await range.getByRole('button', { name: 'Last 7 days' }).click();
    await expectUrl(page, 'since=7d');
    await page.getByRole('button', { name: 'Time range: Last 7 days' }).click();
    await range.getByLabel('From').fill('2020-01-02T00:00:00');
    await range.getByLabel('To').fill('2020-01-01T00:00:00');
    await range.getByRole('button', { name: 'Apply' }).click();
    await range.getByText('The range ends before it begins.').waitFor();
    await range.getByLabel('To').fill('2020-01-03T00:00:00');
    await range.getByRole('button', { name: 'Apply' }).click();
    await range.waitFor({ state: 'hidden' });
    await expectUrl(page, 'until=2020-01-0');
    await page.getByRole('button', { name: 'Also later: 1 row' }).click();
    await page.getByText('1 call shown').waitFor();
    expectNoProblems(opened);
  });

  it('is exported as it is filtered, with cells that no spreadsheet runs', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const actor = '=HYPERLINK("http://evil.example")';
    // More than one page of the list: all of them are exported.
    await Promise.all(
      Array.from({ length: 130 }, () => call(service.core, 'alice', 'memory_list', {}, { actor })),
    );
    await call(service.core, 'bob', 'memory_list', {});
    await visit('/activity?userId=alice');
    const csv = await exportAs(page, 'CSV');
    expect(csv.name).toBe('access-logs.csv');
    expect(csv.text).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
    expect(csv.text.split('\r\n')).toHaveLength(132);
    expect(csv.text).not.toContain('bob');

    const json = await exportAs(page, 'JSON');
    expect(json.name).toBe('access-logs.json');
    const rows = JSON.parse(json.text) as { actor: string; userId: string }[];
    expect(rows.filter((row) => row.userId === 'alice' && row.actor === actor)).toHaveLength(130);
    expect(rows).toHaveLength(130);
    expectNoProblems(opened);
  });
});
