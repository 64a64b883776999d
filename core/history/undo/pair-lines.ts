import { takeStart } from '../../encoding/take-text.ts';
import type { Step, Unit } from '../weave.ts';

/** Lines with a lower share of common pairs of characters are different lines. */
const LEAST_ALIKE = 0.4;
/** How much of a line is compared, and the most pairs of lines that are. */
const COMPARED = { characters: 200, pairs: 40_000 } as const;

/**
 * Splits a unit into parts of at most one newer line, so that one of them can be undone for itself. A
 * newer line replaced the older line that it is like, in order. Of the others between two such pairs the
 * first replaced the first, and so on: the last one replaced all older lines that are left, and newer
 * lines that are left were added.
 */
export function pairLines<S extends Step>(unit: Unit<S>): Unit<S>[] {
  const { newer, older } = unit;
  const parts: Unit<S>[] = [];
  let [one, other] = [0, 0];
  const add = (newerTo: number, olderTo: number) => {
    parts.push({ ...unit, newer: newer.slice(one, newerTo), older: older.slice(other, olderTo) });
    one = newerTo;
    other = olderTo;
  };
  const addUpTo = (newerTo: number, olderTo: number) => {
    while (one < newerTo) {
      const isLast = one + 1 === newerTo;
      add(one + 1, isLast ? olderTo : Math.min(other + 1, olderTo));
    }
    if (other < olderTo) add(one, olderTo);
  };
  for (const [newerAt, olderAt] of findPairs(newer, older)) {
    addUpTo(newerAt, olderAt);
    add(newerAt + 1, olderAt + 1);
  }
  addUpTo(newer.length, older.length);
  return parts;
}

type Text = { text: string | null };

/** The pairs of places whose lines are most alike together, in order. */
function findPairs(newer: readonly Text[], older: readonly Text[]): [number, number][] {
  const shorter = Math.min(newer.length, older.length);
  if (newer.length * older.length > COMPARED.pairs) {
    return Array.from({ length: shorter }, (_, at) => [at, at]);
  }
  const olderPairs = older.map(({ text }) => toCharacterPairs(text));
  const width = older.length + 1;
  /** By row and column: how much the lines from there on are alike at most. */
  const best = new Float64Array((newer.length + 1) * width);
  const alike = new Float64Array(newer.length * width);
  for (let one = newer.length - 1; one >= 0; one -= 1) {
    const pairs = toCharacterPairs(newer[one]?.text ?? null);
    for (let other = older.length - 1; other >= 0; other -= 1) {
      const at = one * width + other;
      const share = toShare(pairs, olderPairs[other]!);
      alike[at] = share < LEAST_ALIKE ? 0 : share;
      best[at] = Math.max(best[at + width]!, best[at + 1]!, alike[at] + best[at + width + 1]!);
    }
  }
  const found: [number, number][] = [];
  for (let one = 0, other = 0; one < newer.length && other < older.length;) {
    const at = one * width + other;
    if (alike[at]! > 0 && best[at] === alike[at]! + best[at + width + 1]!) {
      found.push([one++, other++]);
    } else if (best[at] === best[at + width]) one += 1;
    else other += 1;
  }
  return found;
}

function toCharacterPairs(text: string | null): ReadonlySet<string> {
  const pairs = new Set<string>();
  const characters = takeStart(text ?? '', COMPARED.characters).toLowerCase();
  for (let at = 0; at + 1 < characters.length; at += 1) pairs.add(characters.slice(at, at + 2));
  return pairs;
}

/** How many pairs of both are common to both, from 0 to 1. */
function toShare(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of one) if (other.has(pair)) common += 1;
  return common === 0 ? 0 : (2 * common) / (one.size + other.size);
}
