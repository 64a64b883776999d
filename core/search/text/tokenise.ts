import { isStopWord, toEnglishTerm, toStopTerm } from './english.ts';
import { countLanguageHints, isEnglish, type LanguageHints } from './language.ts';
import { countAccentedLetters, readWords, type Word } from './words.ts';

/**
 * The version of everything that decides the terms of a text: words, languages, stems, passages.
 *
 * The index stores it and is rebuilt when it differs. Increase it with every change to this folder
 * that gives any text other passages, terms or positions (the test "gives the index that this
 * version of the tokeniser is known for" fails then).
 */
export const TOKENISER_VERSION = 4;

export interface Token {
  /** Well-formed text of 1 to about 64 characters; terms are compared byte for byte. */
  term: string;
  /** Its place, counted in words from 0, with stop words. */
  position: number;
}

/**
 * The terms of a text's words, in order.
 *
 * English words are stemmed, and stop words get terms of their own (`toStopTerm`); other words stay
 * as they are. An identifier gives its parts and, at the position of the first part, the whole. A
 * run of characters gives each character and each pair of neighbours.
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

/** The signs of a text's language, from its words and from the accents in the text itself. */
export function readLanguageHints(words: readonly Word[], text: string): LanguageHints {
  return countLanguageHints(plainWords(words), countAccentedLetters(text));
}

/** Whether a text, for itself, is treated as English. */
export function isEnglishText(text: string): boolean {
  return isEnglish(readLanguageHints(readWords(text), text));
}

function* plainWords(words: readonly Word[]): Generator<string> {
  for (const { kind, parts } of words) {
    if (kind === 'word') yield* parts;
  }
}
