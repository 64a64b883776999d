/** The number of a counter of settings, as it is stored: 1 before the first change. */
export function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 1;
}
