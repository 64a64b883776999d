import { isStopWord } from '../search/text/english.ts';
import { readLanguages, UNKNOWN } from '../values/language.ts';

/** A short line tells no language: its conjunction may be of any of these. */
const ANY = 'en de fr es it pt nl sv da nb pl cs tr fi hu ro id ru uk'.split(' ');

/** The words between the last two things of a list, by language, as `Intl` has them. */
const conjunctions = new Map<string, RegExp | null>();

/**
 * Neighbours of a list in a text, as in "trains and buses", in the languages that the text may be in. A thing
 * is the word beside the conjunction; articles, which are short, are passed over.
 */
export function listPairs(text: string, around: readonly string[]): [string, string][] {
  const languages = readLanguages(text, around);
  const pairs: [string, string][] = [];
  for (const language of languages.includes(UNKNOWN) ? ANY : languages) {
    const between = toConjunction(language);
    for (const match of between === null ? [] : text.matchAll(between)) {
      const before = lastWord(text.slice(0, match.index));
      const behind = firstWord(text.slice(match.index + match[0].length));
      if (before !== null && behind !== null) pairs.push([before, behind]);
    }
  }
  return pairs;
}

function toConjunction(language: string): RegExp | null {
  const known = conjunctions.get(language);
  if (known !== undefined) return known;
  let found: RegExp | null = null;
  try {
    const parts = new Intl.ListFormat(language, { type: 'conjunction' }).formatToParts(['A', 'B']);
    const word = parts.find(({ type }) => type === 'literal')?.value ?? '';
    // Without a word, a comma parts more than lists.
    if (/[\p{L}\p{M}]/u.test(word)) {
      const quoted = word.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      const [start, end] = word.trim() === word ? ['', ''] : ['(?<=\\s)', '(?=\\s)'];
      // Arabic and Hebrew write it as a part of the word behind it.
      found = new RegExp(`${start}${quoted}${/\s$/u.test(word) ? end : ''}`, 'giu');
    }
  } catch {
    found = null;
  }
  conjunctions.set(language, found);
  return found;
}

function lastWord(text: string): string | null {
  const words =
    text
      .split(/[,;:.()]/u)
      .at(-1)
      ?.match(/[\p{L}\p{M}\p{N}'’-]+/gu) ?? [];
  return words.findLast(isThing) ?? null;
}

function firstWord(text: string): string | null {
  const words = text.split(/[,;:.()]/u)[0]?.match(/[\p{L}\p{M}\p{N}'’-]+/gu) ?? [];
  return words.find(isThing) ?? null;
}

function isThing(word: string): boolean {
  return (
    /\p{L}{4}|[\p{Script=Han}\p{Script=Hangul}\p{Script=Katakana}]/u.test(word) &&
    !isStopWord(word.toLowerCase())
  );
}
