import type { Signals } from '../../core/search/rank/rank.ts';

/** The score that the signals of a candidate make together. */
export function sumSignals(signals: Signals): number {
  const { passage, context, pairs, coordination, neighbours, nextBest, file } = signals;
  return (passage + context + pairs) * coordination + neighbours + nextBest + file;
}
