import type { Plugin, Screener } from 'memory-service/plugin';

const BADGE = /\bB-(\d{5})(\d)\b/g;

/** Badge numbers end with a check digit, which no pattern can tell. */
const badges: Screener = {
  kind: 'badge_number',
  policy: 'personal',
  screen: (text) =>
    [...text.matchAll(BADGE)]
      .filter(([, digits = '', check]) => String(sumOf(digits) % 10) === check)
      .map(({ 0: found, index }) => ({ start: index, end: index + found.length })),
};

/** Screens badge numbers. */
export default (): Plugin => ({
  name: 'badges',
  apiVersion: 2,
  setup: () => ({ screeners: [badges] }),
});

function sumOf(digits: string): number {
  return [...digits].reduce((sum, digit) => sum + Number(digit), 0);
}
