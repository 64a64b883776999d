import { isStopWord, toEnglishTerm, toStopTerm } from '../text/english.ts';
import { isEnglish } from '../text/language.ts';
import { rowTermOf } from '../index/postings.ts';
import { readLanguageHints } from '../text/tokenise.ts';
import { readWords, type Word } from '../text/words.ts';
import { takeEnd, takeStart } from '../../encoding/take-text.ts';

/** A question in terms of the index. */
export interface SearchQuery {
  /** In the order of the question; scores are always added in this order. */
  units: readonly QueryUnit[];
  /** The number of words asked for, as coordination counts them. */
  size: number;
  /** Whether it has only stop words (`The Who`); then their order matters. */
  isPhrase: boolean;
}

/** One word of the question, or one form of it. */
export interface QueryUnit {
  /**
   * The terms that all stand for this word: its stem, and the plain word for texts in other
   * languages.
   */
  terms: readonly string[];
  /** How much a match counts: more for a repeated word, less for a hint. */
  weight: number;
  /**
   * `word`: counts for coordination and forms pairs with its neighbours. `whole`: a complete
   * identifier; a match covers all of its words. `hint`: adds to the score and covers nothing.
   */
  kind: 'word' | 'whole' | 'hint';
  /** The number of the identifier that it belongs to, as whole or part, from 1; 0 for none. */
  group: number;
  /**
   * How many words of the question a match covers: 0 for a `hint`, all of its words for a `whole`.
   */
  covers: number;
}

/**
 * Of a longer question only the beginning and the end are read, this many UTF-16 units in all: in a
 * whole conversation, the beginning names the subject and the end asks.
 */
const MAX_QUERY_LENGTH = 10_000;

/**
 * Of a question with more units only those at its beginning and end are looked up; the rarest of
 * them are ranked (`MAX_RANKED_UNITS` in `rank.ts`). Each unit has one or two terms.
 */
export const MAX_QUERY_UNITS = 256;

/**
 * Parses a question. Any string works, in linear time; one without words gives no units.
 *
 * Stop words of an English question are dropped unless nothing else is left. Each word is looked up
 * as its stem and as it is, since texts in other languages are not stemmed. A run of Chinese,
 * Japanese or Korean is looked up by pairs of characters, a single character by itself.
 */
export function parseQuery(text: string): SearchQuery {
  const plain = cutMiddle(text.trim());
  // One character may stand for a phrase of 18: readWords spells it out.
  const spelled = plain.normalize('NFKC');
  const read = spelled.length > MAX_QUERY_LENGTH ? cutMiddle(spelled) : plain;
  const words = readWords(read);
  const english = isEnglish(readLanguageHints(words, read));
  const isPhrase = english && words.length > 0 && words.every(saysNothing);
  const builder = new Builder();
  addWords(builder, words, { english, isPhrase });
  if (builder.size <= MAX_WORDS_TO_JOIN) addJoined(builder, words);
  return { ...builder.finish(), isPhrase };
}

/** The question for the files that have one term of the index. */
export function toTermQuery(term: string): SearchQuery {
  const unit: QueryUnit = { terms: [term], weight: 1, kind: 'word', group: 0, covers: 1 };
  return { units: [unit], size: 1, isPhrase: false };
}

/** What is read of a long question. */
export function cutMiddle(text: string): string {
  if (text.length <= MAX_QUERY_LENGTH) return text;
  const half = MAX_QUERY_LENGTH / 2;
  return `${takeStart(text, half)}\n${takeEnd(text, half)}`;
}

/** The terms to look up, each once. */
export function listTerms(query: SearchQuery): string[] {
  return [...new Set(query.units.flatMap(({ terms }) => terms.map(rowTermOf)))];
}

/**
 * The weight of a single Chinese character of a longer word: it finds the word within another
 * compound and counts little beside the pairs. Not measured (no such collection was available);
 * with pairs alone, a question about `猫が好き` misses `猫`.
 */
const CHARACTER_WEIGHT = 0.3;

/**
 * In questions of up to this many words, neighbouring words are also tried as one (`smart watch`
 * finds `smartwatch`).
 */
const MAX_WORDS_TO_JOIN = 6;

/**
 * Adds the words of a question; of an English one without its stop words, unless it has no others.
 * Texts in other languages index those as they are.
 */
function addWords(
  builder: Builder,
  words: readonly Word[],
  { english, isPhrase }: { english: boolean; isPhrase: boolean },
): void {
  let group = 0;
  for (const { kind, parts, whole, inCapitals } of words) {
    if (kind === 'run') {
      addRun(builder, parts);
      continue;
    }
    const kept = parts.filter((part) => !english || isPhrase || !isStopWord(part));
    if (whole !== null) {
      group++;
      const distinct = new Set(kept).size;
      // If all parts are stop words (`to-do`), the whole counts as the word.
      if (distinct === 0) builder.add(toTerms(whole), 'word');
      else builder.add(toTerms(whole), 'whole', { group, covers: distinct });
    }
    for (const part of kept) {
      const terms = isPhrase ? [toStopTerm(part), part] : toTerms(part);
      builder.add(terms, 'word', { group: whole === null ? 0 : group });
    }
    // Capitals may be a name (`IT budget`): texts that have the word in capitals rank higher.
    if (inCapitals && (isPhrase || kept.length === 0)) {
      builder.add([toNameTerm(parts)], 'hint');
    }
  }
}

function saysNothing({ kind, parts }: Word): boolean {
  return kind === 'word' && parts.every(isStopWord);
}

function toNameTerm([part = '']: readonly string[]): string {
  return toStopTerm(part.toUpperCase());
}

function addRun(builder: Builder, characters: readonly string[]): void {
  const [only] = characters;
  if (characters.length === 1 && only !== undefined) {
    builder.add([only], 'word');
    return;
  }
  characters.forEach((character, index) => {
    const next = characters[index + 1];
    if (next !== undefined) builder.add([character + next], 'word');
  });
  for (const character of characters) {
    if (HAN.test(character)) builder.add([character], 'hint', { weight: CHARACTER_WEIGHT });
  }
}

const HAN = /\p{sc=Han}/u;

function addJoined(builder: Builder, words: readonly Word[]): void {
  words.forEach((word, index) => {
    const next = words[index + 1];
    if (next === undefined || !isPlain(word) || !isPlain(next)) return;
    const joined = `${word.parts.join('')}${next.parts.join('')}`;
    builder.add(toTerms(joined), 'hint');
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
  readonly #units = new Map<string, { -readonly [K in keyof QueryUnit]: QueryUnit[K] }>();

  /**
   * A repeated word counts more: without this CISI loses 0.072 nDCG and CACM 0.037 (see `rank.ts`).
   */
  add(
    terms: readonly string[],
    kind: QueryUnit['kind'],
    { weight = 1, group = 0, covers = kind === 'hint' ? 0 : 1 }: Partial<QueryUnit> = {},
  ): void {
    const [key = ''] = terms;
    const known = this.#units.get(key);
    if (known === undefined || (known.kind === 'hint' && kind !== 'hint')) {
      this.#units.set(key, { terms: known?.terms ?? terms, weight, kind, group, covers });
    } else if (kind !== 'hint') {
      known.weight += weight;
    }
  }

  /** The number of words so far. */
  get size(): number {
    return countWords([...this.#units.values()]);
  }

  finish(): Pick<SearchQuery, 'units' | 'size'> {
    const all = [...this.#units.values()];
    const units = all.length <= MAX_QUERY_UNITS ? all : cutUnits(all);
    return { units, size: countWords(units) };
  }
}

function cutUnits(all: readonly QueryUnit[]): QueryUnit[] {
  // Hints are dropped before words.
  const said = all.filter(({ kind }) => kind !== 'hint');
  const hints = all.filter(({ kind }) => kind === 'hint');
  const half = MAX_QUERY_UNITS / 2;
  return said.length > MAX_QUERY_UNITS
    ? [...said.slice(0, half), ...said.slice(-half)]
    : [...said, ...hints].slice(0, MAX_QUERY_UNITS);
}

/** The number of units that count for coordination. */
export function countWords(units: readonly QueryUnit[]): number {
  return units.filter(({ kind }) => kind === 'word').length;
}
