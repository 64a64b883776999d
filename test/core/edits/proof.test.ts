import { describe, expect, it } from 'vitest';
import { isProven } from '../../../core/edits/proof.ts';
import { parseVerdicts } from '../../../core/edits/verify.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const line = (path: string, text: string) => ({ path, line: 1, heading: null, text, at: null });

describe('a quotation', () => {
  const fact = 'The shop opens noon-ish and we eat at 7 illalla, on floor kolmas';
  const of = (values: string[]) => ({ values, remove: [], sources: [line('fact', fact)] });

  it('proves a value that it says in other words', () => {
    expect(isProven(of(['19:00']), [{ value: '19:00', quote: 'at 7  ILLALLA' }])).toBe(true);
    expect(isProven(of([]), [])).toBe(true);
  });

  it.each([
    ['is missing', []],
    ['is of another value', [{ value: '20:00', quote: '7 illalla' }]],
    ['stands nowhere', [{ value: '19:00', quote: '7 in the evening' }]],
    ['is of the prompt', [{ value: '19:00', quote: 'source: fact' }]],
    ['is empty', [{ value: '19:00', quote: '  ' }]],
    ['has no letter and no digit', [{ value: '19:00', quote: ',' }]],
    ['has another value', [{ value: '5 km', quote: 'at 7 illalla' }]],
    ['is too long', [{ value: '19:00', quote: 'x'.repeat(81) }]],
  ])('that %s proves nothing', (_what, proof) => {
    const value = proof[0]?.value === '5 km' ? '5 km' : '19:00';
    expect(isProven(of([value]), proof)).toBe(false);
  });

  it('proves one value, and no second one', () => {
    const proof = [
      { value: '3', quote: 'floor kolmas' },
      { value: '19:00', quote: 'on floor kolmas' },
    ];
    expect(isProven(of(['3', '19:00']), proof)).toBe(false);
    proof[1] = { value: '19:00', quote: '7 illalla' };
    expect(isProven(of(['3', '19:00']), proof)).toBe(true);
  });

  it('from another line than those of the operation proves nothing', () => {
    const operation = { values: ['3'], remove: [], sources: [line('user/a.md', '- kolmas')] };
    expect(isProven(operation, [{ value: '3', quote: 'kolmas' }])).toBe(true);
    operation.sources = [line('user/a.md', '- tea')];
    expect(isProven(operation, [{ value: '3', quote: 'kolmas' }])).toBe(false);
  });
});

describe('a value that code finds in no source', () => {
  const A = 'user/a.md';
  const propose = (removed: string, added: string) =>
    examineAll(memoryOf({ [A]: `${removed}\n` }), [
      edit('reword', {
        remove: [`${A}: ${removed}`],
        add: { path: A, heading: null, lines: [added] },
      }),
    ]);
  const reply = (proof: object[]) =>
    JSON.stringify({ verdicts: [{ operation: 1, lost: [], added: [], proof, verdict: 'keeps' }] });

  it('passes with its quotation, and is unsure without', () => {
    const examined = propose(
      '- Kauppa avataan kello aamukahdeksalta',
      '- Kauppa avataan kello 8:00',
    );
    expect(examined[0]?.values).toEqual(['kello 8:00']);
    const quote = { value: 'kello 8:00', quote: 'aamukahdeksalta' };
    expect(parseVerdicts(reply([quote]), examined)?.get(1)).toBe('keeps');
    expect(parseVerdicts(reply([]), examined)?.get(1)).toBe('unsure');
  });

  it('is no question where it contradicts one that was read', () => {
    const [examined] = propose('- Runs 3 km', '- Runs 5 km');
    expect(examined?.values).toEqual([]);
    expect(examined?.signals).toContain('specific_added');
  });
});
