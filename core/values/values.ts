import { takeStart } from '../encoding/take-text.ts';
import { findWeekdays } from './calendar.ts';
import { findTimes } from './clock.ts';
import { findDates, type NamedDate } from './dates.ts';
import type { PartOfDay } from './day-parts.ts';
import { toDigits } from './digits.ts';
import { UNKNOWN } from './language.ts';
import { readUnit, readUnitBefore } from './units.ts';

/** A number, an amount with its currency or in per cent, a date or day of the week, or a time of day. */
export interface Value {
  kind: 'number' | 'amount' | 'date' | 'time';
  /** As it stands in the text, with its numbers in digits. */
  text: string;
  /** Each form in which it may be read; two values are the same if they share one. */
  keys: readonly string[];
  /** Keys by which the value is found where it stands in another form: `5 kg` has the number 5. */
  alsoKnownBy: readonly string[];
}

/** What a text says in values. */
export interface ReadValues {
  values: Value[];
  /** The parts of the day that belong to no time: `in the evening`. */
  dayParts: PartOfDay[];
  /** The text without its values, and its other numbers in digits; as long as what was read. */
  rest: string;
}

/**
 * Reads the values of a text: numbers in digits and in words, with local marks of thousands and decimals,
 * amounts of money, per cent and units, dates and days of the week, times of day. By value, whatever the form
 * or language: `half past seven` is 7:30, `mille deux cents` is 1200.
 *
 * Number words are read in the given languages alone. Linear in the length of the text.
 */
export function readValues(text: string, mayBe: readonly string[]): ReadValues {
  const languages = mayBe.filter((one) => one !== UNKNOWN);
  const values: Value[] = [];
  let rest = toDigits(text.normalize('NFC'), languages);
  const add = (
    kind: Value['kind'],
    place: Place,
    keys: readonly string[],
    known: readonly string[] = [],
  ) =>
    values.push({
      kind,
      text: rest.slice(place.start, place.end).trim(),
      keys,
      alsoKnownBy: known,
    });
  const dates = findDates(rest, languages).sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  for (const date of dates) {
    const isOther = date.start < end;
    const last = values.at(-1);
    const keys = toDateKeys(date);
    if (!isOther) add('date', date, keys.slice(0, 1), keys.slice(1));
    else if (
      last !== undefined &&
      dates.some((one) => one !== date && one.start === date.start && one.end === date.end)
    ) {
      values[values.length - 1] = { ...last, keys: [...last.keys, ...keys.slice(0, 1)] };
    }
    end = Math.max(end, date.end);
  }
  rest = blankOut(rest, dates);
  const { times, parts } = findTimes(rest, languages);
  for (const time of times) {
    const { hour, minute, isWeak } = time;
    const key = `t:${hour}:${String(minute).padStart(2, '0')}`;
    // `at 7` may be a time or a number.
    add('time', time, isWeak ? [`n:${hour}`, key] : [key]);
  }
  rest = blankOut(rest, times);
  const weekdays = findWeekdays(rest, languages);
  for (const weekday of weekdays) add('date', weekday, [`day:${weekday.weekday}`]);
  rest = blankOut(rest, weekdays);
  return { values, dayParts: parts, rest: readNumbers(rest, mayBe, add) };
}

interface Place {
  start: number;
  end: number;
}

/** A text with spaces in place of some parts, which may overlap. */
export function blankOut(text: string, parts: readonly Place[]): string {
  const rest: string[] = [];
  let at = 0;
  for (const { start, end } of parts.toSorted((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    rest.push(text.slice(at, Math.max(at, start)), ' '.repeat(end - Math.max(at, start)));
    at = end;
  }
  return rest.join('') + text.slice(at);
}

/** A date in each form in which another text may say it, the most precise first. */
function toDateKeys({ year, month, day }: NamedDate): string[] {
  const full = [year, month, day];
  const parts = [full, [year, month, null], [null, month, day], [null, month, null]];
  const keys = parts
    .filter((part) => part.every((value, index) => value === null || full[index] !== null))
    .map((part) => `d:${part.map((value) => value ?? '').join('-')}`);
  return [...new Set([...keys, ...(year === null ? [] : [`n:${year}`])])];
}

/** Digits with what telephone numbers have between them. */
const PHONE =
  /(?<![\p{Script=Latin}\p{Nd}])\+?\(?\d{1,5}\)?(?:[ ./-]\(?\d{1,9}\)?){1,7}(?![\p{L}\p{Nd}])/gu;
/** Thousands with spaces between them, and numbers with points, commas and apostrophes. */
const PLAIN =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}.,:/_-])(?:[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,3})?|\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d{1,3})?|\d{1,15}(?:[.,]\d{1,6})?)(?![\p{Nd}]|[.,:/_]\p{Nd})/gu;
/** Another word with a digit in it: `A380`, `1.2.3`, `3rd`. */
const MIXED =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}])[\p{Script=Latin}\p{Script=Cyrillic}]{0,20}\p{Nd}[\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}]{0,30}(?:[.,:_/'’+-][\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}]{1,30}){0,8}/gu;
/** Characters behind a number in which its unit stands. */
const BEHIND = 40;
/** Two years, or two numbers of a range, are no telephone number. */
const RANGE = /^\d{1,4}[-/]\d{1,4}$/;

function readNumbers(
  text: string,
  mayBe: readonly string[],
  add: (
    kind: Value['kind'],
    place: Place,
    keys: readonly string[],
    known?: readonly string[],
  ) => void,
): string {
  const languages = mayBe.filter((one) => one !== UNKNOWN);
  let rest = text;
  const phones: Place[] = [];
  for (const { 0: token, index } of rest.matchAll(PHONE)) {
    const digits = token.replace(/\D/g, '');
    const isGrouped = /^[1-9]\d{0,2}(?: \d{3})+$/.test(token);
    if (digits.length < 7 || RANGE.test(token) || isGrouped) continue;
    const place = { start: index, end: index + token.length };
    add('number', place, [`n:${digits}`]);
    phones.push(place);
  }
  rest = blankOut(rest, phones);
  const numbers: Place[] = [];
  for (const { 0: token, index } of rest.matchAll(PLAIN)) {
    const behind = takeStart(rest.slice(index + token.length), BEHIND);
    // `3rd`, `2a`, `5th`: the word is read as a whole.
    if (/^(?:st|nd|rd|th|er|ème|º|ª)(?!\p{L})/u.test(behind)) {
      const ordinal = /^\p{L}+|[ºª]/u.exec(behind)?.[0].length ?? 0;
      const place = { start: index, end: index + token.length + ordinal };
      add('number', place, [`n:${token}`]);
      numbers.push(place);
      continue;
    }
    const factor = /^ ?([km])(?![\p{L}\p{M}²])/iu.exec(behind);
    const before = readUnitBefore(rest.slice(Math.max(0, index - 8), index), languages);
    const kilo =
      factor !== null &&
      (before !== null ||
        readUnit(behind.slice(factor[0].length), languages)?.unit.kind === 'amount' ||
        /k/i.test(factor[1] ?? ''))
        ? factor
        : null;
    const by = kilo === null ? 1 : /m/i.test(kilo[1] ?? '') ? 1e6 : 1e3;
    const after = readUnit(behind.slice(kilo?.[0].length ?? 0), languages);
    const unit = before ?? after;
    const isAttached = /^\p{L}/u.test(behind) && unit === null && kilo === null;
    if (
      isAttached &&
      !/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Arabic}]/u.test(
        behind,
      )
    )
      continue;
    const readings = toReadings(token, { factor: by, languages: mayBe });
    const place = {
      start: index - (before?.length ?? 0),
      end:
        index +
        token.length +
        (kilo?.[0].length ?? 0) +
        (before === null ? (after?.length ?? 0) : 0),
    };
    const plain = readings.map((number) => `n:${number}`);
    if (unit === null) add('number', place, plain);
    else {
      const sign = unit.unit.kind === 'amount' ? 'c' : 'u';
      const keys = unit.unit.keys.flatMap((key) =>
        readings.map((number) => `${sign}:${key}:${number}`),
      );
      add(unit.unit.kind === 'amount' ? 'amount' : 'number', place, keys, plain);
    }
    numbers.push(place);
  }
  rest = blankOut(rest, numbers);
  const mixed: Place[] = [];
  for (const { 0: token, index } of rest.matchAll(MIXED)) {
    const place = { start: index, end: index + token.length };
    add('number', place, [`n:${token.toLowerCase()}`]);
    mixed.push(place);
  }
  return blankOut(rest, mixed);
}

/** Languages that write a point between thousands and a comma before decimals, and those that do the reverse. */
const POINTED = new Set('de fr es it pt nl pl sv da nb cs tr fi hu ro id ru uk el vi'.split(' '));
const COMMAED = new Set('en ja zh ko he hi th'.split(' '));

/** The values that a number may have; where the languages do not tell thousands from decimals, both. */
function toReadings(
  token: string,
  { factor, languages }: { factor: number; languages: readonly string[] },
): string[] {
  const plain = token.replace(/['’\u00a0\u202f ]/gu, '');
  const mayBePointed = languages.some((one) => !COMMAED.has(one));
  const mayBeCommaed = languages.some((one) => !POINTED.has(one));
  const readings: number[] = [];
  const single = /^(\d{1,3})([.,])(\d{3})$/.exec(plain);
  if (single !== null) {
    const [, head = '', sign, tail = ''] = single;
    const isThousands = head !== '0' && (sign === '.' ? mayBePointed : mayBeCommaed);
    const isDecimal = sign === '.' ? mayBeCommaed || head === '0' : mayBePointed || head === '0';
    if (isThousands) readings.push(Number(head + tail));
    if (isDecimal) readings.push(Number(`${head}.${tail}`));
  } else if (/^\d{1,3}([.,])\d{3}(?:\1\d{3})+$/.test(plain)) {
    readings.push(Number(plain.replace(/[.,]/g, '')));
  } else {
    const mixed = /^(\d{1,3}(?:[.,]\d{3})+)[.,](\d{1,3})$/.exec(plain);
    if (mixed !== null) readings.push(Number(`${mixed[1]?.replace(/[.,]/g, '')}.${mixed[2]}`));
    else if (/^\d+[.,]\d+$/.test(plain)) readings.push(Number(plain.replace(',', '.')));
    else if (/^\d{1,15}$/.test(plain)) readings.push(Number(plain));
  }
  if (readings.length === 0) return [plain.toLowerCase()];
  return readings.map((number) => String(Math.round(number * factor * 1e6) / 1e6));
}
