import { invalidField } from '../errors.ts';
import { countLines } from '../files/content.ts';

/** Reads `3` or `3-5` as lines of a content, from 1. Throws `INVALID_REQUEST` for others than it has. */
export function parseLineRange(range: string, content: string): { from: number; to: number } {
  const [from = 0, to = from] = range.split('-').map(Number);
  const lines = countLines(content);
  if (from >= 1 && from <= to && to <= lines) return { from, to };
  throw invalidField('/lines', `must be lines of the ${lines} of this content`, 'lines');
}
