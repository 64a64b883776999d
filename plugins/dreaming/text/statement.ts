import { hasNegation, tokenise } from './words.ts';

/** A word or a mark of a statement. */
export interface Part {
  /** In the form in which two are compared; a mark is itself. */
  key: string;
  /** As it stands there; `null` for a mark. */
  word: string | null;
  /** Whether it begins a sentence, so that its capital says nothing. */
  isStart: boolean;
}

/** What joins two things of a list. */
const JOIN = ',';
const JOINS = new Set(['and', 'und', 'et', 'и', ',', '&', '、', '，']);
/** Marks that part sentences, by the one that stands for all of its kind. */
const ENDS: Readonly<Record<string, string>> = {
  '.': '.',
  ';': '.',
  '!': '.',
  '。': '.',
  '！': '.',
  ':': ':',
  '：': ':',
  '—': ':',
  '–': ':',
};
const QUOTES = new Set(['"', "'", '“', '”', '„', '‘', '’', '«', '»']);

/** Words that an English text neither loses nor gains anything by. */
const ARTICLES = new Set(['a', 'an', 'the']);

/**
 * Words that a text loses nothing by. Those that say how sure, how often or how much are none of
 * them, and next to a denial even these say something: `not really`.
 */
const FILLERS = new Set(
  (
    'basically really essentially literally obviously simply very quite please also ' +
    'wirklich vraiment realmente davvero'
  ).split(' '),
);

/** Turns of phrase that say nothing, or the same in more words. The longest first. */
const PHRASES = (
  [
    ['it is important to note that', ''],
    ['it is worth mentioning that', ''],
    ['it is worth noting that', ''],
    ['it should be noted that', ''],
    ['due to the fact that', 'because'],
    ['please note that', ''],
    ['in order to', 'to'],
    ['note that', ''],
  ] as const
).map(([from, to]) => [from.split(' '), to] as const);

/** Words that may come without standing in any source: they join, and state nothing. */
export function isConnector(word: string): boolean {
  return ARTICLES.has(word) || JOINS.has(word);
}

/** Whether a word, in lower case, says nothing by itself: such a word may go, but not come. */
export function isEmptyWord(word: string): boolean {
  return ARTICLES.has(word) || FILLERS.has(word);
}

/** What a line of memory begins with, before what it says. */
export interface LineMark {
  indent: string;
  /** `-`, `*`, `+`, or a number with its mark; empty for a line of text. */
  marker: string;
  /** The state of a task as it stands between the brackets; `null` for what is none. */
  box: string | null;
  body: string;
}

/** Takes a line of memory apart into its mark and what it says. */
export function parseMark(line: string): LineMark {
  const body = line.trimStart();
  const indent = line.slice(0, line.length - body.length);
  const marker = /^(?:[-*+]|\d{1,9}[.)])(?=\s|$)/.exec(body)?.[0] ?? '';
  const rest = body.slice(marker.length).trim();
  const box = marker === '' ? undefined : /^\[([^\]]?)\](?=\s|$)/.exec(rest)?.[1];
  return {
    indent,
    marker,
    box: box ?? null,
    body: box === undefined ? rest : rest.slice(box.length + 2).trim(),
  };
}

// A word, number or date as `tokenise` finds them, or any other sign.
const PART = /[\p{L}\p{M}\p{Nd}]+(?:[.,:_/'’-][\p{L}\p{M}\p{Nd}]+)*|\S/gu;

/**
 * What a line says: its words and marks in order, without those that say nothing. Two lines with
 * equal statements say the same; the order of words, every word that is not on the short lists
 * above, signs and ends of sentences all count, because each of them can turn a fact around.
 */
export function toStatement(line: string): Part[] {
  const { body } = parseMark(line);
  const parts: Part[] = [];
  const keepsFillers = hasNegation(body);
  let isStart = true;
  const raws = replacePhrases(listRaw(body));
  for (const [at, { text, index }] of raws.entries()) {
    const key = text.toLowerCase();
    // `A few` are some, `few` are hardly any.
    const next = raws[at + 1]?.text.toLowerCase() ?? '';
    const isAmount = key === 'a' && (next === 'few' || next === 'little');
    const isWord = /[\p{L}\p{Nd}]/u.test(text);
    if (isWord && !isAmount && (ARTICLES.has(key) || (!keepsFillers && FILLERS.has(key)))) {
      isStart = false;
      continue;
    }
    const mark = isWord ? (JOINS.has(key) ? JOIN : null) : toMark(body, text, index);
    if (mark === '') continue;
    parts.push(
      mark === null ? { key, word: text, isStart } : { key: mark, word: null, isStart: false },
    );
    isStart = mark !== null && mark !== JOIN;
  }
  return collapse(parts);
}

/** Whether two statements are the same, part by part. */
export function isSameStatement(one: readonly Part[], other: readonly Part[]): boolean {
  return one.length === other.length && one.every((part, index) => isSamePart(part, other[index]));
}

/** Whether two parts are the same; a capital at the beginning of a sentence does not count. */
export function isSamePart(one: Part | undefined, other: Part | undefined): boolean {
  if (one === undefined || other === undefined || one.key !== other.key) return false;
  if (one.word === other.word) return true;
  if (one.word === null || other.word === null) return false;
  return one.word.slice(1) === other.word.slice(1) && (one.isStart || other.isStart);
}

/** Statements one after the other, as sentences. */
export function joinStatements(statements: readonly (readonly Part[])[]): Part[] {
  return collapse(
    statements.flatMap((parts) => [...parts, { key: '.', word: null, isStart: false }]),
  );
}

/** Whether a part joins two things of a list. */
export function isJoin(part: Part): boolean {
  return part.word === null && part.key === JOIN;
}

/** Whether a part is a word, and not a mark. */
export function isWord(part: Part): part is Part & { word: string } {
  return part.word !== null;
}

/** The words of a text in the form in which they are looked up. */
export function listWords(text: string): string[] {
  return tokenise(text).map((token) => token.text.toLowerCase());
}

/** A word without the ends that its forms differ by: `teas` is `tea`. */
export function toLightStem(word: string): string {
  if (!/^[\p{Script=Latin}’']{4,}$/u.test(word)) return word;
  const bare = word.replace(/['’]s$/u, '');
  if (bare.endsWith('ies')) return `${bare.slice(0, -3)}y`;
  return /[^su]s$/u.test(bare) ? bare.slice(0, -1) : bare;
}

interface Raw {
  text: string;
  index: number;
}

function listRaw(body: string): Raw[] {
  const raws: Raw[] = [];
  for (const match of body.normalize('NFC').matchAll(PART)) {
    raws.push({ text: match[0], index: match.index });
  }
  return raws;
}

function replacePhrases(raws: readonly Raw[]): Raw[] {
  const left: Raw[] = [];
  for (let at = 0; at < raws.length;) {
    const phrase = PHRASES.find(([from]) =>
      from.every((word, index) => raws[at + index]?.text.toLowerCase() === word),
    );
    const raw = raws[at] as Raw;
    if (phrase === undefined) left.push(raw);
    else if (phrase[1] !== '') left.push({ ...raw, text: phrase[1] });
    at += phrase?.[0].length ?? 1;
  }
  return left;
}

/** The mark that a sign is compared as; empty for one that says nothing. */
function toMark(body: string, sign: string, index: number): string {
  const text = body.normalize('NFC');
  const isAlone = !/\S/u.test(text[index - 1] ?? ' ') && !/\S/u.test(text[index + 1] ?? ' ');
  if (JOINS.has(sign)) return JOIN;
  if (sign === '-' && isAlone) return ':';
  if ((sign === '*' || sign === '_') && !isAlone) return '';
  if (QUOTES.has(sign)) return '"';
  return ENDS[sign] ?? sign;
}

/** Of marks that part, which stand next to each other, the strongest stays; none at the ends. */
function collapse(parts: readonly Part[]): Part[] {
  const strength = [JOIN, ':', '.'];
  const rank = (part: Part | undefined) =>
    part === undefined || part.word !== null ? -1 : strength.indexOf(part.key);
  const left: Part[] = [];
  for (const part of parts) {
    const last = left.at(-1);
    if (rank(part) >= 0 && (last === undefined || rank(last) >= 0)) {
      if (last !== undefined && rank(part) > rank(last)) left[left.length - 1] = part;
    } else {
      left.push(part);
    }
  }
  while (rank(left.at(-1)) >= 0) left.pop();
  return left;
}
