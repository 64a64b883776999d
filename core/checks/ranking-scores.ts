/** How well a ranking answers a question, from 0 to 1. */
export interface RankingScores {
  recall1: number;
  recall5: number;
  recall10: number;
  ndcg10: number;
}

const DEPTH = 10;

/** Scores a ranking of paths, each counted once, against the paths that answer the question. */
export function scoreRanking(
  ranked: readonly string[],
  relevant: readonly string[],
): RankingScores {
  const wanted = new Set(relevant);
  const gains = [...new Set(ranked)].map((path) => Number(wanted.has(path)));
  const recall = (depth: number) =>
    gains.slice(0, depth).reduce((sum, gain) => sum + gain, 0) / wanted.size;
  const discounted = (values: readonly number[]) =>
    values.slice(0, DEPTH).reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
  return {
    recall1: recall(1),
    recall5: recall(5),
    recall10: recall(DEPTH),
    ndcg10: discounted(gains) / discounted([...wanted].map(() => 1)),
  };
}

/** The means of some scores. */
export function meanScores(scores: readonly RankingScores[]): RankingScores {
  const mean = (key: keyof RankingScores) =>
    scores.length === 0 ? 0 : scores.reduce((sum, one) => sum + one[key], 0) / scores.length;
  return {
    recall1: mean('recall1'),
    recall5: mean('recall5'),
    recall10: mean('recall10'),
    ndcg10: mean('ndcg10'),
  };
}
