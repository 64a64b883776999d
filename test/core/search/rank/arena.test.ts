import { expect, it } from 'vitest';
import { Arena } from '../../../../core/search/rank/arena.ts';

/** One round of arrays of all kinds, each filled with its own number. */
function fill(arena: Arena, lengths: readonly number[]) {
  arena.begin();
  return lengths.map((length, at) => {
    const kinds = [Int32Array, Float64Array, Uint16Array, Uint8Array];
    const kind = (kinds[at % kinds.length] ?? Int32Array) as Int32ArrayConstructor;
    return arena.take(kind, length).fill(at % 256);
  });
}

it('gives each array of a round room of its own, of the length that was asked for', () => {
  const arena = new Arena();
  const lengths = [3, 1, 0, 7, 5, 1_000, 3, 2, 9, 11];
  for (let round = 0; round < 4; round += 1) {
    const arrays = fill(arena, lengths);
    expect(arrays.map(({ length }) => length)).toEqual(lengths);
    for (const [at, array] of arrays.entries()) {
      expect([...array].every((value) => value === at)).toBe(true);
    }
  }
});

it('uses what it has again in the next round', () => {
  const arena = new Arena();
  fill(arena, [100, 100]);
  const [before] = fill(arena, [100, 100]);
  const [after] = fill(arena, [100, 100]);
  expect(after?.buffer).toBe(before?.buffer);
});

it('keeps no more than 8 MB, however much a round needs', () => {
  const arena = new Arena();
  const large = 4_000_000;
  for (let round = 0; round < 3; round += 1) {
    const arrays = fill(arena, [large, 10, large]);
    expect(arrays.map(({ length }) => length)).toEqual([large, 10, large]);
  }
  const [small] = fill(arena, [10]);
  expect(small?.buffer.byteLength).toBe(8 * 1024 * 1024);
});
