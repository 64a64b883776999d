import { describe, expect, it } from 'vitest';
import { quotePassages } from '../../../core/cli/demo-model.ts';

const passage = (number: number, ...lines: string[]) =>
  [`<passage-0a1b number="${number}" path="user/a.md">`, ...lines, '</passage-0a1b>'].join('\n');

describe('the demo’s answer from passages', () => {
  it('is the first line of each of the first three, with the place where it stands', () => {
    const prompt = [
      'Which drink?',
      passage(1, '4| - Tea in the morning', '5| - Coffee never'),
      passage(2, '1| ', '2| # Drinks'),
      passage(3, '9| - Water'),
      passage(4, '1| - Left out'),
    ].join('\n');
    const quoted = (text: string, number: number, line: number) => ({
      text,
      sources: [{ passage: number, startLine: line, endLine: line }],
    });
    expect(quotePassages(prompt)).toEqual({
      sentences: [
        quoted('- Tea in the morning', 1, 4),
        quoted('# Drinks', 2, 2),
        quoted('- Water', 3, 9),
      ],
    });
  });

  it('is empty where nothing was found', () => {
    expect(quotePassages('Which drink?')).toEqual({ sentences: [] });
  });
});
