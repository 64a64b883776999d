import { findMonths, listDates, toIsoDate } from './dates.ts';
import { NUMBER_WORDS } from './number-words.ts';
import { meaningsOf, MOST_WORDS, SPANS, type TimeMeaning, type TimeUnit } from './time-words.ts';
import { fold } from './words.ts';

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
  const text = fold(fact);
  const now = Date.parse(`${day}T00:00:00Z`);
  const phrases: ResolvedTimes['phrases'] = [];
  const add = (phrase: string, dates: string[]) => {
    if (dates.length > 0 && !phrases.some((known) => known.phrase.includes(phrase))) {
      phrases.push({ phrase, dates });
    }
  };
  for (const { start, end, dates } of readPhrases(text, now)) add(text.slice(start, end), dates);
  for (const [pattern, unit, off] of UNCASED) {
    const match = pattern.exec(text);
    if (match !== null) add(match[0], toDates(now, unit, off));
  }
  for (const [phrase, count = '', word = '', side = ''] of text.matchAll(CJK_AGO)) {
    const unit = CJK_UNITS.find(([signs]) => signs.test(word))?.[1] ?? 'year';
    const number = toCount(count);
    if (number !== null) add(phrase, toDates(now, unit, /[后後]/.test(side) ? number : -number));
  }
  for (const [phrase, year = '', ...signs] of text.matchAll(CJK_SEASON)) {
    const season = signs.findIndex((sign) => sign !== undefined);
    add(phrase, toSeason(now, season, { isLast: /[去昨작난]/.test(year) }));
  }
  if (CJK_WEEKEND.test(text)) add(CJK_WEEKEND.exec(text)?.[0] ?? '', toWeekends(now));
  // A date without its year is the last one or the next one.
  for (const { year, month, day: of } of [...listDates(fact), ...findMonths(fact)]) {
    if (year === null) add(toIsoDate(0, month, of).slice(5), toNearest(now, month, of));
  }
  return { phrases };
}

interface Phrase {
  start: number;
  end: number;
  dates: string[];
}

/** A word of a text, and whether only a space, hyphen or apostrophe parts it from the one before. */
interface Word {
  text: string;
  start: number;
  end: number;
  isNext: boolean;
}

/** A meaning of one word or several, and the place of the word behind them. */
type Found = TimeMeaning & { to: number };

/** The phrases of scripts with spaces in their order, the longest of those that begin at a word first. */
function readPhrases(text: string, now: number): Phrase[] {
  const words: Word[] = [];
  for (const { 0: word, index } of text.matchAll(/[a-zа-я]+|\d+/g)) {
    const gap = text.slice(words.at(-1)?.end ?? 0, index);
    const isNext = words.length > 0 && /^[\s'’-]$/.test(gap);
    words.push({ text: word, start: index, end: index + word.length, isNext });
  }
  const meant = words.map((_word, at) => findMeanings(words, at));
  return words.flatMap((word, at) => {
    const found = [
      ...readMeanings(words, { meant, at, now }),
      ...readSpans(words, { meant, at, now }),
    ];
    return found
      .map(({ to, from = at, dates }) => ({
        start: words[from]?.start ?? word.start,
        end: words[to - 1]?.end ?? word.end,
        dates,
      }))
      .sort((a, b) => b.end - b.start - (a.end - a.start));
  });
}

function findMeanings(words: readonly Word[], at: number): Found[] {
  const found: Found[] = [];
  let phrase = '';
  for (let to = at + 1; to <= at + MOST_WORDS; to += 1) {
    const word = words[to - 1];
    if (word === undefined || (to > at + 1 && !word.isNext)) break;
    phrase = phrase === '' ? word.text : `${phrase} ${word.text}`;
    found.push(...meaningsOf(phrase).map((meaning) => ({ ...meaning, to })));
  }
  return found;
}

interface Reading {
  meant: readonly Found[][];
  at: number;
  now: number;
}

/** Days, weeks, months, years, days of the week and seasons, with `last`, `this` or `next`. */
function readMeanings(
  words: readonly Word[],
  { meant, at, now }: Reading,
): { to: number; from?: number; dates: string[] }[] {
  return (meant[at] ?? []).flatMap((one) => {
    const next = words[one.to]?.isNext === true ? (meant[one.to] ?? []) : [];
    const behind = next.filter(
      ({ language }) => language === one.language || language === null || one.language === null,
    );
    switch (one.is) {
      case 'day':
        return { to: one.to, dates: [toDay(now, one.off)] };
      case 'turn':
        return behind.flatMap((other) => {
          const { to } = other;
          if (other.is === 'unit') return { to, dates: toTurn(now, other.unit, one.off) };
          if (other.is === 'weekday') {
            return { to, dates: toWeekdays(now, other.weekday, one.off) };
          }
          if (other.is !== 'season' || one.off > 0) return [];
          return { to, dates: toSeason(now, other.season, { isLast: one.off < 0 }) };
        });
      case 'unit':
        return behind.flatMap((other) => {
          const isTurn = one.language?.isAfter === true && other.is === 'turn' && other.off !== 0;
          return isTurn ? { to: other.to, dates: toTurn(now, one.unit, other.off) } : [];
        });
      case 'weekday':
        return [
          { to: one.to, dates: toWeekdays(now, one.weekday, null) },
          ...behind.flatMap((other) =>
            other.is === 'turn' && other.off !== 0
              ? { to: other.to, dates: toWeekdays(now, one.weekday, other.off) }
              : [],
          ),
        ];
      case 'weekend':
        return {
          ...{ from: words[at]?.isNext === true ? at - 1 : at, to: one.to },
          dates: toWeekends(now),
        };
      case 'season': {
        const ofYear = words[one.to]?.isNext === true && OF.test(words[one.to]?.text ?? '') ? 1 : 0;
        const year = words[one.to + ofYear];
        const isYear = year?.isNext === true && /^\d{4}$/.test(year.text);
        return [
          ...(isYear
            ? [{ to: one.to + ofYear + 1, dates: toMonths(Number(year.text), one.season) }]
            : []),
          ...behind.flatMap((other) =>
            other.is === 'turn' && other.off < 0
              ? { to: other.to, dates: toSeason(now, one.season, { isLast: true }) }
              : [],
          ),
        ];
      }
    }
  });
}

const OF = /^(?:of|de|del|do)$/;

/** `two weeks ago`, `in drei Tagen`. */
function readSpans(
  words: readonly Word[],
  { meant, at, now }: Reading,
): { to: number; from?: number; dates: string[] }[] {
  return SPANS.flatMap(({ language, parts, sign }) => {
    let count: number | null = null;
    let unit: TimeUnit | null = null;
    for (const [index, part] of parts.entries()) {
      const word = words[at + index];
      if (word === undefined || (index > 0 && !word.isNext)) return [];
      if (part === 'N') count = toCount(word.text);
      else if (part === 'U') unit = unitAt(meant[at + index] ?? [], language);
      else if (part !== word.text) return [];
    }
    if (count === null || unit === null) return [];
    return { to: at + parts.length, dates: toDates(now, unit, sign * count) };
  });
}

function unitAt(meant: readonly Found[], language: TimeMeaning['language']): TimeUnit | null {
  const found = meant.find((one) => one.is === 'unit' && one.language === language);
  return found?.is === 'unit' ? found.unit : null;
}

function toCount(word: string): number | null {
  return NUMBER_WORDS.get(word) ?? (/^\d{1,3}$/.test(word) ? Number(word) : null);
}

/** Scripts without spaces: expression, unit, and how far off. */
const UNCASED: readonly (readonly [pattern: RegExp, unit: TimeUnit, off: number])[] = [
  [/前天|一昨日|おととい|그저께/, 'day', -2],
  [/昨天|昨晚|昨日|어제|أمس|אתמול/, 'day', -1],
  [/今天|今晚|今日|오늘|اليوم|היום/, 'day', 0],
  [/明天|明日|내일|غدا|מחר/, 'day', 1],
  [/后天|後天|明後日|모레/, 'day', 2],
  [/上个?(?:星期|周|禮拜|礼拜)|上週|先週|지난\s?주/, 'week', -1],
  [/这(?:个?星期|周)|這週|今週|이번\s?주/, 'week', 0],
  [/下个?(?:星期|周|礼拜)|下週|来週|다음\s?주/, 'week', 1],
  [/上个?月|上個月|先月|지난\s?달/, 'month', -1],
  [/这个?月|這個月|本月|今月|이번\s?달/, 'month', 0],
  [/下个?月|下個月|来月|다음\s?달/, 'month', 1],
  [/去年|昨年|작년/, 'year', -1],
  [/今年|올해/, 'year', 0],
  [/明年|来年|내년/, 'year', 1],
];
const CJK_AGO =
  /([一二两兩三四五六七八九十]|\d{1,3})\s?(天|日|个?星期|周|週間|个?月|個月|か月|ヶ月|年)(前|以前|之前|后|後)/gu;
const CJK_UNITS: readonly (readonly [RegExp, TimeUnit])[] = [
  [/[天日]/, 'day'],
  [/星期|周|週/, 'week'],
  [/月/, 'month'],
];
const CJK_WEEKEND = /周末|週末|주말/;
const CJK_SEASON =
  /(去年|昨年|작년|지난|今年|この|올해|이번)[のに的\s]?(?:([春봄])|(夏|여름)|(秋|가을)|(冬|겨울))/gu;

function toNearest(now: number, month: number, day: number | null): string[] {
  const year = new Date(now).getUTCFullYear();
  const own = toIsoDate(year, month, day);
  return [own, toIsoDate(own <= toDay(now, 0) ? year + 1 : year - 1, month, day)];
}

/** `last month`; nobody says `last day`. */
function toTurn(now: number, unit: TimeUnit, off: number): string[] {
  return unit === 'day' ? [] : toDates(now, unit, off);
}

/** The days of the week that may be meant; `last Friday` may be the one before the last. */
function toWeekdays(now: number, weekday: number, turn: number | null): string[] {
  if (turn === -1) return listDays(now, { from: -14, to: -1, weekdays: [weekday] });
  if (turn === 1) return listDays(now, { from: 1, to: 14, weekdays: [weekday] });
  return listDays(now, { from: -7, to: 7, weekdays: [weekday] });
}

function toWeekends(now: number): string[] {
  return listDays(now, { from: -14, to: 14, weekdays: [0, 6] });
}

function listDays(
  now: number,
  { from, to, weekdays }: { from: number; to: number; weekdays?: readonly number[] },
): string[] {
  const days = Array.from({ length: to - from + 1 }, (_, index) => toDay(now, from + index));
  return days.filter((day) => weekdays?.includes(new Date(day).getUTCDay()) ?? true);
}

/** The months of a season that began in a year, as on the northern half. */
function toMonths(year: number, season: number): string[] {
  return [3, 4, 5].map((month) => {
    const number = month + 3 * season;
    return number > 12 ? toIsoDate(year + 1, number - 12, null) : toIsoDate(year, number, null);
  });
}

/** A season of this year, or the last one that is over. */
function toSeason(now: number, season: number, { isLast }: { isLast: boolean }): string[] {
  const today = toDay(now, 0);
  let year = Number(today.slice(0, 4));
  const isOver = (month: string) => month < today.slice(0, 7);
  while (isLast && !toMonths(year, season).every(isOver)) year -= 1;
  return toMonths(year, season);
}

/** A day; each day of a week; a month; a year with its month near that time. */
function toDates(now: number, unit: TimeUnit, off: number): string[] {
  const date = new Date(now);
  const year = date.getUTCFullYear();
  switch (unit) {
    case 'day':
      return [toDay(now, off)];
    case 'week': {
      // Weeks begin on one day or another.
      const days = listDays(now, { from: off * 7 - 6, to: off * 7 + 6 });
      return days.filter((day) => off >= 0 || day < toDay(now, 0));
    }
    case 'month': {
      const first = new Date(Date.UTC(year, date.getUTCMonth() + off, 1));
      return [toIsoDate(first.getUTCFullYear(), first.getUTCMonth() + 1, null)];
    }
    case 'year': {
      const months =
        Math.abs(off) === 1 ? [] : [toIsoDate(year + off, date.getUTCMonth() + 1, null)];
      return [String(year + off), ...months];
    }
  }
}

function toDay(now: number, off: number): string {
  return new Date(now + off * DAY_MS).toISOString().slice(0, 10);
}
