import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { GUARDS } from '../../../core/edits/guards.ts';
import { DREAM_KINDS, OPERATION_STATUSES, SIGNALS } from '../../../core/schemas/dreams.ts';
import { SKIP_REASONS } from '../../../plugins/dreaming/eligibility.ts';
import { PROMPT_VERSION } from '../../../plugins/dreaming/prompt.ts';
import { SETTING_SCHEMAS } from '../../../plugins/dreaming/settings.ts';

const page = await readFile('docs/concepts/dreaming.md', 'utf8');

/** The first cells of the table whose first column is called so. */
function firstCells(column: string): string[] {
  const [, table = ''] = page.split(new RegExp(`^\\| ${column} +\\|.*\\n\\| -.*\\n`, 'm'));
  const [rows = ''] = table.split('\n\n');
  return rows.split('\n').map((row) => /`(\w+)`/.exec(row)?.[1] ?? row);
}

describe('the page of dreaming', () => {
  it.each([
    ['operation', DREAM_KINDS],
    ['guard', Object.keys(GUARDS)],
    ['signal', SIGNALS],
    ['status', OPERATION_STATUSES],
    ['setting', Object.keys(SETTING_SCHEMAS)],
    ['reason', SKIP_REASONS],
  ])('lists each %s that there is, in the order in which they are asked', (column, names) => {
    expect(firstCells(column)).toEqual([...names]);
  });

  it('says the version of the prompt, and leads to its text', () => {
    expect(page).toContain(`Its version is \`${PROMPT_VERSION}\``);
    expect(page).toContain('](../reference/prompts.md)');
  });
});
