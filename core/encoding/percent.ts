/** `1.04%`, of a share from 0 to 1: the one rounding of percentages, so that a figure and its reason agree. */
export function toPercent(share: number): string {
  const rounded = Math.round(share * 10_000) / 100;
  return rounded === 0 && share > 0 ? '< 0.01%' : `${rounded}%`;
}
