import { isStopWord, toEnglishTerm, toStopTerm } from './english.ts';
import { countLanguageHints, type LanguageHints } from './language.ts';
import { countAccentedLetters, type Word } from './words.ts';

/**
 * The version of all that decides which terms a text has: words, languages, stems, passages.
 *
 * It is stored with the index; an index of another version is rebuilt. Increase it with
 * every change to this folder that gives any text other passages, terms or positions (the test
 * "gives the index that this version of the tokeniser is known for" says when).
 */
export const TOKENISER_VERSION = 2;

export interface Token {
  /** Well-formed text of 1 to about 64 characters, compared byte for byte. */
  term: string;
  /** Where it stands, counted in words from 0, stop words too. */
  position: number;
}

/**
 * The terms of a text's words, in order.
 *
 * English words are stemmed, and stop words get terms of their own (`toStopTerm`); all others stay
 * as they are. An identifier gives its parts and, at the place of the first, its whole. A run of
 * characters gives each character and each pair of neighbours.
 */
export function toTokens(words: readonly Word[], english: boolean): Token[] {
  const tokens: Token[] = [];
  const add = (term: string, position: number) => void tokens.push({ term, position });
  for (const { kind, parts, whole, inCapitals, position } of words) {
    if (kind === 'run') {
      parts.forEach((character, index) => {
        add(character, position + index);
        const next = parts[index + 1];
        if (next !== undefined) add(character + next, position + index);
      });
      continue;
    }
    if (whole !== null) add(english ? toEnglishTerm(whole) : whole, position);
    parts.forEach((part, index) => {
      if (!english) add(part, position + index);
      else if (!isStopWord(part)) add(toEnglishTerm(part), position + index);
      else {
        add(toStopTerm(part), position + index);
        if (inCapitals) add(toStopTerm(part.toUpperCase()), position + index);
      }
    });
  }
  return tokens;
}

/** What the words of a text, with the text itself for its accents, say of its language. */
export function readLanguageHints(words: readonly Word[], text: string): LanguageHints {
  return countLanguageHints(plainWords(words), countAccentedLetters(text));
}

function* plainWords(words: readonly Word[]): Generator<string> {
  for (const { kind, parts } of words) {
    if (kind === 'word') yield* parts;
  }
}
