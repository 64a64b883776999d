import type { ContextService, ToolCall } from '../contracts/tool.ts';
import { createFence } from '../edits/fence.ts';
import { toVirtualPath } from '../files/paths.ts';
import { type FindDependencies, logShown, scopesOf, type ShownLines } from '../search/find.ts';
import type { FoundFile } from '../search/search-caches.ts';
import type { Hit } from '../search/search.ts';
import { newestOf } from '../search/time/line-times.ts';
import { openMemoryAt, parseAsOf, type PastMemory } from '../search/time/memory-at.ts';
import { logAccess } from '../telemetry/access-rows.ts';
import { formatLines, toLineRanges } from '../telemetry/shown-lines.ts';
import { toTime } from '../time.ts';
import { findMarked, takeAlways, withoutShown } from './context/always.ts';
import { gather, search } from './context/gather.ts';
import { type Catalog, listCatalog } from './context/list-catalog.ts';
import {
  assemble,
  isSameFile,
  measureRanges,
  type Part,
  printParts,
  type Range,
  toPart,
} from './context/print.ts';
import { createRootSizes, type RootSizes, type StablePart, takeStable } from './context/roots.ts';
import { type SelectDependencies, type Selection, selectLines } from './context/select-lines.ts';
import { type Source, splitByMatches } from './context/sources.ts';
import type { Model } from './model.ts';

/** What gathering context works with. */
export interface ContextDependencies extends SelectDependencies {
  search: FindDependencies;
  /** `null` when no model is configured. */
  model: Model | null;
  /** Whether memory that fits is given whole where a call does not say. */
  isFilled: boolean;
}

const DEFAULT_CHARS = 8_000;

/**
 * `memory_context`: lines of memory as they stand, each with its source. What is the same for every
 * question comes first: a memory that fits as a whole, or whole roots and the files with
 * `context: always`. Then, with a model, the lines that it selects of what the question and the searches
 * that it plans find; without one, or when it fails (`degraded` says why), the passages that find
 * gathers. Where there is nothing of all this: a catalog.
 */
export function createContext(deps: ContextDependencies): ContextService {
  const sizes = createRootSizes();
  return {
    async context(args, call) {
      const { query, maxChars = DEFAULT_CHARS, fill = deps.isFilled } = args;
      const scopes = scopesOf(call);
      const at = args.asOf === undefined ? null : parseAsOf(args.asOf, deps.now());
      const past =
        at === null
          ? null
          : await openMemoryAt(deps.search.revisions, { scopes, within: null, at });
      const stable = await readStable(deps, { maxChars, fill, past, sizes }, call);
      const { hits: found, degraded } = await gather(deps.search, query, { call, past });
      const room = maxChars - measureRanges(stable.ranges);
      const hits = withoutShown(found, stable.ranges);
      const isAsked = args.model !== false && past === null && !(fill && stable.isAll);
      const selection =
        deps.model === null || !isAsked
          ? null
          : await selectLines(
              deps,
              {
                ...{ model: deps.model, query, maxChars: room, own: hits },
                search: async (text) =>
                  withoutShown(await search(deps.search, text, call), stable.ranges),
              },
              call,
            );
      const isSelected = selection !== null && 'ranges' in selection;
      const chosen = isSelected
        ? selection.ranges
        : await withTimes(assemble(hits, room), deps.lineTimes);
      const isNothing = chosen.length === 0 && (isSelected || found.length === 0);
      const catalog =
        fill && isNothing && !stable.hasWhole && !stable.isAll
          ? await listCatalog(past?.files ?? deps.search.files, {
              ...{ scope: scopes[0] as (typeof scopes)[number], maxChars: room },
              ...{ never: stable.never, shown: stable.ranges },
            })
          : null;
      const sources = [
        ...(await splitByMatches(stable.ranges, found, deps.lineTimes)),
        ...chosen.map((range): Source => ({ ...range, why: 'matched' })),
      ];
      await log(deps, { sources, found, selection, catalog }, call);
      const parts = [stable.ranges, chosen].map((ranges) => ranges.map(toPart));
      const [first = [], rest = []] = fill ? parts : [[], parts.flat()];
      if (catalog !== null) rest.push(catalog.part);
      const printed = await print(deps, { stable: first, rest }, call);
      const failure = selection !== null && 'degraded' in selection ? [selection.degraded] : [];
      const why = [...failure, ...(degraded === null ? [] : [degraded])];
      return {
        ...printed,
        sources: [
          ...sources.map(({ file, startLine, endLine, at: time, why: reason }) => ({
            ...{ path: toVirtualPath(file), startLine, endLine, version: file.version },
            ...{ updatedAt: toTime(time), why: reason },
          })),
          ...(catalog?.sources ?? []).map(({ file, startLine, endLine }) => ({
            ...{ path: toVirtualPath(file), startLine, endLine, version: file.version },
            ...{ updatedAt: toTime(file.updatedAt), why: 'catalog' as const },
          })),
        ],
        mode: isSelected ? 'model' : 'find',
        ...(why.length === 0 ? {} : { degraded: why.join(' ') }),
      };
    },
  };
}

/** What the context holds whatever the question is, with the times of its lines. */
async function readStable(
  deps: ContextDependencies,
  {
    maxChars,
    fill,
    past,
    sizes,
  }: { maxChars: number; fill: boolean; past: PastMemory | null; sizes: RootSizes },
  call: ToolCall,
): Promise<StablePart> {
  const marked = await findMarked(past?.search ?? deps.search.search, call);
  const { always, never } = marked;
  const stable = fill
    ? await takeStable(past?.files ?? deps.search.files, {
        ...{ scopes: scopesOf(call), maxChars, sizes },
        marked: past === null ? marked : { ...marked, states: [] },
      })
    : {
        ranges: takeAlways(always, maxChars).map((one) => ({ ...one, why: 'always' as const })),
        ...{ never, hasWhole: false, isAll: false },
      };
  return { ...stable, ranges: await withTimes(stable.ranges, deps.lineTimes) };
}

function withTimes<R extends Range>(
  ranges: readonly R[],
  lineTimes: ContextDependencies['lineTimes'],
): Promise<R[]> {
  return Promise.all(
    ranges.map(async (range) => {
      const times = await lineTimes(range.file);
      return { ...range, at: newestOf(times, range.startLine, range.endLine) };
    }),
  );
}

/**
 * Writes the access rows. What a model was shown has been read, whether or not it selected it; a file
 * that is there because it fits counts as found.
 */
async function log(
  deps: ContextDependencies,
  {
    sources,
    found,
    selection,
    catalog,
  }: {
    sources: readonly Source[];
    found: readonly Hit[];
    selection: Selection | null;
    catalog: Catalog | null;
  },
  call: ToolCall,
): Promise<void> {
  const of = (...reasons: Source['why'][]) => sources.filter(({ why }) => reasons.includes(why));
  const [always, matched, fits] = [of('always'), of('matched'), of('fits')];
  const read = [
    ...always.map(toShown),
    ...found.flatMap(({ file }) =>
      matched.filter((source) => isSameFile(source.file, file)).map(toShown),
    ),
    ...(selection?.shown ?? []),
  ];
  await logShown(deps.search, { shown: read, action: 'context' }, call);
  await logShown(deps.search, { shown: fits.map(toShown), action: 'find' }, call);
  if (catalog === null) return;
  const { index } = catalog;
  const [scope] = scopesOf(call) as [FoundFile['scope']];
  await logAccess(deps.search, {
    call,
    rows: [
      {
        ...{ scope, path: index?.file.path ?? '', action: 'list' },
        ...(index === null
          ? {}
          : {
              fileNo: index.file.fileNo,
              revisionId: index.file.latestRevisionId,
              version: index.file.version,
              lines: formatLines([index]),
            }),
      },
    ],
  });
}

/** The lines of a source with those of its headings. */
function toShown({ file, startLine, endLine, heading, headingLines }: Source): ShownLines {
  const headings = heading === null ? [] : toLineRanges(headingLines);
  return { file, lines: [{ startLine, endLine }, ...headings] };
}

/**
 * The text in one block, or in two: first what does not depend on the question, whose mark does not
 * either. A text of the second block that has the mark of the first could pass itself off as a part of
 * it: then there is a single block with another mark.
 */
async function print(
  { fenceKey }: ContextDependencies,
  { stable, rest }: { stable: readonly Part[]; rest: readonly Part[] },
  call: ToolCall,
): Promise<{ context: string; stableChars: number }> {
  if (stable.length + rest.length === 0) return { context: '', stableChars: 0 };
  const key = await fenceKey();
  const toBlock = (parts: readonly Part[], others: readonly string[] = []) => {
    const texts = [...parts.flatMap(({ header, text }) => [header, text]), ...others];
    const mark = createFence(key, { userId: call.userId, purpose: 'context' }, texts);
    return { mark, text: printParts(parts, mark) };
  };
  const first = toBlock(stable);
  const isForged = rest.some(({ header, text }) =>
    `${header}\n${text}`.toLowerCase().includes(first.mark),
  );
  if (stable.length === 0 || isForged) {
    return { context: toBlock([...stable, ...rest]).text, stableChars: 0 };
  }
  const second = rest.length === 0 ? '' : toBlock(rest, [first.mark]).text;
  return { context: `${first.text}${second}`, stableChars: first.text.length };
}
