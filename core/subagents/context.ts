import type { ScopeKey } from '../contracts/records.ts';
import type { ContextService, ToolCall } from '../contracts/tool.ts';
import type { ContextArguments } from '../schemas/memory-tools/context.ts';
import { createFence } from '../edits/fence.ts';
import { toScopes, toVirtualPath } from '../files/paths.ts';
import { type FindDependencies, logShown, openMemory, type ShownLines } from '../search/find.ts';
import type { MemoryFiles } from '../search/memory-files.ts';
import type { Hit } from '../search/search.ts';
import { newestOf } from '../search/time/line-times.ts';
import { openMemoryAt, parseAsOf, type PastMemory } from '../search/time/memory-at.ts';
import { logAccess } from '../telemetry/access-rows.ts';
import { formatLines, toLineRanges } from '../telemetry/shown-lines.ts';
import { parseTime, toTime } from '../time/time.ts';
import { findMarked, withoutShown } from './context/always.ts';
import { gather, type Gathered, search } from './context/gather.ts';
import { type Catalog, type CatalogSource, listCatalog } from './context/list-catalog.ts';
import {
  assemble,
  isSameFile,
  measureRanges,
  type Part,
  printParts,
  type Range,
  toPart,
} from './context/print.ts';
import {
  createRootSizes,
  type RootSizes,
  type StablePart,
  takeMarked,
  takeStable,
  toStateKey,
} from './context/roots.ts';
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
/** Paths that a model plans searches by. */
const PATHS = 100;

/**
 * `memory_context`: lines of memory as they stand, each with its source. What is the same for every
 * question comes first: a memory that fits as a whole, or whole roots and the files with
 * `context: always`. Then, with a model, the lines that it selects of what the question and the searches
 * that it plans find; without one, or when it fails (`degraded` says why), the passages that find
 * gathers. Where there is nothing of all this: a catalog.
 */
export function createContext(given: ContextDependencies): ContextService {
  const sizes = createRootSizes();
  return {
    async context(args, call) {
      const { query, maxChars = DEFAULT_CHARS, fill = given.isFilled } = args;
      const { deps, past, expired } = await openValid(given, args, call);
      const request: ContextRequest = { query, maxChars, fill, past };
      const { stable, found } = await readMemory(deps, sizes, request, call);
      const hits = withoutShown(found.hits, stable.ranges);
      const room = maxChars - measureRanges(stable.ranges);
      const asksModel = args.model !== false && past === null && !(fill && stable.isAll);
      const selection = asksModel ? await select(deps, { query, room, hits, stable }, call) : null;
      const isSelected = selection !== null && 'ranges' in selection;
      const chosen = isSelected
        ? selection.ranges
        : await withTimes(assemble(hits, room), deps.lineTimes);
      const isNothing = chosen.length === 0 && (isSelected || found.hits.length === 0);
      const catalog = isNothing
        ? await findCatalog(deps, { ...request, room, stable }, call)
        : null;
      const sources = [
        ...(await splitByMatches(stable.ranges, found.hits, deps.lineTimes)),
        ...chosen.map((range): Source => ({ ...range, why: 'matched' })),
      ];
      await logRows(deps, { sources, found: found.hits, selection, catalog }, call);
      const [first, rest] = [stable.ranges, chosen].map((ranges) => ranges.map(toPart)) as [
        Part[],
        Part[],
      ];
      if (catalog !== null) rest.push(catalog.part);
      const printed = await print(
        deps,
        fill ? { stable: first, rest } : { stable: [], rest: [...first, ...rest] },
        call,
      );
      const degraded = [
        selection !== null && 'degraded' in selection ? selection.degraded : null,
        found.degraded,
      ].filter((why) => why !== null);
      return {
        ...printed,
        sources: [...sources, ...(catalog?.sources ?? [])].map(toAnswered),
        mode: isSelected ? 'model' : 'find',
        ...(expired() === 0 ? {} : { expired: expired() }),
        ...(degraded.length === 0 ? {} : { degraded: degraded.join(' ') }),
      };
    },
  };
}

/** What a call asks for. */
interface ContextRequest {
  query: string;
  maxChars: number;
  fill: boolean;
  /** `null` for memory as it is now. */
  past: PastMemory | null;
}

/** What a call works with: memory of its moment, without what has expired by then. */
async function openValid(
  given: ContextDependencies,
  { asOf, includeExpired }: ContextArguments,
  call: ToolCall,
): Promise<{ deps: ContextDependencies; past: PastMemory | null; expired(): number }> {
  const opened = await openPast(given, asOf, call);
  const { search, files, expired } = openMemory(opened ?? given.search, {
    at: asOf === undefined ? given.now() : parseTime(asOf, 'asOf'),
    timeZone: given.timeZone,
    includesExpired: includeExpired,
  });
  return opened === null
    ? { deps: { ...given, search: { ...given.search, search, files } }, past: null, expired }
    : { deps: given, past: { ...opened, search, files }, expired };
}

async function openPast(
  deps: ContextDependencies,
  asOf: string | undefined,
  call: ToolCall,
): Promise<PastMemory | null> {
  if (asOf === undefined) return null;
  const at = parseAsOf(asOf, deps.now());
  return await openMemoryAt(deps.search.revisions, { scopes: toScopes(call), within: null, at });
}

/**
 * The part for every question, and what this one finds, both of one state of memory: the embedder can
 * take seconds, so the part is read again where memory changed meanwhile. A question that can only find
 * what is there already is not embedded.
 */
async function readMemory(
  deps: ContextDependencies,
  sizes: RootSizes,
  request: ContextRequest,
  call: ToolCall,
): Promise<{ stable: StablePart; found: Gathered }> {
  const { query, past } = request;
  const stable = await readStable(deps, sizes, request, call);
  const mode = stable.hasAllFindable ? 'text' : 'auto';
  const found = await gather(deps.search, query, { call, past, mode });
  const isChanged = found.states.some((state, place) => {
    const before = stable.states[place];
    return before !== undefined && toStateKey(before) !== toStateKey(state);
  });
  return { stable: isChanged ? await readStable(deps, sizes, request, call) : stable, found };
}

/** What the context holds whatever the question is, with the times of its lines. */
async function readStable(
  deps: ContextDependencies,
  sizes: RootSizes,
  { maxChars, fill, past }: ContextRequest,
  call: ToolCall,
): Promise<StablePart> {
  const found = await findMarked(past?.search ?? deps.search.search, call);
  // The states of an earlier memory are of no use: it is opened for this call alone.
  const marked = past === null ? found : { ...found, states: [] };
  const stable = fill
    ? await takeStable(past?.files ?? deps.search.files, {
        scopes: toScopes(call),
        maxChars,
        sizes,
        marked,
      })
    : takeMarked(marked, maxChars);
  return { ...stable, ranges: await withTimes(stable.ranges, deps.lineTimes) };
}

/** What a model selects; `null` without one. */
async function select(
  deps: ContextDependencies,
  {
    query,
    room,
    hits,
    stable,
  }: { query: string; room: number; hits: readonly Hit[]; stable: StablePart },
  call: ToolCall,
): Promise<Selection | null> {
  const { model } = deps;
  if (model === null) return null;
  const find = async (text: string) =>
    withoutShown(await search(deps.search, text, call), stable.ranges);
  return await selectLines(
    deps,
    {
      model,
      query,
      maxChars: room,
      own: hits,
      search: find,
      paths: await listPaths(deps.search.files, toScopes(call)),
    },
    call,
  );
}

/** The first paths of a memory, in their order: `shared/` comes before `user/`. */
async function listPaths(memory: MemoryFiles, scopes: readonly ScopeKey[]): Promise<string[]> {
  const paths: string[] = [];
  for (const scope of scopes.toSorted()) {
    const limit = PATHS - paths.length;
    if (limit === 0) break;
    const files = await memory.list({ scope, prefix: '' }, { after: null, limit });
    paths.push(...files.map(toVirtualPath));
  }
  return paths;
}

/** What there is to read; `null` where a part of it stands in the context, or the call wants none. */
async function findCatalog(
  deps: ContextDependencies,
  { maxChars, fill, past, room, stable }: ContextRequest & { room: number; stable: StablePart },
  call: ToolCall,
): Promise<Catalog | null> {
  if (!fill || stable.hasWhole || stable.isAll) return null;
  const [scope] = toScopes(call) as [ScopeKey];
  return await listCatalog(past?.files ?? deps.search.files, {
    scope,
    maxChars,
    room,
    never: stable.never,
    shown: stable.ranges,
  });
}

/** A source as a call answers it; that of a catalog has no time of its own. */
function toAnswered({ file, startLine, endLine, at, why }: Source | CatalogSource) {
  return {
    path: toVirtualPath(file),
    startLine,
    endLine,
    version: file.version,
    updatedAt: toTime(at),
    why,
  };
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
async function logRows(
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
  if (catalog === null && selection === null) return;
  // One row of a list, whether a model was shown paths, the caller a catalog, or both.
  const index = catalog?.index ?? null;
  const [scope] = toScopes(call) as [ScopeKey];
  await logAccess(deps.search, {
    call,
    rows: [
      {
        scope,
        path: index?.file.path ?? '',
        action: 'list',
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
 * either. No text of a block has the mark of the other, so that none passes itself off as a part of it.
 * Where a text of the second has the mark of the first, there is a single block with another mark.
 */
async function print(
  { fenceKey }: ContextDependencies,
  { stable, rest }: { stable: readonly Part[]; rest: readonly Part[] },
  call: ToolCall,
): Promise<{ context: string; stableChars: number }> {
  if (stable.length + rest.length === 0) return { context: '', stableChars: 0 };
  const key = await fenceKey();
  const createMark = (texts: readonly string[]) =>
    createFence(key, { userId: call.userId, purpose: 'context' }, texts);
  const [stableTexts, restTexts] = [stable, rest].map((parts) =>
    parts.flatMap(({ header, text }) => [header, text]),
  ) as [string[], string[]];
  const mark = createMark(stableTexts);
  const isForged = restTexts.some((text) => text.toLowerCase().includes(mark));
  if (stable.length === 0 || isForged) {
    const one = createMark([...stableTexts, ...restTexts]);
    return { context: printParts([...stable, ...rest], one), stableChars: 0 };
  }
  const first = printParts(stable, mark);
  const second = printParts(rest, createMark([...stableTexts, ...restTexts, mark]));
  return { context: `${first}${second}`, stableChars: first.length };
}
