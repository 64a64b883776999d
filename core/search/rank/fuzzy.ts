import { isStopTerm } from '../text/english.ts';
import type { QueryUnit, SearchQuery } from './query.ts';

/**
 * The prefixes of all index terms that `expandQuery` could use, so that only that part of the
 * dictionary is read. A typing mistake in the first letter is rare.
 */
export function listPrefixes(query: SearchQuery): string[] {
  const prefixes = wordsOf(query).flatMap(({ terms }) => terms.map(firstCharacter));
  return [...new Set(prefixes)];
}

/**
 * Replaces each word of a question by index terms that look like it: prefixes, longer forms and
 * typing mistakes. `null` if no term does.
 *
 * Only for a question that found nothing: on every question it costs 5 to 6 points of nDCG on the
 * development conversations. `dictionary` holds terms of the index in any order.
 */
export function expandQuery(query: SearchQuery, dictionary: Iterable<string>): SearchQuery | null {
  const words = wordsOf(query).map((unit) => ({
    unit,
    forms: unit.terms.map(toForm),
    found: [] as Match[],
  }));
  for (const term of new Set(dictionary)) {
    const other = toForm(term);
    for (const { forms, found } of words) {
      let distance = Infinity;
      for (const form of forms) distance = Math.min(distance, measureDistance(form, other));
      if (distance !== Infinity) found.push({ term, distance });
    }
  }
  const units: QueryUnit[] = [];
  for (const { unit, found } of words) {
    if (found.length === 0) continue;
    const terms = found.sort(compareMatches).slice(0, MAX_EXPANSIONS);
    units.push({
      ...unit,
      terms: terms.map(({ term }) => term),
      kind: 'word',
      group: 0,
      covers: 1,
    });
  }
  return units.length === 0 ? null : { ...query, units };
}

interface Match {
  term: string;
  distance: number;
}

/** The most terms for one word of the question: each is one look-up. */
const MAX_EXPANSIONS = 8;

/** Shorter words look like too many others. */
const MIN_LENGTH = 3;

/** Words of this length may have two mistakes, shorter ones one. */
const TWO_SLIPS_LENGTH = 8;

/**
 * The words to expand. A word whose stem is too short is used as it was written. Stop words count
 * as ordinary words here.
 */
function wordsOf(query: SearchQuery): QueryUnit[] {
  const words = query.units.flatMap((unit) => {
    const terms = unit.terms.some(isStopTerm) ? [] : unit.terms.filter(isLong);
    return unit.kind === 'word' && terms.length > 0 ? [{ ...unit, terms }] : [];
  });
  return words.slice(0, MAX_WORDS);
}

/** Only the first words of a long question, since each is compared with the whole dictionary. */
const MAX_WORDS = 64;

function isLong(word: string): boolean {
  return word.length >= MIN_LENGTH;
}

function firstCharacter(word: string): string {
  return String.fromCodePoint(word.codePointAt(0) ?? 0);
}

function compareMatches(left: Match, right: Match): number {
  if (left.distance !== right.distance) return left.distance - right.distance;
  if (left.term.length !== right.term.length) return left.term.length - right.term.length;
  return left.term < right.term ? -1 : 1;
}

/** A word and a bit set of its letters; some letters share a bit. */
interface Form {
  text: string;
  letters: number;
}

function toForm(text: string): Form {
  let letters = 0;
  for (let at = 0; at < text.length; at++) letters |= 1 << (text.charCodeAt(at) & 31);
  return { text, letters };
}

/**
 * Whether two words differ in more letters than this many mistakes can explain. This quick test
 * rejects nearly all words of a dictionary; counting the mistakes of each would take seconds.
 */
function differsTooMuch(word: Form, term: Form, most: number): boolean {
  return (
    countBits(word.letters & ~term.letters) > most || countBits(term.letters & ~word.letters) > most
  );
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** The number of mistakes (1 or 2), more for a prefix, `Infinity` for another word. */
function measureDistance(wordForm: Form, termForm: Form): number {
  const { text: word } = wordForm;
  const { text: term } = termForm;
  if (!isLong(term) || word.codePointAt(0) !== term.codePointAt(0)) return Infinity;
  const most = word.length >= TWO_SLIPS_LENGTH ? 2 : 1;
  const isNear =
    word.length > MIN_LENGTH &&
    Math.abs(word.length - term.length) <= most &&
    !differsTooMuch(wordForm, termForm, most);
  const slips = isNear ? countSlips(word, term) : Infinity;
  if (slips <= most) return slips;
  const isBeginning = term.startsWith(word) || (word.startsWith(term) && term.length > MIN_LENGTH);
  return isBeginning ? 2 + Math.abs(word.length - term.length) : Infinity;
}

/** Counts letters inserted, deleted, replaced or swapped with the next one (Damerau, 1964). */
function countSlips(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && isSwapped) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}
