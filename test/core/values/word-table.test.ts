import { expect, it, vi } from 'vitest';
import { WordTable } from '../../../core/values/word-table.ts';

it('gives what a word means, with its ending or with any', () => {
  const table = new WordTable<string>();
  table.add(['doctor*', 'dog'], 'one');
  table.add(['doc*'], 'two');
  expect(table.get('doctors')).toEqual(['two', 'one']);
  expect(table.get('doc')).toEqual(['two']);
  expect(table.get('dog')).toEqual(['one']);
  expect(table.get('dogs')).toEqual([]);
});

it('looks up no longer beginnings of a word than its stems', () => {
  const table = new WordTable<string>();
  table.add(['doctor*'], 'one');
  const slice = vi.spyOn(String.prototype, 'slice');
  const found = table.get('doctor'.repeat(1_000));
  const beginnings = slice.mock.calls.length;
  slice.mockRestore();
  expect(found).toEqual(['one']);
  expect(beginnings).toBe('doctor'.length - 1);
});
