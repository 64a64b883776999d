import { describe, expect, it } from 'vitest';
import { answerContext } from '../../../core/demo/demo-model.ts';

const file = (path: string, ...lines: string[]) =>
  [`<file-0a1b path="${path}">`, ...lines, '</file-0a1b>'].join('\n');

const select = (...files: string[]) =>
  answerContext([...files, '<question-0a1b>', 'Select the lines.'].join('\n'));

describe('the demo’s selection of lines', () => {
  it('is the first line of each of the first three files that is no heading', () => {
    const lines = select(
      file('user/a.md', '4| 2026-01-31 | - Tea in the morning', '5| 2026-01-31 | - Coffee never'),
      file('user/b.md', '1| 2026-01-31 | # Drinks', '…', '7| 2026-01-31 | - Milk'),
      file('user/c.md', '9| 2026-01-31 | - Water'),
      file('user/d.md', '1| 2026-01-31 | - Left out'),
    );
    expect(lines).toEqual({
      lines: [
        { path: 'user/a.md', line: 4 },
        { path: 'user/b.md', line: 7 },
        { path: 'user/c.md', line: 9 },
      ],
    });
  });

  it('is empty where nothing was found, and plans no further search', () => {
    expect(select()).toEqual({ lines: [] });
    expect(answerContext('<question-0a1b>\nPlan the searches.')).toEqual({ searches: [] });
  });
});
