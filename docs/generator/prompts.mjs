// Prompts in the pages: what stands between `<!-- prompt <name> -->` and `<!-- end of prompt -->` is
// written from the code. test/plugins/dreaming/page.test.ts fails when it is stale.

const WIDTH = 96;

/**
 * Fills the prompts of a page.
 *
 * @param {string} page
 * @param {Readonly<Record<string, string>>} prompts by name
 */
export function fillPrompts(page, prompts) {
  return page.replaceAll(
    /(<!-- prompt (\w+) -->\n)[\s\S]*?(<!-- end of prompt -->)/g,
    (_all, start, name, end) => `${start}\n${renderPrompt(prompts[name] ?? '')}\n\n${end}`,
  );
}

/** @param {string} prompt */
function renderPrompt(prompt) {
  return prompt
    .split('\n')
    .flatMap((line) => wrap(line))
    .map((line) => (line === '' ? '' : `    ${line}`))
    .join('\n');
}

/** @param {string} line */
function wrap(line) {
  const indent = line.startsWith('- ') ? '  ' : '';
  const rows = [''];
  for (const word of line.split(' ')) {
    const row = rows.at(-1) ?? '';
    if (row.trim() === '') rows[rows.length - 1] = `${row}${word}`;
    else if (row.length + word.length + 1 <= WIDTH) rows[rows.length - 1] = `${row} ${word}`;
    else rows.push(`${indent}${word}`);
  }
  return rows;
}
