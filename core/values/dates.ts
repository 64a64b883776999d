import { MONTHS, toMonth } from './calendar.ts';
import { readLanguages } from './language.ts';

export { MONTHS };

/** A day, or a month without one; `year` is `null` where a text names none. */
export interface NamedDate {
  year: number | null;
  /** From 1. */
  month: number;
  day: number | null;
}

/** A date with the place in the text where it stands. */
export interface FoundDate extends NamedDate {
  start: number;
  end: number;
}

/** A word that may be the name of a month: it is looked up, as an expression of all names is slow to compile. */
const NAME = '([\\p{L}\\p{M}]{3,16})';
const ORDINAL = '(?:st|nd|rd|th|er|:?[ae]|[.ºª])?';
const OF = "(?:of |de |del |di |d’|d')?";
const YEAR = `(?:,? ${OF}(\\d{4})(?!\\p{Nd}))?`;
const ISO = /(?<![\p{Nd}-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\p{Nd}-])/gu;
/** `3.3.2026`, `03/03/2026`, `am 3.5.`: the day comes first, as in most countries. */
const NUMERIC = /(?<![\p{Nd}./])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\p{Nd})/gu;
const DAY_AND_MONTH = /(?<![\p{Nd}./])(\d{1,2})\. ?(\d{1,2})\.(?! ?[\p{Nd}])/gu;
const YEAR_FIRST = /(?<![\p{Nd}./])(\d{4})([./])(\d{1,2})\2(\d{1,2})(?!\p{Nd})/gu;
const CJK = /(?:(\d{4}) ?[年년] ?)?(\d{1,2}) ?[月월](?: ?(\d{1,2}) ?[日号號일])?/gu;
/** `3 March 2023`, `3rd of March`, `3. März`, `3 de marzo de 2023`. */
const DAY_FIRST = new RegExp(
  `(?<!\\p{Nd})(\\d{1,2})${ORDINAL} ${OF}${NAME}(?!\\p{L})\\.?${YEAR}`,
  'giu',
);
/** `March 3rd, 2023`, `Mar 3`. */
const MONTH_FIRST = new RegExp(
  `(?<!\\p{L})${NAME}\\.? (\\d{1,2})${ORDINAL}(?![\\p{L}\\p{Nd}])${YEAR}`,
  'giu',
);
/** `March 2023`, `mars 2023`, `marzo de 2023`. */
const MONTH_ALONE = new RegExp(`(?<!\\p{L})${NAME}\\.?,? ${OF}(\\d{4})(?!\\p{Nd})`, 'giu');

type Groups = (string | undefined)[];
type ToMonth = (name: string | undefined) => number;

const FORMS: readonly {
  pattern: RegExp;
  read: (groups: Groups, toNumber: ToMonth) => NamedDate;
}[] = [
  { pattern: ISO, read: ([year, month, day]) => toDate(year, Number(month), day) },
  { pattern: YEAR_FIRST, read: ([year, , month, day]) => toDate(year, Number(month), day) },
  {
    pattern: NUMERIC,
    read: ([day, , month, year]) =>
      Number(month) > 12 ? toDate(year, Number(day), month) : toDate(year, Number(month), day),
  },
  { pattern: DAY_AND_MONTH, read: ([day, month]) => toDate(undefined, Number(month), day) },
  { pattern: CJK, read: ([year, month, day]) => toDate(year, Number(month), day) },
  { pattern: DAY_FIRST, read: ([day, name, year], of) => toDate(year, of(name), day) },
  { pattern: MONTH_FIRST, read: ([name, day, year], of) => toDate(year, of(name), day) },
  { pattern: MONTH_ALONE, read: ([name, year], of) => toDate(year, of(name), undefined) },
];

/**
 * The dates of a text with their places. In English, 3/4/2026 is two dates in one place. Linear in the length of
 * the text.
 *
 * @param languages that the text may be in; the names of months are read in these first. By default those that
 *   the text tells, which are read once a date needs them.
 */
export function findDates(text: string, languages?: readonly string[]): FoundDate[] {
  const found: FoundDate[] = [];
  let known = languages;
  const listLanguages = () => (known ??= readLanguages(text));
  const ofName: ToMonth = (name) => toMonth(name ?? '', listLanguages()) ?? 0;
  const add = (date: NamedDate, { index, 0: whole }: RegExpExecArray) => {
    const isDay = date.day === null || (date.day >= 1 && date.day <= 31);
    if (date.month < 1 || date.month > 12 || !isDay) return;
    found.push({ ...date, start: index, end: index + whole.length });
  };
  for (const { pattern, read } of FORMS) {
    for (const match of text.matchAll(pattern)) {
      const date = read(match.slice(1), ofName);
      add(date, match);
      const { year, month, day } = date;
      const mayBeEither = pattern === NUMERIC && match[2] === '/' && day !== null && day <= 12;
      if (mayBeEither && day !== month && listLanguages().includes('en')) {
        add({ year, month: day, day: month }, match);
      }
    }
  }
  return found;
}

/** A month by its name alone, behind a word that makes it one: `in May`, `seit Oktober`. */
const MONTH_ONLY = new RegExp(
  `(?<=(?<!\\p{L})(?:in|since|until|till|from|by|last|next|this|im|seit|ab|bis|en|depuis|dès|desde|em|dal|da|w|we|od|do|v|в|с|i|sinds|vanaf|tot) )${NAME}(?!\\p{L})(?!\\.?,? (?:${OF})\\d)`,
  'giu',
);

/** Months that are named without a day and a year. */
export function findMonths(text: string): NamedDate[] {
  const matches = [...text.matchAll(MONTH_ONLY)];
  if (matches.length === 0) return [];
  const languages = readLanguages(text);
  return matches.flatMap(([, name = '']) => {
    const month = toMonth(name, languages);
    return month === null ? [] : [toDate(undefined, month, undefined)];
  });
}

/** The dates of a text: as `2023-03-03`, as `3.3.2023`, and in the words of several languages. */
export function listDates(text: string): NamedDate[] {
  return findDates(text).map(({ year, month, day }) => ({ year, month, day }));
}

/** A day as `2023-03-03`, a month as `2023-03`. */
export function toIsoDate(year: number, month: number, day: number | null): string {
  const parts = [String(year).padStart(4, '0'), month, ...(day === null ? [] : [day])];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

function toDate(year: string | undefined, month: number, day: string | undefined): NamedDate {
  return {
    year: year === undefined ? null : Number(year),
    month,
    day: day === undefined ? null : Number(day),
  };
}
