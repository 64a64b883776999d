import { LRUCache } from 'lru-cache';
import { isStopTerm, isStopWord } from '../search/text/english.ts';
import { toTokens } from '../search/text/tokenise.ts';
import { readWords } from '../search/text/words.ts';
import { listDates, MONTHS, type NamedDate, toIsoDate } from '../edits/dates.ts';
import { isOpener } from './sentence-starters.ts';

/** The terms of a text that carry meaning, as search has them: stems, no stop words. */
export function termsOf(text: string): Set<string> {
  const terms = toTokens(readWords(text), true).map(({ term }) => term);
  return new Set(terms.filter((term) => !isStopTerm(term)));
}

/**
 * How much of what a text says stands in its grounds: the share of its terms, from 0 to 1. Words
 * that only say how a fact is put (`prefers`, `the user`) do not count, and a text without any term
 * says nothing: 0.
 */
export function groundedShare(text: string, grounds: string): number {
  const all = termsOf(text);
  const terms = [...all].filter((term) => !PHRASING.has(term));
  if (terms.length === 0) return all.size === 0 ? 0 : 1;
  const known = knownTermsOf(grounds);
  return terms.filter((term) => known.has(term)).length / terms.length;
}

/** How alike two texts are by their terms: those that both have, of those that either has, 0 to 1. */
export function likeness(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const both = [...left].filter((term) => right.has(term)).length;
  const either = left.size + right.size - both;
  return either === 0 ? 0 : both / either;
}

/**
 * Numbers, dates, names and addresses of a text that its grounds lack: what a model made up, or what
 * a change loses. Compared without regard to case; `$500` is not `€500`.
 */
export function missingSpecifics(text: string, grounds: string): string[] {
  const known = knownTokensOf(grounds);
  const terms = knownTermsOf(grounds);
  const missing = listSpecifics(text)
    .filter(
      ({ specific, opens }) => !isKnown(specific, known) && !(opens && hasTerm(terms, specific)),
    )
    .map(({ specific }) => specific);
  const addresses = listAddresses(text).filter((address) => !grounds.includes(address));
  return [...new Set([...missing, ...addresses])];
}

/** Whether a text denies something. */
export function hasNegation(text: string): boolean {
  return NEGATION.test(text);
}

const NEGATION =
  /(?<!\p{L})(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|nicht|kein\p{L}{0,2}|nie|niemals|ohne|pas|jamais|sans|nunca|sin|mai|senza)(?!\p{L})|n['’]t(?!\p{L})|[不没無沒未]/iu;

// Letters, marks and digits, joined inside a word by what dates, times and names are joined by.
const TOKEN = /[\p{L}\p{M}\p{Nd}]+(?:[.,:_/'’-][\p{L}\p{M}\p{Nd}]+)*/gu;

/**
 * Whether a text says what the fact denies: `Does pottery` of `I don't do pottery any more`. What is
 * denied is the word that follows the denial; a text that itself denies, or says that something is
 * over, is none, and neither is one of a fact that denies twice (`can't do without`).
 */
export function isDenied(text: string, fact: string): boolean {
  if (hasNegation(text) || CHANGE.test(text)) return false;
  const terms = termsOf(text);
  return fact.split(/[.,;:!?\n]/u).some((clause) => {
    const [before, ...parts] = clause.split(NEGATION);
    if (before === undefined || parts.length !== 1) return false;
    const [next] = termsOf(parts[0] ?? '');
    return next !== undefined && terms.has(next) && !termsOf(before).has(next);
  });
}

/** Grounds whose terms and tokens are kept: line after line is compared with the same ones. */
const KEPT_GROUNDS = 8;

const knownTermsOf = keepLast(termsOf);
const knownTokensOf = keepLast(knownTokens);

function keepLast(read: (text: string) => Set<string>): (text: string) => ReadonlySet<string> {
  const kept = new LRUCache<string, Set<string>>({ max: KEPT_GROUNDS });
  return (text) => {
    let value = kept.get(text);
    if (value === undefined) kept.set(text, (value = read(text)));
    return value;
  };
}

/** What was so, and is no longer. */
const CHANGE =
  /(?<!\p{L})(?:stopped|quit|gave up|given up|former|formerly|previously|before|until|used to|ex|once|past|früher|bis|ehemalig|avant|antes)(?!\p{L})/iu;

/** Words in which a fact is put, whatever it says. */
const PHRASING = termsOf(
  'user users prefers likes loves enjoys wants uses works lives comes now currently favourite favorite new',
);

interface Token {
  text: string;
  index: number;
}

function tokensOf(whole: string): Token[] {
  return [...whole.matchAll(TOKEN)].map((match) => ({ text: match[0], index: match.index }));
}

/** One way to write what may be written in several: accents, and `7 p.m.` as `7pm`. */
function toPlain(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/(?<=\p{Nd}) ?([ap])(?:m(?!\p{L})|\.m\.?)/giu, (_, half: string) => `${half}m`);
}

/** What must not be made up, and whether it opens a sentence: then any word is in capitals. */
interface Specific {
  specific: string;
  opens: boolean;
}

function listSpecifics(text: string): Specific[] {
  const whole = toPlain(text);
  return tokensOf(whole).flatMap(({ text: token, index }) => {
    if (/\p{Nd}/u.test(token)) return [{ specific: toSigned(whole, token, index), opens: false }];
    if (!isName(whole, token, index)) return [];
    return [{ specific: token.toLowerCase(), opens: beginsSentence(whole, index) }];
  });
}

/** A name is known by its plural and its genitive too (`Tuesdays`, `Ana's`), a number in any form. */
function isKnown(specific: string, known: ReadonlySet<string>): boolean {
  if (known.has(specific)) return true;
  if (/\p{Nd}/u.test(specific)) return otherForms(specific).some((form) => known.has(form));
  return known.has(specific.replace(/['’]?s['’]?$/u, '')) || known.has(`${specific}s`);
}

/** Whether a word stands there in another form: `Volunteers` of someone who is volunteering. */
function hasTerm(terms: ReadonlySet<string>, word: string): boolean {
  const own = [...termsOf(word)];
  return own.length > 0 && own.every((term) => terms.has(term));
}

/** Everything that a specific may be found again by: wholes and parts. */
function knownTokens(text: string): Set<string> {
  const whole = toPlain(text);
  const known = new Set(listDates(whole).flatMap(toDateTokens));
  for (const { text: token, index } of tokensOf(whole)) {
    const forms = [toSigned(whole, token, index), token.toLowerCase()];
    for (const form of forms) {
      known.add(form);
      for (const same of otherForms(form)) known.add(same);
    }
    // The parts of a date are said by themselves; those of another number are other numbers.
    const isDate = /^\d{4}-\d{2}-\d{2}$/.test(token);
    if (/\p{Nd}/u.test(token) && !isDate) continue;
    for (const part of token.split(/[.,:_/'’-]/u)) {
      known.add(part.toLowerCase());
      known.add(part.replace(/^0/, ''));
    }
  }
  return known;
}

/** A date in each form in which it may be said again. */
function toDateTokens({ year, month, day }: NamedDate): string[] {
  const name = (MONTHS[month - 1] ?? '').toLowerCase();
  return [
    name,
    name.slice(0, 3),
    ...(day === null ? [] : [String(day)]),
    ...(year === null ? [] : [String(year), toIsoDate(year, month, null)]),
    ...(year === null || day === null ? [] : [toIsoDate(year, month, day)]),
  ];
}

/** Small numbers by their English words. */
const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  'zero one two three four five six seven eight nine ten eleven twelve'
    .split(' ')
    .map((word, number) => [word, number]),
);

/**
 * The same number as it is written elsewhere: `three` is 3, `90th` counts 90, `7pm` is 19:00, `$2,500`
 * and `$2.5k` are $2500.
 */
function otherForms(token: string): string[] {
  const number = NUMBER_WORDS.get(token);
  if (number !== undefined) return [String(number)];
  const [, ordinal] = /^(\d{1,4})(?:st|nd|rd|th)$/.exec(token) ?? [];
  if (ordinal !== undefined) return [ordinal];
  const [, sign = '', digits, thousand] =
    /^(\p{Sc}?)(\d{1,3}(?:,\d{3}){1,4}|\d{1,9}(?:\.\d{1,3})?(?=k))(k?)$/u.exec(token) ?? [];
  if (digits !== undefined) {
    const plain = Number(digits.replaceAll(',', '')) * (thousand === 'k' ? 1_000 : 1);
    return Number.isSafeInteger(plain) ? [`${sign}${plain}`] : [];
  }
  const [, hour, minutes = '00', half] = /^(\d{1,2})(?:[:.](\d{2}))?(am|pm)$/.exec(token) ?? [];
  if (hour === undefined) return [];
  const hours = (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  return [`${hours}:${minutes}`, `${String(hours).padStart(2, '0')}:${minutes}`];
}

/** A number with its currency, wherever and however that stands, and what it counts behind it. */
function toSigned(whole: string, token: string, index: number): string {
  const before = whole[index - 1] ?? '';
  const end = index + token.length;
  const after = whole[end] ?? '';
  const [, unit = ''] = /^ (\p{L}{3,7})(?!\p{L})/u.exec(whole.slice(end, end + 9)) ?? [];
  const said = UNITS.get(unit.toLowerCase()) ?? '';
  const sign = /\p{Sc}/u.test(before) ? before : said === '%' ? '' : said;
  const count = /[%‰°\p{Sc}]/u.test(after) ? after : said === '%' ? said : '';
  return `${sign}${token.toLowerCase()}${count}`;
}

/** What counts by its word. */
const UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({ $: 'dollar dollars usd', '€': 'euro euros eur', '%': 'percent' }).flatMap(
    ([sign, words]) => words.split(' ').map((word) => [word, sign] as const),
  ),
);

function isName(whole: string, token: string, index: number): boolean {
  if (!/[\p{Lu}\p{Lt}]/u.test(token)) return false;
  const word = token.toLowerCase();
  if (isStopWord(word.replace(/['’]/gu, ''))) return false;
  return !(isOpener(word) && beginsSentence(whole, index));
}

/** After the marks of a list, a heading or emphasis, or after the end of another sentence. */
function beginsSentence(whole: string, index: number): boolean {
  let at = index - 1;
  while (at >= 0 && /[\s*_#>"'“‘([\-+|`]/u.test(whole[at] ?? '')) at -= 1;
  return at < 0 || /[.!?:;。！？—–\]]/u.test(whole[at] ?? '');
}

/** Web and mail addresses, compared as they stand. */
function listAddresses(text: string): string[] {
  return text
    .split(/[\s()<>[\]"'`]+/u)
    .map((chunk) => chunk.replace(/[.,;:!?]$/u, ''))
    .filter((chunk) => chunk.includes('://') || /^www\./iu.test(chunk) || /\S@\S/u.test(chunk));
}
