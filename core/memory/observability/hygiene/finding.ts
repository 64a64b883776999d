import type { HygieneFinding } from '../../../contracts/admin.ts';
import type { Line } from './line.ts';

/** Where lines stand: each file once, with its lines in order. */
export function toPlaces(
  lines: readonly Pick<Line, 'path' | 'number'>[],
): HygieneFinding['places'] {
  const places = new Map<string, number[]>();
  for (const { path, number } of lines) {
    const numbers = places.get(path) ?? [];
    if (!numbers.includes(number)) numbers.push(number);
    places.set(path, numbers);
  }
  return [...places].map(([path, numbers]) => ({
    path,
    lines: numbers.toSorted((one, other) => one - other),
  }));
}
