import { LANGUAGES, UNKNOWN } from './language.ts';
import { fold } from './fold.ts';

/** The months by their English names. */
export const MONTHS: readonly string[] = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'],
  ...['September', 'October', 'November', 'December'],
];

/** Names that `Intl` does not give: abbreviations and cases that notes have all the same. */
const MORE_MONTHS: Readonly<Record<string, string>> = {
  en: '9 sept',
  de: '1 jänner|1 jän|2 feber',
  nl: '3 mrt',
  pt: '',
  ru: '5 мае|3 марте|10 октябре',
  sv: '',
};

/** Names by which the days of the week are known as well, from Sunday on. */
const MORE_WEEKDAYS: Readonly<Record<string, string>> = {
  en: '2 tues|4 thur|4 thurs',
  de: '6 sonnabend',
  pt: '1 segunda|2 terca|3 quarta|4 quinta|5 sexta',
  pl: '1 pon|2 wt|3 sr|4 czw|5 pt|0 niedz|3 srode|0 niedziele|6 sobote',
  ru: '3 среду|5 пятницу|6 субботу',
};

/** The names of one language: folded, each with its number. */
interface Names {
  months: ReadonlyMap<string, number>;
  weekdays: ReadonlyMap<string, number>;
  /** Abbreviations of days, which may be common words as well. */
  shortWeekdays: ReadonlyMap<string, number>;
}

const KNOWN = new Map<string, Names>();

function namesOf(language: string): Names {
  let names = KNOWN.get(language);
  if (names === undefined) KNOWN.set(language, (names = makeNames(language)));
  return names;
}

const NONE: ReadonlyMap<string, number> = new Map();
const DAY_MS = 24 * 60 * 60 * 1000;
/** A Sunday. */
const SUNDAY = Date.UTC(2026, 0, 4);

function makeNames(language: string): Names {
  if (language === UNKNOWN) return { months: NONE, weekdays: NONE, shortWeekdays: NONE };
  const months = new Map<string, number>();
  const weekdays = new Map<string, number>();
  const shortWeekdays = new Map<string, number>();
  const add = (table: Map<string, number>, name: string, value: number) => {
    const key = toKey(name);
    if (key.length > 1 && !/\d/.test(key) && !table.has(key)) table.set(key, value);
  };
  const toFormat = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC', calendar: 'gregory' });
  const partOf = (format: Intl.DateTimeFormat, time: number, type: string) =>
    format.formatToParts(time).find((part) => part.type === type)?.value ?? '';
  for (const form of ['long', 'short'] as const) {
    // Some languages have another form of the name beside a day: `styczeń`, but `1 stycznia`.
    for (const format of [{ month: form }, { month: form, day: 'numeric' } as const].map(
      toFormat,
    )) {
      for (let month = 0; month < 12; month += 1) {
        add(months, partOf(format, Date.UTC(2026, month, 5), 'month'), month + 1);
      }
    }
    const format = toFormat({ weekday: form });
    const table = form === 'long' ? weekdays : shortWeekdays;
    for (let day = 0; day < 7; day += 1) {
      add(table, partOf(format, SUNDAY + day * DAY_MS, 'weekday'), day);
    }
  }
  addMore(MORE_MONTHS[language], (name, value) => add(months, name, value));
  addMore(MORE_WEEKDAYS[language], (name, value) =>
    add(name.length > 4 ? weekdays : shortWeekdays, name, value),
  );
  return { months, weekdays, shortWeekdays };
}

function addMore(rows: string | undefined, add: (name: string, value: number) => void): void {
  for (const row of (rows ?? '').split('|').filter((one) => one !== '')) {
    const [value = '', name = ''] = row.split(' ');
    add(name, Number(value));
  }
}

function toKey(name: string): string {
  return fold(name)
    .replace(/[.'’]/gu, '')
    .replace(/-feira$/u, '');
}

/** A shorter name is a common word somewhere. */
const LEAST_ANYWHERE = 5;

/** The names that only one month has in all languages together, for text of a language that is not known. */
let anywhere: ReadonlyMap<string, number | null> | null = null;

function monthsAnywhere(): ReadonlyMap<string, number | null> {
  if (anywhere !== null) return anywhere;
  const all = new Map<string, number | null>();
  for (const language of LANGUAGES) {
    for (const [name, month] of namesOf(language).months) {
      if (name.length < LEAST_ANYWHERE) continue;
      all.set(name, (all.get(name) ?? month) === month ? month : null);
    }
  }
  return (anywhere = all);
}

/** The month that a word names, from 1: in these languages, else in any one; `null` for other words. */
export function toMonth(word: string, languages: readonly string[]): number | null {
  const key = toKey(word);
  // English names are known everywhere.
  for (const language of [...languages, 'en']) {
    const month = namesOf(language).months.get(key);
    if (month !== undefined) return month;
  }
  return monthsAnywhere().get(key) ?? null;
}

/** A day of the week that a text names. */
interface FoundWeekday {
  text: string;
  /** From Sunday on. */
  weekday: number;
  start: number;
  end: number;
}

const UNCASED =
  /(?:星期|周|週|礼拜|禮拜)([日天一二三四五六1-6])(?!\p{Nd})|([日月火水木金土])曜日?|([일월화수목금토])요일/gu;
/** What stands in front of the abbreviation of a day. */
const BEFORE_SHORT =
  /(?:^|[\s(])(?:on|every|each|am|jeden|bis|le|el|los|il|op|elke|pa|varje|hver|i|w|co|we|в|во|по|с|и|[-–/,:&(]|and|und|to)\s?$/iu;

/** The days of the week in a text, by their names and abbreviations. */
export function findWeekdays(text: string, languages: readonly string[]): FoundWeekday[] {
  const words = [...text.matchAll(/[\p{L}\p{M}]+(?:-feira)?/gu)];
  const found: FoundWeekday[] = [];
  words.forEach(({ 0: word, index }, at) => {
    const end = index + word.length;
    const weekday =
      toWeekday(word, languages) ?? (isShortName(at) ? toShort(word, languages) : null);
    if (weekday !== null) found.push({ text: word, weekday, start: index, end });
  });
  for (const { 0: whole, 1: chinese, 2: japanese, 3: korean, index } of text.matchAll(UNCASED)) {
    const weekday =
      chinese === undefined
        ? japanese === undefined
          ? '일월화수목금토'.indexOf(korean ?? '')
          : '日月火水木金土'.indexOf(japanese)
        : Math.max('日一二三四五六'.indexOf(chinese), '0123456'.indexOf(chinese), 0);
    found.push({ text: whole, weekday, start: index, end: index + whole.length });
  }
  return found;

  /** Whether an abbreviation is one, and no common word: it has a point, or stands where a day does. */
  function isShortName(at: number): boolean {
    const word = words[at]?.[0] ?? '';
    const index = words[at]?.index ?? 0;
    const behind = text.slice(index + word.length, index + word.length + 3);
    if (/^\.(?=[\s,;)]|$)/u.test(behind)) return word.length < 6;
    const isSide = (other: RegExpExecArray | undefined) =>
      other !== undefined && toShort(other[0], languages) !== null;
    const isPaired =
      (/^\s?[/,–&+-]\s?$|^ (?:and|und|et|y|e|en|och|i|to|bis) $/u.test(between(at)) &&
        isSide(words[at + 1])) ||
      (/^\s?[/,–&+-]\s?$/u.test(between(at - 1)) && isSide(words[at - 1]));
    if (isPaired) return true;
    const isCapital = /^\p{Lu}/u.test(word);
    const isCased = languages.some((one) => one === 'en' || one === 'de');
    return (
      (isCapital || !isCased) && BEFORE_SHORT.test(fold(text.slice(Math.max(0, index - 8), index)))
    );
  }

  function between(at: number): string {
    const [one, next] = [words[at], words[at + 1]];
    return one === undefined || next === undefined
      ? ''
      : text.slice(one.index + one[0].length, next.index);
  }
}

function toShort(word: string, languages: readonly string[]): number | null {
  const key = toKey(word);
  for (const language of languages) {
    const found = namesOf(language).shortWeekdays.get(key);
    if (found !== undefined) return found;
  }
  return null;
}

/** A name, or one with the ending of a case, a plural or "every": `Thursdays`, `donnerstags`, `в среду`. */
function toWeekday(word: string, languages: readonly string[]): number | null {
  const key = toKey(word);
  if (key.length < 3) return null;
  for (const language of languages) {
    const { weekdays } = namesOf(language);
    const cut = key.slice(0, -1);
    for (const form of [key, cut, `${cut}a`, `${cut}а`]) {
      const found = weekdays.get(form);
      if (found !== undefined) return found;
    }
  }
  return null;
}
