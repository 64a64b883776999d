import { LRUCache } from 'lru-cache';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexFileKey, IndexState } from '../../contracts/storage.ts';
import { findAlwaysShown, findTextStart, isKeptOut } from '../../edits/markdown.ts';
import { isExcludedFromDreams } from '../../files/dream-exclusion.ts';
import { mayHide } from '../../markdown/valid-until.ts';
import { toVirtualPath } from '../../files/paths.ts';
import type { MemoryFiles, SizedFile } from '../../search/memory-files.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import { type MarkedFiles, takeAlways } from './always.ts';
import {
  isSameFile,
  LEAST_SOURCE_CHARS,
  measureRanges,
  type Range,
  toMember,
  toWhole,
} from './print.ts';

/** The part of a context that does not depend on the question. */
export interface StablePart {
  /** In the order in which they are printed: whole roots, then files with `context: always` of others. */
  ranges: StableRange[];
  /** Whether a root that has text is given whole. */
  hasWhole: boolean;
  /** Whether these are all files that memory has, logs and `context: never` aside. */
  isAll: boolean;
  /** Whether these are all files that a question can find. */
  hasAllFindable: boolean;
  /** Files with `context: never`. */
  never: readonly IndexFileKey[];
  /** Of each scope, in order, when this was read; none of an earlier memory. */
  states: readonly IndexState[];
}

/** A range of it. Of a file in a whole root, a question can match some lines. */
export interface StableRange extends Range {
  why: 'always' | 'fits';
}

/** What a share of the rest the whole roots have, if memory does not fit as a whole. */
const SHARE = 1 / 2;
/** A character takes at most three bytes of UTF-8. */
const BYTES_PER_CHAR = 3;
/** Bytes of a file that need not be shown: blank lines at its ends, front matter for the service. */
const UNSHOWN_BYTES = 64;
/** Files of a root that are so small that they may be blank, and count as such. More count as text. */
const MAYBE_BLANK = 64;
/**
 * The sizes of files count what has expired, too. A root that says ends is read if it is at most so many
 * times too large.
 */
const WITH_EXPIRED = 4;
/** Files of one look at their sizes. */
const PAGE = 64;

/**
 * Takes what a context holds whatever the question is. A memory that fits as a whole is given whole.
 * Else: files with `context: always` in their quarter, then roots in the order of `scopes`, each whole or
 * not at all, in at most half of the rest. Which roots can fit is decided by the sizes of their files,
 * before any is read, unless some of it may have expired.
 */
export async function takeStable(
  memory: MemoryFiles,
  {
    scopes,
    maxChars,
    marked,
    sizes,
  }: {
    scopes: readonly ScopeKey[];
    maxChars: number;
    marked: MarkedFiles;
    sizes: RootSizes;
  },
): Promise<StablePart> {
  const { always, never, states } = marked;
  const isNever = toMember(never);
  const roots: RootSize[] = [];
  for (const [place, scope] of scopes.entries()) {
    const state = states[place] ?? null;
    const maxLeast = maxChars * WITH_EXPIRED;
    roots.push(await sizes.measure(memory, { scope, maxLeast, state, isNever }));
  }
  const hasAlways = (scope: ScopeKey) => always.some(({ file }) => file.scope === scope);
  const canFit = roots.filter(
    ({ scope, least, maybeBlank, maySayEnds }) =>
      least <= (maySayEnds ? maxChars * WITH_EXPIRED : maxChars) &&
      (least + maybeBlank > 0 || hasAlways(scope)),
  );
  const { texts, withEnds } = await readRoots(memory, {
    scopes: canFit.map(({ scope }) => scope),
    includes: (file) =>
      !isNever(file) &&
      (!isExcludedFromDreams(file.path) || always.some((range) => isSameFile(range.file, file))),
  });
  for (const root of canFit) {
    if (!withEnds.has(root.scope)) sizes.noteWithoutEnds(root);
  }
  if (roots.every(({ scope, least }) => least === 0 || texts.has(scope))) {
    const ranges = [...texts.values()].flat();
    if (measureRanges(ranges) <= maxChars) {
      const hasWhole = ranges.length > 0;
      const hasLogs = roots.some((root) => root.hasLogs);
      return {
        ranges,
        never,
        states,
        hasWhole,
        isAll: hasWhole || !hasLogs,
        hasAllFindable: !hasLogs,
      };
    }
  }
  const taken = takeRoots(texts, takeAlways(always, maxChars), maxChars);
  return { ...taken, never, states, isAll: false, hasAllFindable: false };
}

/** Without filling: the files with `context: always` in their quarter. */
export function takeMarked({ always, never, states }: MarkedFiles, maxChars: number): StablePart {
  const ranges = takeAlways(always, maxChars).map((range) => ({
    ...range,
    why: 'always' as const,
  }));
  return { ranges, never, states, hasWhole: false, isAll: false, hasAllFindable: false };
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
  /** The fewest characters that the files up to `after` take. */
  least: number;
  /** How many of these are so small that they may be blank. */
  maybeBlank: number;
  hasLogs: boolean;
  /** Whether something in it may expire before it changes; known once it was read. */
  maySayEnds: boolean;
  /** The last path that was looked at; `null` for none so far. */
  after: string | null;
  isComplete: boolean;
  /** The state of the scope that it was looked at in. */
  key: string;
}

/** Measures roots, as far as is needed to know that one does not fit. */
export interface RootSizes {
  measure(
    memory: MemoryFiles,
    root: {
      scope: ScopeKey;
      /** The root is looked at until it is known to take more characters than this. */
      maxLeast: number;
      /** `null` for a memory that is looked at once. */
      state: IndexState | null;
      isNever: (file: IndexFileKey) => boolean;
    },
  ): Promise<RootSize>;
  /** Notes that nothing in a root expires before it changes. */
  noteWithoutEnds(root: RootSize): void;
}

/** Roots whose sizes are kept for later calls. */
const KEPT_ROOTS = 10_000;

/** Makes the measure of roots, which looks at one again after its memory has changed. */
export function createRootSizes(): RootSizes {
  const known = new LRUCache<ScopeKey, RootSize>({ max: KEPT_ROOTS });
  return {
    async measure(memory, { scope, maxLeast, state, isNever }) {
      const key = state === null ? '' : toStateKey(state);
      const kept = state === null ? undefined : known.get(scope);
      const root: RootSize =
        kept?.key === key
          ? { ...kept }
          : {
              scope,
              least: 0,
              maybeBlank: 0,
              hasLogs: false,
              maySayEnds: true,
              after: null,
              isComplete: false,
              key,
            };
      while (!root.isComplete && root.least <= maxLeast) {
        const options = { after: root.after, limit: PAGE };
        const page = await memory.list({ scope, prefix: '' }, options);
        for (const file of page) {
          if (isExcludedFromDreams(file.path)) root.hasLogs = true;
          else if (!isNever(file)) {
            const mayBeBlank = file.size <= UNSHOWN_BYTES && root.maybeBlank < MAYBE_BLANK;
            if (!mayBeBlank) root.least += leastCharsOf(file);
            else if (file.size > 0) root.maybeBlank += 1;
          }
        }
        root.after = page.at(-1)?.path ?? root.after;
        root.isComplete = page.length < PAGE;
      }
      if (state !== null) known.set(scope, root);
      return root;
    },
    noteWithoutEnds(root) {
      const kept = known.get(root.scope);
      if (kept?.key === root.key && kept.after === root.after) kept.maySayEnds = false;
    },
  };
}

/** The same for as long as a scope does not change. */
export function toStateKey({ version, generation }: IndexState): string {
  // Versions repeat after a scope was erased, generations don't.
  return `${version} ${generation}`;
}

/** The fewest characters of a file with text in a context, with its source. */
function leastCharsOf({ path, size }: SizedFile): number {
  if (size === 0) return 0;
  const text = Math.max(0, Math.floor((size - UNSHOWN_BYTES) / BYTES_PER_CHAR));
  return LEAST_SOURCE_CHARS + path.length + text;
}

/**
 * The text of each root: files with `context: always` first, then by path. And the roots in which something
 * has expired, or may expire.
 */
async function readRoots(
  memory: MemoryFiles,
  {
    scopes,
    includes,
  }: {
    scopes: readonly ScopeKey[];
    includes: (file: IndexFileKey & { path: string }) => boolean;
  },
): Promise<{ texts: Map<ScopeKey, StableRange[]>; withEnds: ReadonlySet<ScopeKey> }> {
  const missing = new Map<string, ScopeKey>();
  const files =
    scopes.length === 0
      ? []
      : await memory.readScopes(scopes, (file) => {
          const isIncluded = includes(file);
          if (isIncluded) missing.set(`${file.scope} ${file.fileNo}`, file.scope);
          return isIncluded;
        });
  for (const { scope, fileNo } of files) missing.delete(`${scope} ${fileNo}`);
  // A file that has expired as a whole is missing.
  const withEnds = new Set(missing.values());
  for (const { scope, content } of files) if (mayHide(content)) withEnds.add(scope);
  const ranges = files.flatMap((file) => toText(file) ?? []).sort(byMarkAndPath);
  const texts = new Map(
    scopes.map((scope) => [scope, ranges.filter(({ file }) => file.scope === scope)]),
  );
  return { texts, withEnds };
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
