import { needsOf } from '../operations.ts';
import type { Candidate } from '../plan.ts';

/** Files can be written one after the other: none waits for another that waits for it. */
export function checkOrder({ operation, sofar }: Candidate): string | null {
  const needs = new Map([...sofar.needs].map(([path, others]) => [path, new Set(others)]));
  for (const [path, others] of needsOf(operation)) {
    const known = needs.get(path) ?? new Set();
    for (const other of others) known.add(other);
    needs.set(path, known);
  }
  const isCircle = [...needs.keys()].some((start) => {
    const seen = new Set<string>();
    const open = [...(needs.get(start) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (path === start) return true;
      if (seen.has(path)) continue;
      seen.add(path);
      open.push(...(needs.get(path) ?? []));
    }
    return false;
  });
  return isCircle ? 'two files would have to be written before each other' : null;
}
