import { isStopWord, toEnglishTerm, toStopTerm } from '../text/english.ts';
import { isEnglish } from '../text/language.ts';
import { rowTermOf } from '../index/postings.ts';
import { readLanguageHints } from '../text/tokenise.ts';
import { readWords, type Word } from '../text/words.ts';

/** What a question asks for, in terms of the index. */
export interface SearchQuery {
  /** In the order of the question; a score is always summed in this order. */
  units: readonly QueryUnit[];
  /** How many units count for coordination: the words asked for. */
  size: number;
  /** Whether it is nothing but stop words (`The Who`): then it is their order that says something. */
  isPhrase: boolean;
  /** Whether words were left out because there were more than `MAX_QUERY_UNITS`. */
  truncated: boolean;
}

/** One word of the question, or one form of it. */
export interface QueryUnit {
  /** The terms that all mean this word: its stem, and the word as texts in other languages have it. */
  terms: readonly string[];
  /** How much a match counts: how often the word was asked for, less for a mere hint. */
  weight: number;
  /**
   * `word`: counts for coordination and makes pairs with its neighbours. `whole`: an identifier as
   * one; a match covers the words that it is made of. `hint`: adds to the score, covers nothing.
   */
  kind: 'word' | 'whole' | 'hint';
  /** Which identifier it belongs to, as whole or as part, from 1; 0 for none. */
  group: number;
  /** How many words of the question a match covers: none for a `hint`, all of them for a `whole`. */
  covers: number;
}

/**
 * Of a longer question its beginning and its end are read, so many UTF-16 units together: where it
 * is a whole conversation, its beginning says what it is about, and its end asks.
 */
const MAX_QUERY_LENGTH = 10_000;

/**
 * Of a question with more units those of its beginning and its end are looked up; the rarest of them
 * are ranked with (`MAX_RANKED_UNITS` in `rank.ts`). Each has one term or two.
 */
export const MAX_QUERY_UNITS = 256;

/**
 * Reads a question. Any string works, in linear time; one without words gives no units.
 *
 * Stop words fall out of an English question unless nothing else remains. Each word is looked up by
 * its stem and as it is, since texts in other languages are not stemmed. A run of Chinese, Japanese
 * or Korean is looked up by its pairs of characters, a single character by itself.
 */
export function parseQuery(text: string): SearchQuery {
  const trimmed = text.trim();
  const isCut = trimmed.length > MAX_QUERY_LENGTH;
  const read = isCut ? cutMiddle(trimmed) : trimmed;
  const words = readWords(read);
  const english = isEnglish(readLanguageHints(words, read));
  const isPhrase = english && words.length > 0 && words.every(saysNothing);
  const builder = new Builder();
  if (isPhrase) addStopWords(builder, words);
  else addWords(builder, words, english);
  const isShort = builder.size <= MAX_WORDS_TO_JOIN;
  if (isShort) addJoined(builder, words);
  return { ...builder.finish(isCut), isPhrase };
}

function cutMiddle(text: string): string {
  const half = MAX_QUERY_LENGTH / 2;
  return `${text.slice(0, half)}\n${text.slice(-half)}`;
}

/** The terms whose rows to look up: each once. */
export function listTerms(query: SearchQuery): string[] {
  return [...new Set(query.units.flatMap(({ terms }) => terms.map(rowTermOf)))];
}

/**
 * Single Chinese characters of a longer word count this much: they find a word within another
 * compound, and weigh little beside the pairs. Not measured (no such collection was at hand);
 * pairs alone miss `猫` in a question about `猫が好き`.
 */
const CHARACTER_WEIGHT = 0.3;

/** Neighbouring words of short questions are tried as one (`smart watch` finds `smartwatch`). */
const MAX_WORDS_TO_JOIN = 6;

function addWords(builder: Builder, words: readonly Word[], dropsStopWords: boolean): void {
  let group = 0;
  for (const { kind, parts, whole, inCapitals } of words) {
    if (kind === 'run') {
      addRun(builder, parts);
      continue;
    }
    const kept = parts.filter((part) => !dropsStopWords || !isStopWord(part));
    // A name in capitals, perhaps (`IT budget`): what has it so is the better for it.
    if (kept.length === 0 && inCapitals) builder.add([toNameTerm(parts)], 1, 'hint', 0, 0);
    if (whole !== null) {
      group++;
      const distinct = new Set(kept).size;
      // A whole whose parts say nothing (`to-do`) is the word itself.
      if (distinct === 0) builder.add(toTerms(whole), 1, 'word', 0, 1);
      else builder.add(toTerms(whole), 1, 'whole', group, distinct);
    }
    for (const part of kept) builder.add(toTerms(part), 1, 'word', whole === null ? 0 : group, 1);
  }
}

function saysNothing({ kind, parts }: Word): boolean {
  return kind === 'word' && parts.every(isStopWord);
}

/** Texts in other languages have no stop words, and have them as they are. */
function addStopWords(builder: Builder, words: readonly Word[]): void {
  let group = 0;
  for (const { parts, whole, inCapitals } of words) {
    if (whole !== null) {
      group++;
      builder.add(toTerms(whole), 1, 'whole', group, new Set(parts).size);
    }
    for (const part of parts) {
      builder.add([toStopTerm(part), part], 1, 'word', whole === null ? 0 : group, 1);
    }
    if (inCapitals) builder.add([toNameTerm(parts)], 1, 'hint', 0, 0);
  }
}

function toNameTerm([part = '']: readonly string[]): string {
  return toStopTerm(part.toUpperCase());
}

function addRun(builder: Builder, characters: readonly string[]): void {
  const [only] = characters;
  if (characters.length === 1 && only !== undefined) {
    builder.add([only], 1, 'word', 0, 1);
    return;
  }
  characters.forEach((character, index) => {
    const next = characters[index + 1];
    if (next !== undefined) builder.add([character + next], 1, 'word', 0, 1);
  });
  for (const character of characters) {
    if (HAN.test(character)) builder.add([character], CHARACTER_WEIGHT, 'hint', 0, 0);
  }
}

const HAN = /\p{sc=Han}/u;

function addJoined(builder: Builder, words: readonly Word[]): void {
  words.forEach((word, index) => {
    const next = words[index + 1];
    if (next === undefined || !isPlain(word) || !isPlain(next)) return;
    const joined = `${word.parts.join('')}${next.parts.join('')}`;
    builder.add(toTerms(joined), 1, 'hint', 0, 0);
  });
}

function isPlain({ kind, parts, whole }: Word): boolean {
  const [part = ''] = parts;
  return kind === 'word' && whole === null && part.length > 2 && !isStopWord(part);
}

function toTerms(word: string): string[] {
  const term = toEnglishTerm(word);
  return term === word ? [word] : [term, word];
}

class Builder {
  size = 0;
  readonly #units = new Map<string, { -readonly [K in keyof QueryUnit]: QueryUnit[K] }>();

  /** A word asked for again weighs more: else CISI loses 0.072 nDCG, CACM 0.037 (see `rank.ts`). */
  add(
    terms: readonly string[],
    weight: number,
    kind: QueryUnit['kind'],
    group: number,
    covers: number,
  ): void {
    const [key = ''] = terms;
    const known = this.#units.get(key);
    if (known === undefined) {
      this.#units.set(key, { terms, weight, kind, group, covers });
      if (kind === 'word') this.size++;
    } else if (kind === 'hint') {
      return;
    } else if (known.kind === 'hint') {
      this.#units.set(key, { ...known, weight, kind, group, covers });
      if (kind === 'word') this.size++;
    } else {
      known.weight += weight;
    }
  }

  finish(isCut: boolean): Pick<SearchQuery, 'units' | 'size' | 'truncated'> {
    const all = [...this.#units.values()];
    if (all.length <= MAX_QUERY_UNITS) return { units: all, size: this.size, truncated: isCut };
    // Hints come last: words say more.
    const said = all.filter(({ kind }) => kind !== 'hint');
    const hints = all.filter(({ kind }) => kind === 'hint');
    const half = MAX_QUERY_UNITS / 2;
    const units =
      said.length > MAX_QUERY_UNITS
        ? [...said.slice(0, half), ...said.slice(-half)]
        : [...said, ...hints].slice(0, MAX_QUERY_UNITS);
    return { units, size: countWords(units), truncated: true };
  }
}

/** How many units count for coordination. */
export function countWords(units: readonly QueryUnit[]): number {
  return units.filter(({ kind }) => kind === 'word').length;
}
