/** A value with what the rounds of one run made of it. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The median with its extremes. Throws without values. */
export function toSpread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1];
  const high = sorted[Math.floor(middle)];
  if (low === undefined || high === undefined) throw new Error('There are no values to sum up.');
  return { median: (low + high) / 2, min: sorted[0] ?? low, max: sorted.at(-1) ?? high };
}
