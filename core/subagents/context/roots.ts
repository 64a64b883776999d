import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexFileKey } from '../../contracts/storage.ts';
import { findAlwaysShown, findTextStart, isKeptOut } from '../../edits/markdown.ts';
import { isExcludedFromDreams } from '../../files/dream-exclusion.ts';
import { toVirtualPath } from '../../files/paths.ts';
import type { MemoryFiles, SizedFile } from '../../search/memory-files.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { MarkedFiles } from './always.ts';
import { takeAlways } from './always.ts';
import { measureRanges, type Range, toWhole } from './print.ts';

/** The part of a context that does not depend on the question. */
export interface StablePart {
  /** In the order in which they are printed: whole roots, then files with `context: always` of others. */
  ranges: StableRange[];
  /** Whether a root that has text is given whole. */
  hasWhole: boolean;
  /** Whether these are all files that memory has, logs and `context: never` aside. */
  isAll: boolean;
  /** Files with `context: never`, where they were looked up. */
  never: readonly IndexFileKey[];
}

/** A range of it. Of a file in a whole root, a question can match some lines. */
export interface StableRange extends Range {
  why: 'always' | 'fits';
}

/** What a share of the rest the whole roots have, if memory does not fit as a whole. */
const SHARE = 1 / 2;
/** What a file takes in a context besides its path and text, at least. */
const HEADER_CHARS = 59;
/** A character takes at most three bytes of UTF-8. */
const BYTES_PER_CHAR = 3;
/** Bytes of a file that need not be shown: blank lines at its ends, front matter for the service. */
const UNSHOWN_BYTES = 64;
/** Files of one look at their sizes. */
const PAGE = 64;

/**
 * Takes what a context holds whatever the question is. A memory that fits as a whole is given whole.
 * Else: files with `context: always` in their quarter, then roots in the order of `scopes`, each whole or
 * not at all, in at most half of the rest. Which roots can fit is decided by the sizes of their files,
 * before any is read.
 */
export async function takeStable(
  memory: MemoryFiles,
  {
    scopes,
    maxChars,
    findMarked,
  }: { scopes: readonly ScopeKey[]; maxChars: number; findMarked: () => Promise<MarkedFiles> },
): Promise<StablePart> {
  const measureAll = async (never: readonly IndexFileKey[]) => {
    const roots: RootSize[] = [];
    for (const scope of scopes) roots.push(await measureRoot(memory, { scope, maxChars, never }));
    return roots;
  };
  let roots = await measureAll([]);
  let marked: MarkedFiles | null = null;
  if (sumUp(roots) > maxChars || roots.some(({ hasLogs }) => hasLogs)) {
    marked = await findMarked();
    const { never } = marked;
    if (never.length > 0 && sumUp(roots) > maxChars) roots = await measureAll(never);
  }
  const { always = [], never = [] } = marked ?? {};
  const canFitAll = sumUp(roots) <= maxChars;
  const canFit = roots.filter(({ least }) => least <= maxChars);
  const texts = await readRoots(memory, {
    scopes: canFit.map(({ scope }) => scope),
    includes: (file) =>
      !isOneOf(never, file) &&
      (!isExcludedFromDreams(file.path) || always.some((range) => isSameKey(range.file, file))),
  });
  if (canFitAll) {
    const ranges = [...texts.values()].flat();
    if (measureRanges(ranges) <= maxChars) {
      const hasWhole = ranges.length > 0;
      return { ranges, never, hasWhole, isAll: hasWhole || !roots.some(({ hasLogs }) => hasLogs) };
    }
  }
  marked ??= await findMarked();
  const taken = takeRoots(texts, takeAlways(marked.always, maxChars), maxChars);
  return { ...taken, never: marked.never, isAll: false };
}

/** Adds whole roots to the files that are always there, each if it fits. */
function takeRoots(
  texts: ReadonlyMap<ScopeKey, readonly StableRange[]>,
  always: readonly Range[],
  maxChars: number,
): Pick<StablePart, 'ranges' | 'hasWhole'> {
  const most = measureRanges(always) + (maxChars - measureRanges(always)) * SHARE;
  const toRanges = (wholes: readonly ScopeKey[]): StableRange[] => [
    ...wholes.flatMap((scope) => texts.get(scope) ?? []),
    ...always
      .filter(({ file }) => !wholes.includes(file.scope))
      .map((range) => ({ ...range, why: 'always' as const })),
  ];
  let taken: readonly ScopeKey[] = [];
  for (const scope of texts.keys()) {
    const wider = [...taken, scope];
    if (measureRanges(toRanges(wider)) <= most) taken = wider;
  }
  const hasWhole = taken.some((scope) => texts.get(scope)?.length !== 0);
  return { ranges: toRanges(taken), hasWhole };
}

/** A root, as far as the sizes of its files tell. */
interface RootSize {
  scope: ScopeKey;
  /** The fewest characters that its files can take; no more than that exceeds `maxChars` is counted. */
  least: number;
  hasLogs: boolean;
}

async function measureRoot(
  memory: MemoryFiles,
  { scope, maxChars, never }: { scope: ScopeKey; maxChars: number; never: readonly IndexFileKey[] },
): Promise<RootSize> {
  const root: RootSize = { scope, least: 0, hasLogs: false };
  let after: string | null = null;
  do {
    const page: readonly SizedFile[] = await memory.list(
      { scope, prefix: '' },
      { after, limit: PAGE },
    );
    for (const file of page) {
      if (isExcludedFromDreams(file.path)) root.hasLogs = true;
      else if (!isOneOf(never, file)) root.least += leastCharsOf(file);
    }
    after = page.length < PAGE ? null : (page.at(-1)?.path ?? null);
  } while (after !== null && root.least <= maxChars);
  return root;
}

/** The fewest characters of a file in a context; of one that is not empty, its source is counted. */
function leastCharsOf({ path, size }: SizedFile): number {
  if (size === 0) return 0;
  const text = Math.max(0, Math.floor((size - UNSHOWN_BYTES) / BYTES_PER_CHAR));
  return HEADER_CHARS + path.length + text;
}

function sumUp(roots: readonly RootSize[]): number {
  return roots.reduce((sum, { least }) => sum + least, 0);
}

/** The text of each root: files with `context: always` first, then by path. */
async function readRoots(
  memory: MemoryFiles,
  {
    scopes,
    includes,
  }: {
    scopes: readonly ScopeKey[];
    includes: (file: IndexFileKey & { path: string }) => boolean;
  },
): Promise<Map<ScopeKey, StableRange[]>> {
  const files = scopes.length === 0 ? [] : await memory.readScopes(scopes, includes);
  const ranges = files.flatMap((file) => toText(file) ?? []).sort(byMarkAndPath);
  return new Map(scopes.map((scope) => [scope, ranges.filter(({ file }) => file.scope === scope)]));
}

function toText(file: FoundFile): StableRange | null {
  if (isKeptOut(file.content)) return null;
  const range = toWhole(file, findTextStart(file.content));
  if (range === null) return null;
  return { ...range, why: findAlwaysShown(file.content) === null ? 'fits' : 'always' };
}

function byMarkAndPath(a: StableRange, b: StableRange): number {
  if (a.why !== b.why) return a.why === 'always' ? -1 : 1;
  return toVirtualPath(a.file) < toVirtualPath(b.file) ? -1 : 1;
}

function isOneOf(keys: readonly IndexFileKey[], file: IndexFileKey): boolean {
  return keys.some((key) => isSameKey(key, file));
}

function isSameKey(a: IndexFileKey, b: IndexFileKey): boolean {
  return a.scope === b.scope && a.fileNo === b.fileNo;
}
