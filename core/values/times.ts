import { atOnce } from '../time/pause.ts';
import { findMonths, listDates, toIsoDate } from './dates.ts';
import { toDigits } from './digits.ts';
import { LANGUAGES, readLanguages } from './language.ts';
import { findNumberWords } from './number-words.ts';
import { fold } from './fold.ts';
import { SPANS, TIME_WORDS, type TimeMeaning } from './time-words.ts';

/** A phrase as short as `two weeks ago` need not tell its language. */
const LANGUAGES_OF_SPANS: readonly string[] = LANGUAGES;

const DAY_MS = 24 * 60 * 60 * 1000;

/** What a fact says by words of time. */
export interface ResolvedTimes {
  /** Each phrase as it stands in the fact (folded), with the dates that it may mean. */
  phrases: { phrase: string; dates: string[] }[];
}

/**
 * Resolves words of time, such as `yesterday`, `letzten Freitag`, `il y a deux ans`, `上个月`, seen
 * from a day, in the languages that search knows. Dates are days, months and years; where a phrase
 * may mean one of several days, all of them.
 *
 * @param day as `2026-01-31`, where the fact was said.
 */
export function resolveTimes(fact: string, day: string): ResolvedTimes {
  return atOnce(resolveInSteps(fact, day));
}

/** {@link resolveTimes}, yielding between phrases: a fact may have thousands. */
export function* resolveInSteps(fact: string, day: string): Generator<null, ResolvedTimes> {
  const text = fold(fact);
  let known: readonly string[] | undefined;
  const languages = () => (known ??= readLanguages(fact, LANGUAGES_OF_SPANS));
  const now = Date.parse(`${day}T00:00:00Z`);
  const phrases: ResolvedTimes['phrases'] = [];
  // In one text: comparing each phrase with each takes long where there are thousands.
  let added = '';
  const add = (phrase: string, makeDates: () => string[]) => {
    if (added.includes(phrase)) return;
    const dates = makeDates();
    if (dates.length === 0) return;
    phrases.push({ phrase, dates });
    added += `${phrase}\0`;
  };
  for (const { phrase, dates } of readPhrases(text, { now, languages })) {
    yield null;
    add(phrase, dates);
  }
  for (const [pattern, unit, off] of UNCASED) {
    const match = pattern.exec(text);
    if (match !== null) add(match[0], () => toDates(now, unit, off));
  }
  for (const [phrase, count = '', word = '', side = ''] of text.matchAll(CJK_AGO)) {
    const unit = [/[天日]/, /星期|周|週/, /月/, /年/].findIndex((signs) => signs.test(word));
    const number = toCount(count, languages());
    if (number === null) continue;
    add(phrase, () => toDates(now, unit, /[后後]/.test(side) ? number : -number));
  }
  for (const [phrase, year = '', ...signs] of text.matchAll(CJK_SEASON)) {
    const season = signs.findIndex((sign) => sign !== undefined);
    add(phrase, () => toSeason(now, season, /[去昨작난]/.test(year)));
  }
  for (const [phrase] of text.matchAll(/周末|週末|주말/g)) {
    add(phrase, () => listDays(now, [-14, 14], [0, 6]));
  }
  // A date without its year is the last one or the next one.
  for (const { year, month, day: of } of [...listDates(fact), ...findMonths(fact)]) {
    if (year !== null) continue;
    add(toIsoDate(0, month, of).slice(5), () => toNearest(now, month, of));
  }
  return { phrases };
}

/** A meaning of one word or several, and the place of the word behind them. */
type Found = TimeMeaning & { to: number };

/** The phrases of scripts with spaces in their order, the longest of those that begin at a word first. */
function readPhrases(
  text: string,
  { now, languages }: Pick<Reading, 'now' | 'languages'>,
): { phrase: string; dates: () => string[] }[] {
  const words = [...text.matchAll(/[a-zа-я]+|\d+/g)].map(({ 0: word, index }) => ({
    word,
    start: index,
    end: index + word.length,
  }));
  /** The words that follow with only a space, hyphen or apostrophe between them, at most five. */
  const rowAt = (at: number) => {
    let to = at + 1;
    while (to < at + 5 && /^[\s'’-]$/.test(text.slice(words[to - 1]?.end, words[to]?.start)))
      to += 1;
    return words.slice(at, to).map(({ word }) => word);
  };
  const rows = words.map((_word, at) => rowAt(at));
  const meant = rows.map((row, at) =>
    row.flatMap((_word, last): Found[] =>
      TIME_WORDS.get(row.slice(0, last + 1).join(' ')).map((meaning) => ({
        ...meaning,
        to: at + last + 1,
      })),
    ),
  );
  return words.flatMap(({ start }, at) =>
    [
      ...readTurns({ rows, meant, at, now, languages }),
      ...readSpans({ rows, meant, at, now, languages }),
    ]
      .sort((a, b) => b.to - a.to)
      .map(({ to, dates }) => ({ phrase: text.slice(start, words[to - 1]?.end), dates })),
  );
}

/** A phrase up to the word at `to`, with the dates that it may mean. */
interface Said {
  to: number;
  dates: () => string[];
}

interface Reading {
  /** For each word the row that it begins, and the meanings of the beginnings of that row. */
  rows: readonly (readonly string[])[];
  meant: readonly (readonly Found[])[];
  at: number;
  now: number;
  /** That the text may be in. They are read once a number needs them. */
  languages: () => readonly string[];
}

/** Words by themselves, and with `last`, `this` or `next` in front or behind. */
function readTurns({ rows, meant, at, now }: Reading): Said[] {
  return (meant[at] ?? []).flatMap((one) => {
    const isLast = (rows[one.to - 1]?.length ?? 0) < 2;
    const behind = (isLast ? [] : (meant[one.to] ?? [])).filter(
      ({ language }) => [one.language, null].includes(language) || one.language === null,
    );
    if (one.is === 'turn') {
      return behind.map((other) => ({ to: other.to, dates: () => toMeant(now, other, one.value) }));
    }
    const isTurned = one.is !== 'unit' || one.language?.isAfter === true;
    const turns = behind.filter(({ is, value }) => isTurned && is === 'turn' && value !== 0);
    const [, next = '', last = ''] = rows[one.to - 1] ?? [];
    const isOf = /^(?:of|de|del|do)$/.test(next);
    const year = isOf ? last : next;
    return [
      { to: one.to, dates: () => toMeant(now, one, null) },
      ...turns.map((other) => ({ to: other.to, dates: () => toMeant(now, one, other.value) })),
      ...(one.is === 'season' && /^\d{4}$/.test(year)
        ? [{ to: one.to + (isOf ? 2 : 1), dates: () => toMonths(Number(year), one.value) }]
        : []),
    ];
  });
}

/** `two weeks ago`, `in drei Tagen`. */
function readSpans({ rows, meant, at, now, languages }: Reading): Said[] {
  const row = rows[at] ?? [];
  const [first = ''] = row;
  const spans = [...(SPANS.get(first) ?? []), ...(SPANS.get('N') ?? [])];
  return spans.flatMap(({ language, parts, sign }) => {
    if (row.length < parts.length) return [];
    const isSaid = parts.every(
      (part, index) => part === 'N' || part === 'U' || part === row[index],
    );
    const unit = meant[at + parts.indexOf('U')]?.find(
      (one) => one.is === 'unit' && one.language === language,
    );
    if (!isSaid || unit === undefined) return [];
    const count = toCount(row[parts.indexOf('N')] ?? '', languages());
    if (count === null) return [];
    return { to: at + parts.length, dates: () => toDates(now, unit.value, sign * count) };
  });
}

/** The dates of a word; `turn` is -1 for last, 0 for this, 1 for next, and `null` for none of them. */
function toMeant(now: number, { is, value }: TimeMeaning, turn: number | null): string[] {
  if (is === 'day' && turn === null) return [toDay(now, value)];
  if (is === 'unit' && value > 0 && turn !== null) return toDates(now, value, turn);
  if (is === 'season' && turn !== null && turn < 1) return toSeason(now, value, turn < 0);
  if (is === 'weekend') return listDays(now, [-14, 14], [0, 6]);
  if (is !== 'weekday') return [];
  // `last Friday` may be the one before the last.
  return listDays(now, turn === -1 ? [-14, -1] : turn === 1 ? [1, 14] : [-7, 7], [value]);
}

function toCount(word: string, languages: readonly string[]): number | null {
  if (/^\d{1,3}$/.test(word)) return Number(word);
  if (word === '一') return 1;
  const [number] = findNumberWords(word, languages, { hasOnes: true });
  const digits = number === undefined ? toDigits(word, []) : String(number.value);
  return /^\d{1,3}$/.test(digits) ? Number(digits) : null;
}

/** Scripts without spaces: expression, unit (day, week, month, year), and how far off. */
const UNCASED: readonly (readonly [pattern: RegExp, unit: number, off: number])[] = [
  [/大前天|一昨々日/, 0, -3],
  [/(?<!大)前天|一昨日|おととい|그저께/, 0, -2],
  [/昨天|昨晚|昨日|어제|أمس|אתמול/, 0, -1],
  [/今天|今晚|今日|오늘|اليوم|היום/, 0, 0],
  [/明天|明日|내일|غدا|מחר/, 0, 1],
  [/(?<!大)[后後]天|明後日|あさって|모레/, 0, 2],
  [/大[后後]天|明々後日|しあさって|글피/, 0, 3],
  [/(?<!上)上个?(?:星期|周|禮拜|礼拜)|(?<!上)上週|先週|(?<!지)지난\s?주/, 1, -1],
  [/这(?:个?星期|周)|這週|今週|이번\s?주/, 1, 0],
  [/(?<!下)下个?(?:星期|周|礼拜)|(?<!下)下週|(?<!再)来週|다음\s?주/, 1, 1],
  [/再来週|下下个?(?:星期|周|礼拜|週)|다다음\s?주/, 1, 2],
  [/先々週|先先週|上上个?(?:星期|周|礼拜|週)|지지난\s?주/, 1, -2],
  [/(?<!上)上[个個]?月|先月|(?<!지)지난\s?달/, 2, -1],
  [/这个?月|這個月|本月|今月|이번\s?달/, 2, 0],
  [/(?<!下)下个?月|(?<!下)下個月|(?<!再)来月|다음\s?달/, 2, 1],
  [/再来月|下下[个個]?月|다다음\s?달/, 2, 2],
  [/先々月|先先月|上上[个個]?月|지지난\s?달/, 2, -2],
  [/去年|(?<!一)昨年|(?<!재)작년/, 3, -1],
  [/今年|올해/, 3, 0],
  [/明年|(?<!再)来年|내년/, 3, 1],
  [/再来年|后年|後年|내후년/, 3, 2],
  [/一昨年|おととし|前年|재작년/, 3, -2],
];
const CJK_AGO =
  /([一二两兩三四五六七八九十]|\d{1,3})\s?(天|日|个?星期|周|週間|个?月|個月|か月|ヶ月|年)(前|以前|之前|后|後)/gu;
const CJK_SEASON =
  /(去年|昨年|작년|지난|今年|この|올해|이번)[のに的\s]?(?:([春봄])|(夏|여름)|(秋|가을)|(冬|겨울))/gu;

function toNearest(now: number, month: number, day: number | null): string[] {
  const year = new Date(now).getUTCFullYear();
  const own = toIsoDate(year, month, day);
  return [own, toIsoDate(own <= toDay(now, 0) ? year + 1 : year - 1, month, day)];
}

/** The days from one to another, as far off as these say; `weekdays` leaves out all others. */
function listDays(
  now: number,
  [from, to]: readonly [number, number],
  weekdays = [0, 1, 2, 3, 4, 5, 6],
): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    .filter((off) => weekdays.includes(new Date(now + off * DAY_MS).getUTCDay()))
    .map((off) => toDay(now, off));
}

/** The months of a season that began in a year, as on the northern half. */
function toMonths(year: number, season: number): string[] {
  return [3, 4, 5].map((month) => {
    const number = month + 3 * season;
    return number > 12 ? toIsoDate(year + 1, number - 12, null) : toIsoDate(year, number, null);
  });
}

/** A season of this year, or the last one that is over. */
function toSeason(now: number, season: number, isLast: boolean): string[] {
  const today = toDay(now, 0);
  let year = Number(today.slice(0, 4));
  const isOver = (month: string) => month < today.slice(0, 7);
  while (isLast && !toMonths(year, season).every(isOver)) year -= 1;
  return toMonths(year, season);
}

/** A day; each day of a week; a month; a year with its month near that time. */
function toDates(now: number, unit: number, off: number): string[] {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === 0) return [toDay(now, off)];
  if (unit === 1) {
    // Weeks begin on one day or another.
    const last = off * 7 + 6;
    return listDays(now, [off * 7 - 6, off < 0 ? Math.min(last, -1) : last]);
  }
  if (unit === 2) return [new Date(Date.UTC(year, month + off, 1)).toISOString().slice(0, 7)];
  const months = Math.abs(off) === 1 ? [] : [toIsoDate(year + off, month + 1, null)];
  return [String(year + off), ...months];
}

function toDay(now: number, off: number): string {
  return new Date(now + off * DAY_MS).toISOString().slice(0, 10);
}
