import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indentOf, isBlank, isItem, parseMarkdown } from '../../../core/edits/markdown.ts';
import { Workspace } from '../../../core/edits/workspace.ts';
import { countMatched } from '../../support/count-steps.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const A = 'user/a.md';

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
