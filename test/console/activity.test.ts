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
    await page.getByText('Tried to read users/alice/coffee.md, which does not exist').waitFor();
    await page.getByText('Searched and found tea.md').click();
    const panel = page.getByRole('dialog', { name: 'Tool call' });
    await panel.getByRole('list', { name: 'Phases' }).getByText('search.bm25').waitFor();
    await expectUrl(page, 'call=');
    await page.reload();
    await panel.getByText('search.bm25').waitFor();
    await panel.getByText('version 1, line 1').waitFor();
    await panel.getByText('Content', { exact: true }).click();
    await panel.getByText('She likes tea.').waitFor();
    await panel.getByRole('link', { name: 'users/alice/tea.md' }).click();
    await page.getByText('She likes tea.').waitFor();
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
