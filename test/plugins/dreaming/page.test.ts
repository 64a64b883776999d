import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { GUARDS } from '../../../core/edits/guards.ts';
import { VERIFIER_PROMPT, VERIFIER_PROMPT_VERSION } from '../../../core/edits/verify.ts';
import { DREAM_KINDS, OPERATION_STATUSES, SIGNALS } from '../../../core/schemas/dreams.ts';
import { SKIP_REASONS } from '../../../plugins/dreaming/eligibility.ts';
import { PROMPT_VERSION, SYSTEM_PROMPT } from '../../../plugins/dreaming/prompt.ts';
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

  it('shows the prompts that are sent, word for word, and their versions', () => {
    const words = (text: string) => text.trim().split(/\s+/).join(' ');
    const shown = page
      .split('\n')
      .filter((line) => line.startsWith('    '))
      .join('\n');
    expect(words(shown)).toBe(words(`${SYSTEM_PROMPT} ${VERIFIER_PROMPT}`));
    expect(page).toContain(`\`${PROMPT_VERSION}\``);
    expect(page).toContain(`\`${VERIFIER_PROMPT_VERSION}\``);
  });
});
