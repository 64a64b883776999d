import { listDates, MONTHS, type NamedDate, toIsoDate } from '../dates.ts';
import { NUMBER_WORDS } from '../evidence.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const DAY_WORD = /\b(?:yesterday|today|tonight|tomorrow)\b/g;
const WEEKDAY = /\b(?:sun|mon|tues|wednes|thurs|fri|satur)day\b|\bweekend\b/g;
const WEEK = /\b(last|past|this|next)\sweek\b/g;
const SPAN = /\b(last|past|this|next)\s(month|year)\b/g;
const LATELY = /\b(?:recently|lately|the other day)\b/;
const CLOCK = /\b(half past|quarter past|quarter to)\s([a-z]{3,6}|\d{1,2})\b/g;
const AGO = /\b([a-z]{1,6}|\d{1,3})\s(day|week|month|year)s?\sago\b/g;
const AHEAD = /\bin\s([a-z]{1,6}|\d{1,3})\s(day|week|month|year)s?\b/g;

/**
 * The dates that a fact means by words of time, such as `yesterday`, `last Friday`, `next month`,
 * `two years ago` or `May 16`, seen from today, and today itself: a line that holds for longer says
 * them as dates. In the forms `2023-05-20`, `2023-05`, `May` and `2023`, and times of the day as
 * `19:30`; where a word can mean one of several days, all of them. English alone: other languages
 * keep the words of the fact.
 *
 * @param today as `2026-01-31`.
 */
export function timesOf(fact: string, today: string): string {
  const now = Date.parse(`${today}T00:00:00Z`);
  const text = fact.toLowerCase();
  const times = [toDay(now), ...toMonth(now, 0)];
  for (const [word] of text.matchAll(DAY_WORD)) {
    times.push(toDay(now + (word === 'yesterday' ? -1 : word === 'tomorrow' ? 1 : 0) * DAY_MS));
  }
  for (const [word] of text.matchAll(WEEKDAY)) {
    const days = word === 'weekend' ? [0, 6] : [WEEKDAYS.indexOf(word)];
    // Up to a fortnight off: `last Friday` may be the one before the last.
    for (let off = -14; off <= 14; off += 1) {
      const at = now + off * DAY_MS;
      if (days.includes(new Date(at).getUTCDay())) times.push(toDay(at));
    }
  }
  for (const [, word] of text.matchAll(WEEK)) {
    // Weeks begin on one day or another.
    const [first, last] = word === 'next' ? [1, 14] : word === 'this' ? [-6, 6] : [-14, -1];
    for (let off = first; off <= last; off += 1) times.push(toDay(now + off * DAY_MS));
  }
  if (LATELY.test(text)) times.push(...toMonth(now, -1));
  for (const [, word, unit] of text.matchAll(SPAN)) {
    const off = word === 'next' ? 1 : word === 'this' ? 0 : -1;
    times.push(...toUnit(now, off, unit));
  }
  for (const [pattern, sign] of [
    [AGO, -1],
    [AHEAD, 1],
  ] as const) {
    for (const [, count = '', unit] of text.matchAll(pattern)) {
      const number = count === 'a' || count === 'an' ? 1 : (NUMBER_WORDS.get(count) ?? +count);
      if (Number.isInteger(number)) times.push(...toUnit(now, sign * number, unit));
    }
  }
  times.push(...listDates(fact).flatMap((date) => toDays(date, now)));
  for (const [, words = '', count = ''] of text.matchAll(CLOCK))
    times.push(...toTimes(words, count));
  return times.join('\n');
}

/** A day without its year: the last one, and the next one. */
function toDays({ year, month, day }: NamedDate, now: number): string[] {
  if (year !== null || day === null) return [];
  const today = new Date(now).toISOString().slice(0, 10);
  const thisYear = new Date(now).getUTCFullYear();
  const own = toIsoDate(thisYear, month, day);
  return [own, toIsoDate(own <= today ? thisYear + 1 : thisYear - 1, month, day)];
}

/** `half past seven` in the morning and in the evening. */
function toTimes(words: string, count: string): string[] {
  const said = NUMBER_WORDS.get(count) ?? Number(count);
  if (!Number.isInteger(said)) return [];
  const minutes = { 'half past': '30', 'quarter past': '15', 'quarter to': '45' }[words] ?? '00';
  const hour = words === 'quarter to' ? said + 11 : said;
  return [hour % 12, (hour % 12) + 12].flatMap((it) => [
    `${it}:${minutes}`,
    `${String(it).padStart(2, '0')}:${minutes}`,
  ]);
}

function toUnit(now: number, off: number, unit: string | undefined): string[] {
  switch (unit) {
    case 'day':
      return [toDay(now + off * DAY_MS)];
    case 'week':
      return [toDay(now + off * 7 * DAY_MS)];
    case 'month':
      return toMonth(now, off);
    default:
      return [String(new Date(now).getUTCFullYear() + off)];
  }
}

/** `2023-05-20`, with the name of its month. */
function toDay(at: number): string {
  const date = new Date(at);
  return `${date.toISOString().slice(0, 10)} ${MONTHS[date.getUTCMonth()]}`;
}

/** `2023-05`, and its name and year apart. */
function toMonth(now: number, off: number): string[] {
  const date = new Date(now);
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + off, 1));
  const iso = first.toISOString().slice(0, 7);
  return [iso, `${MONTHS[first.getUTCMonth()]} ${first.getUTCFullYear()}`];
}
