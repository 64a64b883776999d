import type { AccessAction, AccessRecord, ScopeKey } from '../contracts/records.ts';
import type { FindService, FoundPassage, ToolCall } from '../contracts/tool.ts';
import { makeSnippet } from '../search/snippet.ts';
import { logAccess } from './access-rows.ts';
import type { IdSource } from './ids.ts';
import { parseUserId, parseVirtualPrefix, toScope, toVirtualPath } from './paths.ts';
import type { Hit, Search, SearchAnswer, SearchRequest } from './search.ts';
import { toTime } from './time.ts';
import type { WriteBehind } from './write-behind.ts';

/** Results of one find, unless it asks for another number. */
const DEFAULT_LIMIT = 10;

/** What a find works with. */
export interface FindDependencies {
  search: Search;
  ids: IdSource;
  log: WriteBehind;
}

/** `memory_find`: the search as a tool, with an access row for each file that it returns. */
export function createFind(deps: FindDependencies): FindService {
  return {
    async find(args, call) {
      const { query, path, limit = DEFAULT_LIMIT, group = 'file', mode = 'auto' } = args;
      const within = path === undefined || path === '' ? null : parsePrefix(path, call);
      const request = { text: query, scopes: scopesOf(call), within, group, limit, isFuzzy: true };
      const { hits } = await runSearch(deps.search, request, call);
      await logHits(deps, hits, 'find', call);
      return {
        mode: 'text',
        ...(mode === 'hybrid' ? { degraded: 'No embedder is configured.' } : {}),
        results: hits.map((hit) => toFound(hit, args.explain === true)),
      };
    },
  };
}

/** The scopes that a call may search: its user's and the shared one. */
export function scopesOf(call: ToolCall): ScopeKey[] {
  return [toScope(parseUserId(call.userId)), 's'];
}

/** Searches inside a span of the call. */
export async function runSearch(
  search: Search,
  request: SearchRequest,
  call: ToolCall,
): Promise<SearchAnswer> {
  const span = call.trace.start('search.bm25', 'search');
  try {
    const answer = await search.search(request);
    span.end({ ...answer.stats, results: answer.hits.length });
    return answer;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}

/** Leaves one access row for each file among the hits, with its best rank. */
export async function logHits(
  deps: Pick<FindDependencies, 'ids' | 'log'>,
  hits: readonly Hit[],
  action: Extract<AccessAction, 'find' | 'context'>,
  call: ToolCall,
): Promise<void> {
  const seen = new Set<string>();
  const rows: Pick<AccessRecord, 'scope' | 'path' | 'action' | 'fileNo' | 'revisionId' | 'rank'>[] =
    [];
  for (const { file } of hits) {
    const key = toVirtualPath(file);
    if (seen.has(key)) continue;
    seen.add(key);
    const { scope, path, fileNo, latestRevisionId } = file;
    rows.push({ scope, path, action, fileNo, revisionId: latestRevisionId, rank: rows.length + 1 });
  }
  if (rows.length > 0) await logAccess(deps, rows, call);
}

function parsePrefix(path: string, call: ToolCall) {
  return parseVirtualPrefix(path, parseUserId(call.userId))[0] ?? null;
}

function toFound(
  { file, passages, passage, score, explain }: Hit,
  isExplained: boolean,
): FoundPassage {
  const best = passages[passage];
  return {
    path: toVirtualPath(file),
    score,
    startLine: best?.startLine ?? 1,
    endLine: best?.endLine ?? 1,
    heading: best?.heading ?? null,
    snippet: makeSnippet(file.content, passages, passage).text,
    version: file.version,
    updatedAt: toTime(file.updatedAt),
    ...(isExplained ? { signals: { ...explain() } } : {}),
  };
}
