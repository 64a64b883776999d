import { applyPatch, diffLines, structuredPatch } from 'diff';
import { PlainText, withLineEnds } from '../../core/files/line-ends.ts';
import { applySplices, type Splice } from '../../core/files/replace-text.ts';

/**
 * Merges two changes of one text; `null` if they touch the same or neighbouring lines, so that a
 * person has to decide.
 */
export function mergeChanges(base: string, mine: string, theirs: string): string | null {
  if (theirs === base || mine === theirs) return mine;
  if (mine === base) return theirs;
  // Their line ends hold, should they have changed those alone.
  const [from, to, onto] = [base, mine, theirs].map((text) => withLineEnds(text, '\n'));
  if (from === undefined || to === undefined || onto === undefined) return null;
  if (to === from || to === onto) return theirs;
  const patch = structuredPatch('', '', from, to, undefined, undefined, { context: 1 });
  const merged = applyPatch(onto, patch, { fuzzFactor: 0, autoConvertLineEndings: false });
  return merged === false ? null : withEndsOf(theirs, onto, merged);
}

/** A changed text with the line ends of the one before; new lines end as those around them. */
function withEndsOf(original: string, plain: string, changed: string): string {
  if (original === plain) return changed;
  const ends = new PlainText(original);
  const splices: Splice[] = [];
  let at = 0;
  for (const { added, removed, value } of diffLines(plain, changed)) {
    const start = at;
    if (!added) at += value.length;
    if (!added && !removed) continue;
    splices.push({
      start: ends.toOriginal(start),
      end: ends.toOriginal(at),
      text: added ? withLineEnds(value, ends.lineEndAt(start)) : '',
    });
  }
  return applySplices(original, splices);
}
