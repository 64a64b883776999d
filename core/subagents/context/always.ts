import type { ToolCall } from '../../contracts/tool.ts';
import type { IndexFileKey, IndexState } from '../../contracts/storage.ts';
import { findAlwaysShown, findTextStart } from '../../edits/markdown.ts';
import { toScopes } from '../../files/paths.ts';
import { runSearch } from '../../search/find.ts';
import { ALWAYS_TERM, NEVER_TERM } from '../../search/index/index-file.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { Hit, Search } from '../../search/search.ts';
import {
  cutToFit,
  isSameFile,
  isSameVersion,
  measureRanges,
  type Range,
  toWhole,
} from './print.ts';

/** The share of a context that is for files with `context: always`. */
const SHARE = 1 / 4;
/** The files that are read for it. More do not fit. */
const FILES = 50;

/** The files that are in each context, the user's own before shared ones, by path; and those in none. */
export interface MarkedFiles {
  always: Range[];
  never: readonly IndexFileKey[];
  /** Of each scope of the call, in order, when they were looked up. */
  states: readonly IndexState[];
}

/** Finds the files whose front matter says `context: always`, each as its text, or `context: never`. */
export async function findMarked(search: Search, call: ToolCall): Promise<MarkedFiles> {
  const request = {
    text: '',
    term: ALWAYS_TERM,
    except: NEVER_TERM,
    scopes: toScopes(call),
    within: null,
    group: 'file' as const,
    limit: FILES,
    isFuzzy: false,
  };
  const { hits, excepted, states } = await runSearch(search, request, call);
  const always = hits.flatMap(({ file }) => toAlways(file) ?? []).sort(byPath);
  return { always, never: excepted, states };
}

/**
 * What each context holds of the files with `context: always`, whatever the question is. They have a
 * quarter of `maxChars`: what does not fit is cut, and then left out.
 */
export function takeAlways(always: readonly Range[], maxChars: number): Range[] {
  const room = Math.floor(maxChars * SHARE);
  const ranges: Range[] = [];
  for (const range of always) {
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

/** Leaves out passages that already stand in the context, and those of other versions of its files. */
export function withoutShown(hits: readonly Hit[], shown: readonly Range[]): Hit[] {
  return hits.filter(({ file, passages, passage }) => {
    const range = shown.find((one) => isSameFile(one.file, file));
    if (range === undefined) return true;
    // A range ends before the white space at its end, a passage may end behind it.
    const more = file.content.slice(range.end, passages[passage]?.end ?? 0);
    return isSameVersion(range.file, file) && more.trim() !== '';
  });
}

/** The text of a file with `context: always`; `null` for other files. */
function toAlways(file: FoundFile): Range | null {
  if (findAlwaysShown(file.content) === null) return null;
  return toWhole(file, findTextStart(file.content));
}

/** The user's files first, then those of spaces and of shared memory. */
function byPath({ file: a }: Range, { file: b }: Range): number {
  if (a.scope !== b.scope) return a.scope > b.scope ? -1 : 1;
  return a.path < b.path ? -1 : 1;
}
