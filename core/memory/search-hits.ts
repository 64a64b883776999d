import type { ScopeKey } from '../contracts/records.ts';
import type { IndexText } from '../contracts/storage.ts';
import { type Passage, splitPassages } from '../search/passages.ts';
import { damaged } from '../search/postings.ts';
import { type Candidate, orderCandidates, type Ranking } from '../search/rank.ts';
import type { Reading } from './search-reading.ts';
import type { FoundFile, Hit, SearchRequest } from './search.ts';

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
  reading: Reading,
  { scopes, limit }: SearchRequest,
  ranking: Ranked,
): Promise<Hit[]> {
  let { candidates } = ranking;
  if (candidates.length > limit + TIES_READ_WHOLE) {
    const keys = distinct(candidates).map((candidate) => reading.toKey(candidate));
    candidates = order(candidates, await reading.view.paths(keys), scopes, limit);
  }
  const keys = distinct(candidates).map((candidate) => reading.toKey(candidate));
  const files = await reading.view.contents(keys);
  const byNumber = new Map(files.map((file) => [`${file.scope} ${file.fileNo}`, file]));
  const passagesOf = new Map<IndexText, Passage[]>();
  return order(candidates, files, scopes, limit).map((candidate): Hit => {
    const { scope, fileNo } = reading.toKey(candidate);
    const file = byNumber.get(`${scope} ${fileNo}`);
    if (file === undefined || !isFound(file)) throw damaged(candidate.scope);
    let passages = passagesOf.get(file);
    if (passages === undefined) passagesOf.set(file, (passages = splitPassages(file.content)));
    const isCurrent = reading.wasRead(candidate) || file.indexedVersion === file.version;
    // An empty file has no passage, and is found by its path as if it had one.
    if (!isCurrent || candidate.passage >= Math.max(1, passages.length)) {
      throw damaged(candidate.scope);
    }
    const { passage, score } = candidate;
    return { file, passages, passage, score, explain: () => ranking.explain(candidate) };
  });
}

function isFound(file: IndexText): file is FoundFile {
  return file.content !== null;
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
