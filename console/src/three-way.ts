import { applyPatch, structuredPatch } from 'diff';

/**
 * Merges two changes of one text; `null` if they touch the same or neighbouring lines, so that a
 * person has to decide.
 */
export function mergeChanges(base: string, mine: string, theirs: string): string | null {
  if (theirs === base || mine === theirs) return mine;
  if (mine === base) return theirs;
  const patch = structuredPatch('', '', base, mine, undefined, undefined, { context: 1 });
  const merged = applyPatch(theirs, patch, { fuzzFactor: 0, autoConvertLineEndings: false });
  return merged === false ? null : merged;
}
