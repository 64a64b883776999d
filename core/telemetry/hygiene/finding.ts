import type { HygieneFinding } from '../../contracts/admin.ts';
import type { Line } from './line.ts';

/** The places of lines: each file once, with its lines in order. */
export function toPlaces(
  lines: readonly Pick<Line, 'path' | 'number'>[],
): HygieneFinding['places'] {
  const places = new Map<string, Set<number>>();
  for (const { path, number } of lines) {
    const numbers = places.get(path);
    if (numbers === undefined) places.set(path, new Set([number]));
    else numbers.add(number);
  }
  return [...places].map(([path, numbers]) => ({
    path,
    lines: [...numbers].sort((one, other) => one - other),
  }));
}
