import type { AccessAction, LineRange } from '../contracts/records.ts';
import type { FindArguments, FindService, FoundPassage, ToolCall } from '../contracts/tool.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import { dropHidden, type Moment } from '../markdown/valid-until.ts';
import { makeSnippet } from './text/snippet.ts';
import { logAccess } from '../telemetry/access-rows.ts';
import type { Embedding } from './embedding/embedding.ts';
import type { IdSource } from '../ids/ids.ts';
import { parseVirtualPrefix, type PathPrefix, toScopes, toVirtualPath } from '../files/paths.ts';
import type { FusionWeights } from './rank/fuse.ts';
import type { FoundFile } from './search-caches.ts';
import type { Hit, HybridQuestion, Search, SearchAnswer, SearchRequest } from './search.ts';
import type { Revisions } from '../history/revisions.ts';
import { createPause } from '../time/pause.ts';
import { parseTimeOrNull, toTime } from '../time/time.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { formatLines, toLineRanges } from '../telemetry/shown-lines.ts';
import { orderByTime, type TimedHit, toTimeRequest, widenRequest } from './time/find-in-time.ts';
import type { LineTimes } from './time/line-times.ts';
import type { MemoryFiles } from './memory-files.ts';
import { openMemoryAt, parseAsOf, type PastMemory } from './time/memory-at.ts';
import { writeHint } from './hint.ts';
import { type ValidMemory, validMemory, wholeMemory } from './valid-memory.ts';

/** The default number of results of one find. */
const DEFAULT_LIMIT = 10;

/** The dependencies of a find. */
export interface FindDependencies {
  search: Search;
  /** Memory as it is now. */
  files: MemoryFiles;
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'access'>;
  /** `null` if no embedder is configured. */
  hybrid: HybridDependencies | null;
  revisions: Pick<Revisions, 'fileAt' | 'memoryAt'>;
  lineTimes: LineTimes;
  /** Of a caller that names none. */
  timeZone: string;
  now: () => number;
}

/** The dependencies of a search by meaning. */
export interface HybridDependencies {
  embedding: Embedding;
  /** The model that is in use, or why it can't be. */
  use(): { key: ModelKey } | { degraded: string };
  weights: FusionWeights;
}

/** `memory_find`: the search as a tool, with an access row for each file that it returns. */
export function createFind(deps: FindDependencies): FindService {
  return {
    async find(args, call) {
      const { query, path, limit = DEFAULT_LIMIT, group = 'file', mode = 'auto' } = args;
      const within = path === undefined || path === '' ? null : parseVirtualPrefix(path, call);
      const request = { text: query, scopes: toScopes(call), within, group, limit, isFuzzy: true };
      const now = deps.now();
      const time = toTimeRequest(
        {
          query,
          sort: args.sort,
          since: parseTimeOrNull(args.since, 'since'),
          until: parseTimeOrNull(args.until, 'until'),
        },
        { now, timeZone: call.timeZone ?? deps.timeZone },
      );
      const wanted = time === null ? request : widenRequest(request, time);
      const at = args.asOf === undefined ? null : parseAsOf(args.asOf, now);
      const past =
        at === null
          ? null
          : await openMemoryAt(deps.revisions, { scopes: request.scopes, within, at });
      const memory = openMemory(past ?? deps, {
        at: at ?? now,
        timeZone: deps.timeZone,
        includesExpired: args.includeExpired,
      });
      const found =
        past === null
          ? await findHits({ ...deps, search: memory.search }, wanted, mode, call)
          : await findHitsAt({ ...past, search: memory.search }, wanted, call);
      const { isHybrid, degraded } = found;
      const hits: readonly (Hit & Partial<TimedHit>)[] =
        time === null
          ? found.hits
          : await orderByTime(found.hits, request, { time, lineTimes: deps.lineTimes });
      const results: Awaited<ReturnType<typeof toFound>>[] = [];
      const pause = createPause();
      for (const hit of hits) {
        const shown = await toFound(hit, args.explain === true);
        shown.lines.forEach((range) => memory.note(hit.file, range));
        results.push(shown);
        await pause();
      }
      const shown = hits.map(({ file }, index) => ({ file, lines: results[index]?.lines ?? [] }));
      await logShown(deps, { shown, action: 'find' }, call);
      const expired = memory.expired();
      const answer = {
        ...(expired === 0 ? {} : { expired }),
        ...(expired > 0 && args.explain === true ? { leftOut: memory.listExpired() } : {}),
        mode: isHybrid ? ('hybrid' as const) : ('text' as const),
        ...(degraded === null ? {} : { degraded }),
        results: results.map(({ result }) => result),
      };
      if (results.length > 0) return answer;
      const roots = within ?? request.scopes.map((scope) => ({ scope, prefix: '' }));
      const isInTime = time !== null && (time.since !== null || time.until !== null);
      const hint = await writeHint(memory.files, {
        roots,
        at,
        isInTime,
        path: within === null ? null : (path ?? null),
        isPartial: past !== null && past.degraded !== null,
      });
      const [{ scope, prefix }] = roots as [PathPrefix];
      await logAccess(deps, { call, rows: [{ scope, path: prefix, action: 'list' }] });
      return { ...answer, hint };
    },
  };
}

/** Memory without what has expired at a moment, unless a call wants that, too. */
export function openMemory(
  source: Pick<ValidMemory, 'search' | 'files'>,
  { includesExpired = false, ...moment }: Moment & { includesExpired?: boolean | undefined },
): ValidMemory {
  return includesExpired ? wholeMemory(source) : validMemory(source, moment);
}

/** The hits of a search by words in memory as it stood at a moment. */
export async function findHitsAt(
  { search, degraded }: PastMemory,
  request: SearchRequest,
  call: ToolCall,
): Promise<FoundHits> {
  return { ...(await runSearch(search, request, call)), isHybrid: false, degraded };
}

/** The hits of a find, and how they were found. */
export interface FoundHits extends SearchAnswer {
  isHybrid: boolean;
  /** Why the search used words alone although meaning was asked for; otherwise `null`. */
  degraded: string | null;
}

/** Searches by words, and by meaning too if an embedder is configured and `mode` allows it. */
export async function findHits(
  deps: Pick<FindDependencies, 'search' | 'hybrid'>,
  request: SearchRequest,
  mode: NonNullable<FindArguments['mode']>,
  call: ToolCall,
): Promise<FoundHits> {
  // Embeds before opening the snapshot, so that no connection waits for the embedder.
  const { hybrid, degraded } = await askByMeaning(deps.hybrid, request.text, mode, call);
  const answer = await runSearch(
    deps.search,
    hybrid === null ? request : { ...request, hybrid },
    call,
  );
  const why = hybrid !== null && answer.stats.vectors === 0 ? NO_VECTORS : degraded;
  return { ...answer, isHybrid: hybrid !== null && why === null, degraded: why };
}

const NO_VECTORS = 'No passage that was searched has a vector yet.';

/** The question's vector, or why there is none; both `null` if none was asked for. */
async function askByMeaning(
  deps: HybridDependencies | null,
  query: string,
  mode: NonNullable<FindArguments['mode']>,
  call: ToolCall,
): Promise<{ hybrid: HybridQuestion | null; degraded: string | null }> {
  if (mode === 'text') return { hybrid: null, degraded: null };
  if (deps === null) {
    return { hybrid: null, degraded: mode === 'hybrid' ? 'No embedder is configured.' : null };
  }
  const { weights } = deps;
  if (weights.vectorWeight === 0 && mode === 'auto') return { hybrid: null, degraded: null };
  const used = deps.use();
  if ('degraded' in used) return { hybrid: null, degraded: used.degraded };
  const { key } = used;
  const question = await deps.embedding.embedQuestion(query, call);
  if ('degraded' in question) return { hybrid: null, degraded: question.degraded };
  const { vector } = question;
  return { hybrid: { vector, key, weights, trace: call.trace }, degraded: null };
}

/** Runs the search inside a span of the call. */
export async function runSearch(
  search: Search,
  request: SearchRequest,
  call: ToolCall,
): Promise<SearchAnswer> {
  const kind = request.hybrid === undefined ? 'search.bm25' : 'search.hybrid';
  const span = call.trace.start(kind, 'search');
  try {
    const answer = await search.search(request);
    span.end({ ...answer.stats, results: answer.hits.length });
    return answer;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}

/** Lines of a file that a call shows. */
export interface ShownLines extends Pick<Hit, 'file'> {
  lines: readonly LineRange[];
}

/** Writes one access row for each file that a call shows, ranked by its first place in `shown`. */
export async function logShown(
  deps: Pick<FindDependencies, 'ids' | 'accessQueue'>,
  {
    shown,
    action,
  }: { shown: readonly ShownLines[]; action: Extract<AccessAction, 'find' | 'context'> },
  call: ToolCall,
): Promise<void> {
  const files = new Map<string, { file: FoundFile; lines: LineRange[] }>();
  for (const { file, lines } of shown) {
    const key = toVirtualPath(file);
    const known = files.get(key);
    if (known === undefined) files.set(key, { file, lines: [...lines] });
    else known.lines.push(...lines);
  }
  const rows = [...files.values()].map(({ file, lines }, index) => {
    const { scope, path, fileNo, latestRevisionId: revisionId, version } = file;
    const row = { scope, path, action, fileNo, revisionId, version };
    return { ...row, lines: formatLines(lines), rank: index + 1 };
  });
  if (rows.length > 0) await logAccess(deps, { call, rows });
}

/** A result of a find, and the lines of the file that it shows. */
async function toFound(
  { file, passages, passage, score, explain, at }: Hit & Partial<TimedHit>,
  isExplained: boolean,
): Promise<{ result: FoundPassage; lines: LineRange[] }> {
  const best = passages[passage];
  const { text: snippet, startLine, endLine } = makeSnippet(file.content, passages, passage);
  const result = {
    path: toVirtualPath(file),
    score,
    startLine: best?.startLine ?? 1,
    endLine: best?.endLine ?? 1,
    heading: best?.heading ?? null,
    snippet: dropHidden(snippet),
    version: file.version,
    updatedAt: toTime(file.updatedAt),
    ...(at === undefined ? {} : { writtenAt: toTime(at) }),
    ...(isExplained ? { signals: { ...(await explain()) } } : {}),
  };
  const lines =
    best === undefined ? [] : [{ startLine, endLine }, ...toLineRanges(best.headingLines)];
  return { result, lines };
}
