import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indentOf, isBlank, isItem, parseMarkdown } from '../../../core/edits/markdown.ts';
import { applyEdits } from '../../../core/edits/engine.ts';
import { Workspace } from '../../../core/edits/workspace.ts';
import { countMatched } from '../../support/count-steps.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const A = 'user/a.md';
const LIMITS = { maxFileBytes: 262_144, mayCreate: true };

function open(content: string): Workspace {
  const steps = Workspace.open(memoryOf({ [A]: content }));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** What stands above a line, found by going up from it. */
function walkUp(lines: readonly string[], at: number): { headings: string[]; parents: string[] } {
  const levelAt = (line: number) => /^#+(?=\s|$)/.exec(lines[line] ?? '')?.[0].length ?? 7;
  const headings: string[] = [];
  let level = levelAt(at);
  for (let up = at - 1; up >= 0; up -= 1) {
    if (levelAt(up) >= level) continue;
    level = levelAt(up);
    headings.unshift((lines[up] ?? '').slice(level).trim());
  }
  const parents: string[] = [];
  let indent = indentOf(lines[at] ?? '');
  for (let up = at - 1; up >= 0 && levelAt(up) === 7; up -= 1) {
    const text = lines[up] ?? '';
    if (isBlank(text) || indentOf(text) >= indent) continue;
    indent = indentOf(text);
    if (isItem(text.trim())) parents.unshift(text.trim());
  }
  return { headings, parents };
}

describe('the place of a line', () => {
  const line = fc.constantFrom(
    ...['# One', '## Two', '## Two', '### Three', '#', '', '   ', 'a', ' a'],
    ...['- a', '- b', '  - a', '    - c', '  a', '      - d', '\t- e'],
  );

  it('is what stands above it, whatever the file', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 25 }), (lines) => {
        const workspace = open(lines.join('\n'));
        const rows = workspace.live(A);
        for (const [at, row] of rows.entries()) {
          const { headings, parents } = walkUp(
            rows.map(({ text }) => text),
            at,
          );
          if (row.isProtected) continue;
          expect(workspace.headingsOf(row)).toEqual(headings);
          expect(workspace.parentsOf(row)).toEqual(parents);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('a large file', () => {
  it('is searched for a line that stands in it 100,000 times', () => {
    const content = `# A\n${'x\n'.repeat(50_000)}# B\n${'x\n'.repeat(50_000)}`;
    const reword = (number: number) =>
      edit('reword', { remove: [`${A}:${number}: x`], add: { path: A, lines: ['y'] } });
    const [unknown, known] = examineAll(memoryOf({ [A]: content }), [reword(200_000), reword(7)]);
    expect(unknown?.fault?.why).toMatch('occurs several times');
    expect(known?.fault).toBeNull();
  });

  it('is searched for a heading among 20,000', () => {
    const headings = Array.from({ length: 20_000 }, (_, n) => `# ${n}`);
    const add = (heading: string) => edit('add', { add: { path: A, heading, lines: ['- tea'] } });
    const memory = memoryOf({ [A]: headings.join('\n') }, { fact: 'tea' });
    const [first, trail] = examineAll(memory, [add('19999'), add('x > 19999')]);
    expect(first?.add?.heading).toBe('19999');
    expect(trail?.fault).toBeNull();
  });

  it('takes twice the work for twice the pinned lines', () => {
    const [, some, double] = [10, 500, 1_000].map((count) =>
      countMatched(() => parseMarkdown('<!-- pin -->\n\n'.repeat(count))),
    );
    expect(double).toBeLessThan(2.5 * (some ?? 0));
  });
});

describe('line ends', () => {
  /** The file after an operation that changes its second line and adds one at the end. */
  async function changed(content: string): Promise<string> {
    const memory = memoryOf({ [A]: content }, { fact: 'The user likes oolong.' });
    const operations = [
      edit('update', {
        remove: [`${A}: - Likes tea`],
        add: { path: A, lines: ['- Likes oolong'] },
      }),
      edit('add', { add: { path: A, heading: null, lines: ['- The user likes oolong.'] } }),
    ];
    const all = examineAll(memory, operations);
    expect(all.map(({ fault }) => fault?.why)).toEqual([undefined, undefined]);
    const { files } = await applyEdits(memory, all, { limits: LIMITS });
    return files[0]?.after ?? content;
  }

  it.each(['\n', '\r\n'])('are those of the file: %j', async (lineEnd) => {
    const to = (text: string) => text.replaceAll('\n', lineEnd);
    expect(await changed(to('# A\n- Likes tea\n- Bikes\n'))).toBe(
      to('# A\n- Likes oolong\n- Bikes\n- The user likes oolong.\n'),
    );
    expect(await changed(to('# A\n- Likes tea\n- Bikes'))).toBe(
      to('# A\n- Likes oolong\n- Bikes\n- The user likes oolong.'),
    );
  });

  it('of other lines stay as they are', async () => {
    expect(await changed('# A\n- Likes tea\r\n- Bikes\n\r\n- Swims\r\n')).toBe(
      '# A\n- Likes oolong\r\n- Bikes\n\r\n- Swims\r\n- The user likes oolong.\r\n',
    );
    expect(await changed('# A\r\n- Likes tea\n- Bikes\n')).toBe(
      '# A\r\n- Likes oolong\n- Bikes\n- The user likes oolong.\n',
    );
  });
});

describe('headings', () => {
  const after = async (content: string, heading: string) => {
    const memory = memoryOf({ [A]: content }, { fact: 'Likes tea.' });
    const add = { path: A, heading, lines: ['- Likes tea.'] };
    const all = examineAll(memory, [edit('add', { add })]);
    const { files } = await applyEdits(memory, all, { limits: LIMITS });
    return files[0]?.after;
  };

  it('above a line of dashes are found, and new lines come behind that line', async () => {
    expect(await after('Food\n----\n\n- Figs\n\nWork\n====\n\n- Bank\n', 'Food')).toBe(
      'Food\n----\n\n- Figs\n- Likes tea.\n\nWork\n====\n\n- Bank\n',
    );
    expect(await after('Food\n----\n\n# Work\n', 'Food')).toBe(
      'Food\n----\n\n- Likes tea.\n\n# Work\n',
    );
    expect(await after('All\n===\n\nThe\nfood\n---\n- Figs\n', 'All > The food')).toBe(
      'All\n===\n\nThe\nfood\n---\n- Figs\n- Likes tea.\n',
    );
  });

  it('in comments, code, quotations and front matter are none', async () => {
    const content = [
      ...['\uFEFF---', '# Food', 'a: b', '---', '', '<!--', '# Food', '-->', '', '    # Food', ''],
      ...['> # Food', '', '- # Food', '', '# Food', '', '- Figs', ''],
    ].join('\n');
    expect(await after(content, 'Food')).toBe(`${content}- Likes tea.\n`);
  });

  it('stay first in a file that has nothing else', async () => {
    const memory = memoryOf({ [A]: 'Food\n====\n' }, { fact: 'Likes tea.' });
    const add = { path: A, heading: null, lines: ['- Likes tea.'] };
    const all = examineAll(memory, [edit('add', { add })]);
    const { files } = await applyEdits(memory, all, { limits: LIMITS });
    expect(files[0]?.after).toBe('Food\n====\n\n- Likes tea.\n');
  });
});

describe('what is protected', () => {
  const isProtected = (content: string) => parseMarkdown(content).isProtected.map(Number).join('');

  it.each([
    ['front matter behind a byte order mark', '\uFEFF---\na: b\n...\ntext', '1110'],
    ['a fence in a list item', '- a\n  ```\n\n  x\n  ```\nb', '011110'],
    ['a comment with blank lines', '<!--\n\na\n-->\nb', '11110'],
    ['a comment within a paragraph', 'a <!-- b\nc\nd --> e\nf', '1110'],
    ['a quotation and what lazily goes on with it', '> a\nb\n\nc', '1100'],
    ['a table without outer bars', 'a | b\n--|--\nc | d\n\ne', '11100'],
    ['a heading of several lines', 'a\nb\n---\nc', '1110'],
    ['code that is indented in a list item', '- a\n\n      code\n\n  b', '00100'],
    ['a definition of several lines', '[a]:\n  /b\n  "c"\n\nd', '11100'],
  ])('is %s', (_, content, expected) => {
    expect(isProtected(content)).toBe(expected);
    expect(isProtected(content.replaceAll('\n', '\r\n'))).toBe(expected);
  });
});
