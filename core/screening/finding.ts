/** Which setting decides what happens to a finding: `SERVICE_SCREEN_SECRETS` or `SERVICE_SCREEN_PERSONAL`. */
export type Policy = 'secrets' | 'personal';

/** A part of a text that looks like something that must not be stored. */
export interface Finding {
  /** As in `token`, `password`, `card`; of own patterns and screeners their name. */
  kind: string;
  /** For people, as in `a GitHub token`. Never quotes the text. */
  name: string;
  policy: Policy;
  /** UTF-16 offsets of the secret itself, without the words that lead to it. */
  start: number;
  end: number;
}

/** Sorts findings by their place, and of those that overlap keeps the one that was found first. */
export function withoutOverlaps(findings: readonly Finding[]): Finding[] {
  if (findings.length < 2) return [...findings];
  const sorted = findings
    .map((finding, rank) => ({ finding, rank }))
    .toSorted((a, b) => a.finding.start - b.finding.start || a.rank - b.rank);
  const kept: typeof sorted = [];
  for (const one of sorted) {
    const last = kept.at(-1);
    if (last === undefined || one.finding.start >= last.finding.end) kept.push(one);
    else {
      // The union, so that no end of a secret is left over.
      const [first, other] = one.rank < last.rank ? [one, last] : [last, one];
      const start = Math.min(first.finding.start, other.finding.start);
      const end = Math.max(first.finding.end, other.finding.end);
      kept[kept.length - 1] = { rank: first.rank, finding: { ...first.finding, start, end } };
    }
  }
  return kept.map(({ finding }) => finding);
}
