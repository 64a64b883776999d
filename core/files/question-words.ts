import { toEnglishTerm } from '../search/text/english.ts';

/** The words that a line must have. */
export interface Question {
  words: readonly QuestionWord[];
  /** All of it, for lines that have the words one after the other. */
  phrase: string;
  /** Whether a content may have such a line: this is cheaper to see than the lines. */
  mayBeIn(content: string): boolean;
}

interface QuestionWord {
  text: string;
  /** The stem of a word of plain letters; `null` for others. */
  stem: string | null;
  /** What all forms of the word have in common. */
  shared: string;
}

/** What a line has of the words. */
export interface FoundWords {
  /** 0 to 1.5: whole words count more than other forms, and these more than parts of words. */
  score: number;
  /** The forms that were found, in lower case. */
  words: readonly string[];
  /** Where the first of them stands. */
  at: number;
}

const SCORES = { whole: 1, form: 0.8, part: 0.5, phrase: 0.5 } as const;

/** Reads the words of a search. */
export function readQuestion(text: string): Question {
  const phrase = toComparable(text).trim().replace(/\s+/g, ' ');
  const words = phrase.split(' ').filter(Boolean).map(toWord);
  return {
    words,
    phrase,
    mayBeIn(content) {
      const whole = toComparable(content);
      return words.every(({ shared }) => whole.includes(shared));
    },
  };
}

/** Finds all words in a line, in any order; `null` if one is missing. */
export function findWords({ words, phrase }: Question, line: string): FoundWords | null {
  const text = toComparable(line);
  if (!words.every(({ shared }) => text.includes(shared))) return null;
  const tokens = [...text.matchAll(/[\p{L}\p{N}]+/gu)];
  let score = 0;
  let at = text.length;
  const found: string[] = [];
  for (const word of words) {
    const best = findWord(word, text, tokens);
    if (best === null) return null;
    score += best.score;
    at = Math.min(at, best.at);
    found.push(...best.words);
  }
  const isPhrase = words.length > 1 && text.replace(/\s+/g, ' ').includes(phrase);
  return { score: score / words.length + (isPhrase ? SCORES.phrase : 0), words: found, at };
}

function findWord(
  { text: word, stem }: QuestionWord,
  text: string,
  tokens: readonly RegExpMatchArray[],
): FoundWords | null {
  const forms = tokens.filter(
    ([token]) => token === word || (stem !== null && toStem(token) === stem),
  );
  const [first] = forms;
  const at = text.indexOf(word);
  if (first !== undefined) {
    const isWhole = forms.some(([token]) => token === word);
    const words = forms.map(([token]) => token);
    return { score: isWhole ? SCORES.whole : SCORES.form, words, at: first.index ?? 0 };
  }
  if (at === -1) return null;
  // What is no word, such as a key or C++, can only be found as it is.
  return { score: stem === null ? SCORES.whole : SCORES.part, words: [word], at };
}

function toWord(text: string): QuestionWord {
  const stem = toStem(text);
  if (stem === null) return { text, stem, shared: text };
  let length = 0;
  while (length < stem.length && stem[length] === text[length]) length += 1;
  // Endings change: allergy and allergies, make and making.
  const shared = text.slice(0, length).replace(/[eiy]$/, '');
  return { text, stem, shared };
}

/** The stem of a word of three or more plain letters; `null` for any other text. */
function toStem(word: string): string | null {
  return /^[a-z]{3,}$/.test(word) ? toEnglishTerm(word) : null;
}

function toComparable(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
