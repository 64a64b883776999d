import type { ScopeKey } from '../contracts/records.ts';
import { damaged } from './index/index-damage.ts';
import { type Candidate, orderCandidates, type Ranking } from './rank/rank.ts';
import type { SearchSnapshot } from './search-snapshot.ts';
import type { Hit, SearchRequest } from './search.ts';

/** Ties beyond this are told apart by path before any content is read. */
const TIES_READ_WHOLE = 32;

/** What `toHits` needs of a ranking. */
export type Ranked = Pick<Ranking, 'candidates'> & {
  explain(candidate: Candidate): ReturnType<Hit['explain']>;
};

/**
 * The best candidates with their files, ties by path.
 *
 * @throws MemoryError with `details.reason: 'index_damaged'` when a file is not what was indexed.
 */
export async function toHits(
  reading: SearchSnapshot,
  { scopes, limit }: SearchRequest,
  ranking: Ranked,
): Promise<Hit[]> {
  let { candidates } = ranking;
  if (candidates.length > limit + TIES_READ_WHOLE) {
    candidates = order(candidates, await reading.paths(distinct(candidates)), scopes, limit);
  }
  const texts = await reading.texts(distinct(candidates));
  const byNumber = new Map(texts.map((text) => [`${text.file.scope} ${text.file.fileNo}`, text]));
  const files = texts.map(({ file }) => file);
  return order(candidates, files, scopes, limit).map((candidate): Hit => {
    const { scope, fileNo } = reading.toKey(candidate);
    const text = byNumber.get(`${scope} ${fileNo}`);
    if (text === undefined) throw damaged(candidate.scope);
    const { file, passages } = text;
    const isCurrent = reading.wasRead(candidate) || file.indexedVersion === file.version;
    // An empty file has no passage, and is found by its path as if it had one.
    if (!isCurrent || candidate.passage >= Math.max(1, passages.length)) {
      throw damaged(candidate.scope);
    }
    const { passage, score } = candidate;
    return { file, passages, passage, score, explain: () => ranking.explain(candidate) };
  });
}

/** The candidates of different files: the first of each. */
export function distinct(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ scope, file }) => {
    const key = `${scope} ${file}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

/** The best `limit` candidates in the order of the answer: ties by path, `shared/` before `user/`. */
export function order<C extends Candidate>(
  candidates: readonly C[],
  files: readonly { scope: ScopeKey; fileNo: number; path: string }[],
  scopes: readonly ScopeKey[],
  limit: number,
): C[] {
  const paths = new Map(
    // shared/ before user/, as the paths themselves are ordered.
    files.map(({ scope, fileNo, path }) => [
      `${scopes.indexOf(scope)} ${fileNo}`,
      `${scope} ${path}`,
    ]),
  );
  return orderCandidates(
    candidates,
    ({ scope, file }) => paths.get(`${scope} ${file}`) ?? '',
    limit,
  );
}
