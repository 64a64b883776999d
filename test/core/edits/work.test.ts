import { expect, it } from 'vitest';
import { applyEdits } from '../../../core/edits/engine.ts';
import { DREAM_KINDS, parseEdits } from '../../../core/edits/operations.ts';
import { missingSpecifics } from '../../../core/edits/specifics.ts';
import { countMatched } from '../../support/count-steps.ts';
import { edit, EDIT_LIMITS, examineAll, memoryOf } from '../../support/edit-memory.ts';

const A = 'user/a.md';
const FACTS =
  'Anna met Ben on 3 May 2023 at 14:00, paid $2,500 two weeks ago and may stay until last summer';

/** A merge of this many long lines, and memory that has them. */
function mergeOf(count: number, seed: string) {
  const lines = Array.from({ length: count }, (_, n) => `- ${FACTS} ${seed}${n} ${FACTS}`);
  const operation = edit('merge', {
    remove: lines.map((line) => `${A}: ${line}`),
    add: { path: A, lines: lines.map((line) => `${line} 77`) },
  });
  const content = `${lines.join('\n')}\n`;
  const times = { [A]: lines.map(() => Date.UTC(2026, 0, 1)) };
  return { operation, memory: memoryOf({ [A]: content }, { times }) };
}

it('takes twice the work for twice the lines', () => {
  // The first one compiles expressions.
  const [, some, double] = [5, 20, 40].map((count) => {
    const { operation, memory } = mergeOf(count, `n${count}x`);
    return countMatched(() => {
      const [examined] = examineAll(memory, [operation]);
      expect(examined?.signals).toContain('conflict');
    });
  });
  expect(double).toBeGreaterThan(0);
  expect(double).toBeLessThan(2.5 * (some ?? 0));
});

/** Operations that each add a line of a fact, which has this many lines. */
function factOf(lines: number, operations: number) {
  const fact = Array.from({ length: lines }, (_, n) => `Drinks tea number ${n}.`);
  const added = fact.slice(0, operations).map((line) => `- ${line}`);
  return {
    memory: memoryOf({ [A]: '- Likes jazz\n' }, { fact: fact.join('\n') }),
    operations: added.map((line) => edit('add', { add: { path: A, lines: [line] } })),
  };
}

it('lets others have their turn while edits are carried out', async () => {
  const { memory, operations } = factOf(500, 20);
  const examined = examineAll(memory, operations);
  expect(examined).toHaveLength(20);
  let turns = 0;
  const turn = setInterval(() => (turns += 1), 0);
  const { applied } = await applyEdits(memory, examined, { limits: EDIT_LIMITS });
  clearInterval(turn);
  expect(applied).toHaveLength(20);
  expect(turns).toBeGreaterThan(0);
});

it('takes no operation with more text than a few pages', () => {
  const parse = (length: number) => {
    const remove = Array.from({ length: 20 }, (_, n) => `${A}: - ${'x'.repeat(length)}${n}`);
    return parseEdits(JSON.stringify({ operations: [edit('merge', { remove })] }), DREAM_KINDS);
  };
  expect(parse(1_000)).toMatchObject({ operations: [{}], malformed: [] });
  expect(parse(1_500)).toEqual({ operations: [], malformed: [1] });
});

it('takes no source that is as long as a file, though its number alone names it', () => {
  const B = 'user/b.md';
  const examine = (length: number) => {
    const long = `- ${'x'.repeat(length)}`;
    const memory = memoryOf({ [A]: '- Likes tea\n- Likes jazz\n', [B]: `${long}\n` });
    const operation = edit('supersede', { remove: [`${A}: - Likes tea`] });
    const source = { path: B, line: 1 };
    return examineAll(memory, [{ ...operation, sources: [source] }])[0]?.fault;
  };
  expect(examine(20_000)).toBeNull();
  expect(examine(24_000)).toMatchObject({ status: 'dropped' });
});

it('takes no line that was made of more and more', () => {
  const lines = Array.from({ length: 200 }, (_, n) => `- ${'x'.repeat(400)}${n}`);
  const memory = memoryOf({ [A]: '- start 0\n', 'user/b.md': `${lines.join('\n')}\n` });
  const operations = Array.from({ length: 4 }, (_, n) => ({
    ...edit('supersede', {
      remove: [`${A}: - start ${n}`],
      add: { path: A, lines: [`- start ${n + 1}`] },
    }),
    sources: Array.from({ length: 40 }, (_one, at) => ({
      path: 'user/b.md',
      line: 40 * n + at + 1,
    })),
  }));
  const faults = examineAll(memory, operations).map(({ fault }) => fault?.why ?? null);
  expect(faults[0]).toBeNull();
  expect(faults[1]).toMatch(/more than 24000 characters/);
});

it('reads long texts a step at a time', () => {
  const quotes = Array.from({ length: 2_000 }, (_, n) => `"tea ${n}"`).join(' ');
  const steps = missingSpecifics(quotes, `${quotes} and more`);
  let count = 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      expect(step.value).toEqual([]);
      break;
    }
    count += 1;
  }
  // Pieces of at most 2,000 characters of both texts.
  expect(count).toBeGreaterThan((2 * quotes.length) / 2_000);
});
