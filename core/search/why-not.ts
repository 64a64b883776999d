import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { FindArguments, FindService, ToolCall } from '../contracts/tool.ts';
import {
  parsePhysicalPath,
  parseUserId,
  toPhysicalPath,
  toScopes,
  toVirtualPath,
} from '../files/paths.ts';
import type { ToolContext } from '../schemas/tools.ts';
import type { WhyNotAnswer } from '../schemas/why-not.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { parseQuery } from './rank/query.ts';
import type { Search } from './search.ts';

/** How many results are looked through for the file. */
const DEPTH = 500;
const DEFAULT_LIMIT = 10;
/** Words of a question that are told, each with one or two searches in the file. */
const WORDS_TOLD = 30;
const STALE_MARKS = 1_000;

/** What the answer takes. None of it leaves a row in the access log. */
export interface WhyNotDependencies {
  find: FindService;
  search: Search;
  storage: Pick<Storage, 'files' | 'index'>;
}

/**
 * Says why a find answers a question with a file, or not: it asks the same question deeper, and without
 * what could have left the file out, one after the other.
 *
 * @param path physical. Throws `INVALID_PATH` for one that is none.
 */
export async function explainFile(
  { find, search, storage }: WhyNotDependencies,
  { path, arguments: args }: { path: string; arguments: FindArguments },
  call: ToolCall,
): Promise<WhyNotAnswer> {
  const key = parsePhysicalPath(path);
  const scopes = toScopes(call);
  const { limit = DEFAULT_LIMIT } = args;
  const answer: WhyNotAnswer = {
    path: toPhysicalPath(key),
    found: false,
    reason: null,
    rank: null,
    limit,
    score: null,
    leastScore: null,
    mode: null,
    signals: null,
    words: [],
    waitsForIndex: false,
    expired: [],
  };
  if (!scopes.includes(key.scope)) return { ...answer, reason: 'other_memory' };
  const file = await storage.files.get(key);
  if (file === null || file.deletedAt !== null) return { ...answer, reason: 'absent' };
  const virtual = toVirtualPath(key);
  const ask = (changed: Partial<FindArguments>) =>
    find.find({ ...args, limit: DEPTH, explain: true, ...changed }, call);

  const { results, mode } = await ask({});
  const at = results.findIndex((result) => result.path === virtual);
  const own = results[at];
  const known: WhyNotAnswer = {
    ...answer,
    found: at !== -1 && at < limit,
    rank: at === -1 ? null : at + 1,
    score: own?.score ?? null,
    leastScore: results[Math.min(limit, results.length) - 1]?.score ?? null,
    mode,
    signals: own?.signals ?? null,
    words: await findWords(search, { text: args.query, key, scopes }),
    waitsForIndex: (await storage.index.listStale(STALE_MARKS, [key.scope])).some(
      ({ fileNo }) => fileNo === file.fileNo,
    ),
  };
  if (known.found) return known;
  if (at !== -1) return { ...known, reason: 'limit' };
  const isThere = async (changed: Partial<FindArguments>) =>
    (await ask(changed)).results.some((result) => result.path === virtual);

  if (args.path !== undefined && !virtual.startsWith(args.path)) {
    return { ...known, reason: 'path' };
  }
  const hasWord = known.words.some(({ inFile }) => inFile);
  if (!hasWord && mode === 'text') return { ...known, reason: 'words' };
  // Only in this file, so that others don't take its place.
  if (await isThere({ path: virtual })) return { ...known, reason: 'depth' };
  if (args.includeExpired !== true && (await isThere({ path: virtual, includeExpired: true }))) {
    const { leftOut = [] } = await ask({ path: virtual });
    const expired = leftOut
      .filter((place) => place.path === virtual)
      .map(({ startLine, endLine, validUntil }) => ({ startLine, endLine, validUntil }));
    return { ...known, reason: 'expired', expired };
  }
  if (args.since !== undefined || args.until !== undefined) {
    const { since: _since, until: _until, ...atAnyTime } = args;
    const answerOfAnyTime = await find.find({ ...atAnyTime, limit: DEPTH, path: virtual }, call);
    if (answerOfAnyTime.results.length > 0) return { ...known, reason: 'time' };
  }
  return { ...known, reason: 'words' };
}

/** The call of a find that leaves no row and no trace. Throws `INVALID_USER_ID`. */
export function toFindCall({
  userId,
  spaces,
  timeZone,
}: Pick<ToolContext, 'userId' | 'spaces' | 'timeZone'>): ToolCall {
  return {
    userId: parseUserId(userId),
    ...(spaces ? { spaces } : {}),
    ...(timeZone ? { timeZone } : {}),
    actor: 'playground',
    tool: 'memory_find',
    toolCallId: 'why',
    trace: noTrace(''),
  };
}

/** Which words of a question a file has, by the index. */
async function findWords(
  search: Search,
  { text, key, scopes }: { text: string; key: FileKey; scopes: readonly ScopeKey[] },
): Promise<WhyNotAnswer['words']> {
  const units = parseQuery(text).units.filter(({ kind }) => kind !== 'hint');
  const words: WhyNotAnswer['words'] = [];
  for (const { terms } of units.slice(0, WORDS_TOLD)) {
    let inFile = false;
    for (const term of terms) {
      const request = { text: '', term, scopes, within: [key], group: 'file', limit: 1 } as const;
      inFile ||= (await search.search({ ...request, isFuzzy: false })).hits.length > 0;
    }
    words.push({ word: terms.at(-1) ?? '', inFile });
  }
  return words;
}
