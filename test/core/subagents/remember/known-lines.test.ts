import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { likeness, missingSpecifics, termsOf } from '../../../../core/subagents/evidence.ts';
import { createPause } from '../../../../core/pause.ts';
import { readKnownLines } from '../../../../core/subagents/remember/known-lines.ts';
import { toShownFile } from '../../../../core/subagents/remember/shown-file.ts';
import { rejection } from '../../../support/rejection.ts';

const fileOf = (path: string, content: string) => toShownFile({ path, version: 1, content }, null);

describe('known lines', () => {
  it('find a line that says the same where a comparison with each line does', async () => {
    const word = fc.constantFrom('Ana', 'drinks', 'tea', 'milk', 'green', 'in', 'Oslo', '7', '茶');
    const line = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '));
    const contents = fc.array(line, { maxLength: 12 });
    let same = 0;
    await fc.assert(
      fc.asyncProperty(contents, contents, line, fc.nat(12), async (one, other, text, gone) => {
        const files = [fileOf('user/a.md', one.join('\n')), fileOf('user/b.md', other.join('\n'))];
        const isSame = (known: string) =>
          likeness(termsOf(text), termsOf(known)) >= 0.8 &&
          missingSpecifics(text, known).length === 0;
        const expected = files.some(({ lines }) =>
          lines.some((known, index) => index + 1 !== gone && isSame(known)),
        );
        const known = await readKnownLines(files, createPause());
        const found = await known.findSame(text, (place) => place.line !== gone);
        expect(found !== null).toBe(expected);
        if (found === null) return;
        same += 1;
        const file = files.find(({ path }) => path === found.path);
        expect(isSame(file?.lines[found.line - 1] ?? '')).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(same).toBeGreaterThan(100);
  });

  it('let others have their turn while they are read', async () => {
    const content = Array.from({ length: 30_000 }, (_, n) => `word${n} is said`).join('\n');
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await readKnownLines([fileOf('user/a.md', content)], createPause());
    isDone = true;
    expect(turns).toBeGreaterThan(2);
  });

  it('are refused when they are too much to compare', async () => {
    const file = fileOf('user/a.md', 'x'.repeat(8_000_000));
    expect(await rejection(readKnownLines([file], createPause()))).toMatchObject({
      code: 'WORK_LIMIT_EXCEEDED',
      details: { limit: 'compareSteps', max: 2 ** 31 },
    });
  });
});
