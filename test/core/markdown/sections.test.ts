import { describe, expect, it } from 'vitest';
import { findSections, listSections, listTrails } from '../../../core/markdown/sections.ts';
import { readStructure } from '../../../core/markdown/structure.ts';

/** The first lines of the sections that a heading names, from 1. */
function linesOf(text: string, wanted: string): number[] {
  return findSections(listSections(readStructure(text)), wanted).map(({ first }) => first + 1);
}

describe('sections', () => {
  it('are named by their trails', () => {
    const text = '# A\n## B\n### C\n#\n## \n## D\n';
    expect(listTrails(listSections(readStructure(text)))).toEqual([
      ...['A', 'A > B', 'A > B > C', null, null, 'D'],
    ]);
  });

  it('leave a long title out of trails', () => {
    const long = 'x'.repeat(201);
    const text = `# ${long}\n## B\n`;
    expect(listTrails(listSections(readStructure(text)))).toEqual([null, 'B']);
    expect(linesOf(text, long)).toEqual([1]);
  });

  it('are found by a title that begins with marks, as a find shows it', () => {
    const text = '# A\n[a]: b\n    # code\n===\n';
    expect(listTrails(listSections(readStructure(text)))).toEqual(['A', '# code']);
    expect(linesOf(text, '# code')).toEqual([3]);
  });

  it.each([
    ['Tea', [2, 5]],
    ['## Tea', [2]],
    ['### Tea ###', [5]],
    ['Tea\n---', [2]],
    ['# Tea', []],
    ['Food > Tea', [2]],
    ['Food > Drinks > Tea', [5]],
    ['Drinks > Tea', [5]],
    ['Section', [7]],
    ['Section of two', []],
    ['Section of\ntwo', []],
    ['bold & new', [10]],
    ['__bold__ &amp; new', [10]],
    ['_Bold_   &#38; [new](x.md)', []],
    ['_bold_   &#38; [new](x.md)', [10]],
    ['two lines', [12]],
    ['two\nlines', [12]],
    ['two\nlines\n===', [12]],
    ['', []],
  ])('are found by %j', (wanted, lines) => {
    const text = [
      ...['# Food', '## Tea', '', '## Drinks', '### Tea', '', 'Section', '-------', ''],
      ...['# **bold** & new', '', 'two', ' lines', '==='],
    ].join('\n');
    expect(linesOf(text, wanted)).toEqual(lines);
  });

  it('are not found by the title above one without a title of its own', () => {
    const text = `# A\n## B\n### ${'x'.repeat(201)}\n###\n`;
    expect(linesOf(text, 'A > B')).toEqual([2]);
    expect(linesOf('# A\n##\n', 'A')).toEqual([1]);
    expect(linesOf('# A\n##\n', '##')).toEqual([2]);
  });

  it('are not found by another title that looks the same if one is the same', () => {
    expect(linesOf('# *Tea*\n# Tea\n', 'Tea')).toEqual([2]);
    expect(linesOf('# _Tea_\n# *Tea*\n', 'Tea')).toEqual([1, 2]);
    expect(linesOf('# Tea\n', 'tea')).toEqual([]);
  });
});
