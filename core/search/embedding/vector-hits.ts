import { fuse, type Fused } from '../rank/fuse.ts';
import type { Collection } from '../index/collection.ts';
import type { Candidate, Ranking } from '../rank/rank.ts';
import { rankVectors, type VectorRanking } from './vectors.ts';
import { distinct, order, type Ranked } from '../search-hits.ts';
import type { SearchSnapshot } from '../search-snapshot.ts';
import type { HybridQuestion, Question, SearchRequest } from '../search.ts';

/** Results of each ranking that are fused: what is further down in one adds next to nothing. */
export const FUSED_DEPTH = 50;

/**
 * Ranks by the vectors of the passages, inside a span of its own.
 *
 * @throws MemoryError as the view does.
 */
export async function rankByMeaning(
  reading: SearchSnapshot,
  collection: Collection,
  { vector, trace }: HybridQuestion,
  { includes, request: { group, limit } }: Question,
): Promise<VectorRanking> {
  const span = trace.start('search.vector', 'scan');
  try {
    const scopes = await reading.vectors();
    const meant = await rankVectors(vector, collection, {
      group,
      limit: Math.max(limit, FUSED_DEPTH),
      includes,
      scopes,
      rowsOf: (file) => reading.rowsOf(file, scopes[file.scope] ?? null),
    });
    span.end({ vectors: meant.compared, candidates: meant.candidates.length });
    return meant;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}

/** Candidates that share their score with another: they are told apart by their paths. */
function listTied<C extends Candidate>(candidates: readonly C[]): C[] {
  const counts = new Map<number, number>();
  for (const { score } of candidates) counts.set(score, (counts.get(score) ?? 0) + 1);
  return candidates.filter(({ score }) => (counts.get(score) ?? 0) > 1);
}

/** The best `limit` by their fused scores, and all that tie with the last. */
function takeFirst(fused: Iterable<Fused>, limit: number): Candidate[] {
  const candidates = Array.from(fused, ({ candidate, score }) => ({ ...candidate, score }));
  candidates.sort((left, right) => right.score - left.score);
  const least = candidates[limit - 1]?.score ?? 0;
  return candidates.filter(({ score }) => score >= least);
}

/** Both rankings as one; each is put in order first, so that ties have one place. */
export async function fuseRankings(
  reading: SearchSnapshot,
  text: Ranking,
  meant: VectorRanking,
  { weights }: HybridQuestion,
  { scopes, group, limit }: SearchRequest,
): Promise<Ranked> {
  const tied = distinct([...listTied(text.candidates), ...listTied(meant.candidates)]);
  const paths = await reading.paths(tied);
  const depth = Math.max(limit, FUSED_DEPTH);
  const byWords = order(text.candidates, paths, scopes, depth);
  const byMeaning = order(meant.candidates, paths, scopes, depth);
  const keyOf = ({ scope, file, passage }: Candidate) =>
    group === 'file' ? `${scope} ${file}` : `${scope} ${file} ${passage}`;
  const fused = new Map(
    fuse(byWords, byMeaning, weights, keyOf).map((one) => [keyOf(one.candidate), one]),
  );
  return {
    candidates: takeFirst(fused.values(), limit),
    explain(candidate) {
      const { textRank = null, vectorRank = null } = fused.get(keyOf(candidate)) ?? {};
      const word = textRank === null ? undefined : byWords[textRank - 1];
      const meaning = vectorRank === null ? undefined : byMeaning[vectorRank - 1];
      return {
        ...(word === undefined ? {} : text.explain(word)),
        ...(word === undefined || textRank === null ? {} : { textRank, textScore: word.score }),
        ...(meaning === undefined || vectorRank === null
          ? {}
          : { vectorRank, similarity: meaning.similarity, prominence: meaning.prominence }),
      };
    },
  };
}
