import type { ToolCall } from '../../contracts/tool.ts';
import { findAlwaysShown } from '../../edits/markdown.ts';
import { toVirtualPath } from '../../files/paths.ts';
import { type FindDependencies, findHitsAt, runSearch, scopesOf } from '../../search/find.ts';
import { ALWAYS_TERM } from '../../search/index/index-file.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { Hit } from '../../search/search.ts';
import { cutToFit, isSameFile, measureRanges, type Range } from './print.ts';

/** The share of a context that is for files with `context: always`. */
const SHARE = 1 / 4;
/** The files that are read for it. More do not fit. */
const FILES = 50;

/**
 * What each context holds, whatever the question is: the files with `context: always` in their front
 * matter, without it, the user's own before shared ones, by path. They have a quarter of `maxChars`: what
 * does not fit is cut, and then left out.
 */
export async function findAlways(
  deps: FindDependencies,
  { maxChars, at }: { maxChars: number; at: number | null },
  call: ToolCall,
): Promise<Range[]> {
  const request = {
    ...{ text: '', term: ALWAYS_TERM, scopes: scopesOf(call), within: null },
    ...{ group: 'file' as const, limit: FILES, isFuzzy: false },
  };
  const { hits } =
    at === null
      ? await runSearch(deps.search, request, call)
      : await findHitsAt(deps, request, at, call);
  const wholes = hits.flatMap(({ file }) => toWhole(file) ?? []).sort(byPath);
  const room = Math.floor(maxChars * SHARE);
  const ranges: Range[] = [];
  for (const range of wholes) {
    if (measureRanges([...ranges, range]) <= room) {
      ranges.push(range);
      continue;
    }
    const taken = measureRanges([...ranges, { ...range, end: range.start }]);
    const own = measureRanges([{ ...range, end: range.start }]);
    const cut = cutToFit([range], room - taken + own);
    if (cut !== null) ranges.push(cut);
    break;
  }
  return ranges;
}

/** Leaves out passages that already stand in the context. */
export function withoutAlways(hits: readonly Hit[], always: readonly Range[]): Hit[] {
  return hits.filter(({ file, passages, passage }) => {
    const range = always.find((one) => isSameFile(one.file, file));
    return range === undefined || (passages[passage]?.end ?? 0) > range.end;
  });
}

function toWhole(file: FoundFile): Range | null {
  const { content, updatedAt: at } = file;
  const after = findAlwaysShown(content);
  if (after === null) return null;
  const end = content.trimEnd().length;
  const blank = content.slice(after).length - content.slice(after).trimStart().length;
  const start = after + blank;
  if (start >= end) return null;
  const lineOf = (index: number): number => content.slice(0, index).split('\n').length;
  const [startLine, endLine] = [lineOf(start), lineOf(end)];
  return { ...{ file, startLine, endLine, start, end, at }, heading: null, headingLines: [] };
}

function byPath({ file: a }: Range, { file: b }: Range): number {
  const [first, second] = [a, b].map(
    (file) => `${Number(file.scope === 's')} ${toVirtualPath(file)}`,
  );
  return (first ?? '') < (second ?? '') ? -1 : 1;
}
