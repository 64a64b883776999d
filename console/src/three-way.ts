import { applyPatch, structuredPatch } from 'diff';

/**
 * Both changes of one text put together; `null` when they touch the same lines. What touches the
 * same or neighbouring lines is a person's to decide on.
 */
export function mergeChanges(base: string, mine: string, theirs: string): string | null {
  if (theirs === base || mine === theirs) return mine;
  if (mine === base) return theirs;
  const patch = structuredPatch('', '', base, mine, undefined, undefined, { context: 1 });
  const merged = applyPatch(theirs, patch, { fuzzFactor: 0, autoConvertLineEndings: false });
  return merged === false ? null : merged;
}
