/**
 * The stem of an English word: Porter's algorithm with the two changes that its author made later
 * (`bli` for `abli`, and `logi`).
 *
 * Takes a folded word; returns any word that isn't three or more letters of `a`–`z` unchanged.
 *
 * Source: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, and the note at
 * the head of his own implementation.
 */
export function stem(word: string): string {
  if (word.length < 3 || !isPlainLetters(word)) return word;
  let result = removePlural(word);
  result = removePastOrGerund(result);
  if (result.endsWith('y') && hasVowel(result, result.length - 1)) {
    result = `${result.slice(0, -1)}i`;
  }
  result = replaceSuffix(result, DOUBLE_SUFFIXES);
  result = replaceSuffix(result, SINGLE_SUFFIXES);
  result = removeSuffix(result);
  return tidy(result);
}

type Suffixes = readonly (readonly [suffix: string, replacement: string])[];

/** Step 2, for a measure above 0. A longer suffix comes before the ones that it ends with. */
const DOUBLE_SUFFIXES: Suffixes = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['eli', 'e'],
];

/** Step 3, for a measure above 0. */
const SINGLE_SUFFIXES: Suffixes = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

/** Step 4, for a measure above 1. `ion` is removed only after `s` or `t`. */
const SUFFIXES = [
  'ement',
  'ance',
  'ence',
  'able',
  'ible',
  'ment',
  'ant',
  'ent',
  'ion',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
  'al',
  'er',
  'ic',
  'ou',
] as const;

function removePlural(word: string): string {
  if (!word.endsWith('s')) return word;
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2);
  return word.endsWith('ss') ? word : word.slice(0, -1);
}

function removePastOrGerund(word: string): string {
  if (word.endsWith('eed')) return measure(word, word.length - 3) > 0 ? word.slice(0, -1) : word;
  const length = word.endsWith('ed') ? 2 : word.endsWith('ing') ? 3 : 0;
  if (length === 0 || !hasVowel(word, word.length - length)) return word;
  const base = word.slice(0, -length);
  if (base.endsWith('at') || base.endsWith('bl') || base.endsWith('iz')) return `${base}e`;
  if (endsWithDoubleConsonant(base)) {
    const last = base.at(-1);
    return last === 'l' || last === 's' || last === 'z' ? base : base.slice(0, -1);
  }
  return measure(base, base.length) === 1 && endsWithShortSyllable(base) ? `${base}e` : base;
}

function replaceSuffix(word: string, suffixes: Suffixes): string {
  for (const [suffix, replacement] of suffixes) {
    if (!word.endsWith(suffix)) continue;
    const end = word.length - suffix.length;
    return measure(word, end) > 0 ? word.slice(0, end) + replacement : word;
  }
  return word;
}

function removeSuffix(word: string): string {
  for (const suffix of SUFFIXES) {
    if (!word.endsWith(suffix)) continue;
    const end = word.length - suffix.length;
    if (measure(word, end) <= 1) return word;
    if (suffix === 'ion' && word[end - 1] !== 's' && word[end - 1] !== 't') return word;
    return word.slice(0, end);
  }
  return word;
}

/** Step 5: removes a final `e`, and the second of two final `l`s. */
function tidy(word: string): string {
  let result = word;
  if (result.endsWith('e')) {
    const base = result.slice(0, -1);
    const size = measure(base, base.length);
    if (size > 1 || (size === 1 && !endsWithShortSyllable(base))) result = base;
  }
  return result.endsWith('ll') && measure(result, result.length) > 1 ? result.slice(0, -1) : result;
}

function isPlainLetters(word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index);
    if (code < 97 || code > 122) return false;
  }
  return true;
}

/**
 * Whether a letter is a consonant depends on the letter before: `y` is a consonant after a vowel.
 */
function isConsonantAfter(word: string, index: number, previousIsConsonant: boolean): boolean {
  switch (word[index]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
      return false;
    case 'y':
      return index === 0 || !previousIsConsonant;
    default:
      return true;
  }
}

function isConsonant(word: string, index: number): boolean {
  let start = index;
  while (start > 0 && word[start] === 'y') start--;
  let result = isConsonantAfter(word, start, false);
  for (let at = start + 1; at <= index; at++) result = isConsonantAfter(word, at, result);
  return result;
}

/** Porter's measure: how often a consonant follows a vowel in the first `end` letters. */
function measure(word: string, end: number): number {
  let count = 0;
  let previousIsConsonant = true;
  for (let index = 0; index < end; index++) {
    const consonant = isConsonantAfter(word, index, previousIsConsonant);
    if (consonant && !previousIsConsonant) count++;
    previousIsConsonant = consonant;
  }
  return count;
}

function hasVowel(word: string, end: number): boolean {
  let previousIsConsonant = false;
  for (let index = 0; index < end; index++) {
    previousIsConsonant = isConsonantAfter(word, index, previousIsConsonant);
    if (!previousIsConsonant) return true;
  }
  return false;
}

function endsWithDoubleConsonant(word: string): boolean {
  const last = word.length - 1;
  return last > 0 && word[last] === word[last - 1] && isConsonant(word, last);
}

/**
 * Whether it ends with consonant, vowel, consonant, the last not `w`, `x` or `y`. Such a stem gets
 * an `e` back.
 */
function endsWithShortSyllable(word: string): boolean {
  const last = word.length - 1;
  if (last < 2) return false;
  const letter = word[last];
  if (letter === 'w' || letter === 'x' || letter === 'y') return false;
  return isConsonant(word, last) && !isConsonant(word, last - 1) && isConsonant(word, last - 2);
}
