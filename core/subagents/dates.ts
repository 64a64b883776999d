/** A day, or a month without one; `year` is `null` where a text names none. */
export interface NamedDate {
  year: number | null;
  /** From 1. */
  month: number;
  day: number | null;
}

/** The months by their English names. */
export const MONTHS: readonly string[] = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'],
  ...['September', 'October', 'November', 'December'],
];

// Whole, or cut after three letters.
const MONTH = MONTHS.flatMap((name) => [name, name.slice(0, 3)]).join('|');
const ORDINAL = '(?:st|nd|rd|th)?';
const ISO = /(?<![\p{Nd}-])(\d{4})-(\d{2})-(\d{2})(?![\p{Nd}-])/gu;
/** `3 March 2023`, `3rd of March`. */
const DAY_FIRST = new RegExp(
  `(?<!\\p{Nd})(\\d{1,2})${ORDINAL} (?:of )?(${MONTH})(?!\\p{L})\\.?(?:,? (\\d{4})(?!\\p{Nd}))?`,
  'giu',
);
/** `March 3rd, 2023`, `Mar 3`. */
const MONTH_FIRST = new RegExp(
  `(?<!\\p{L})(${MONTH})\\.? (\\d{1,2})${ORDINAL}(?![\\p{L}\\p{Nd}])(?:,? (\\d{4})(?!\\p{Nd}))?`,
  'giu',
);
/** `March 2023`. */
const MONTH_ALONE = new RegExp(`(?<!\\p{L})(${MONTH})\\.?,? (\\d{4})(?!\\p{Nd})`, 'giu');

/** The dates of a text: as `2023-03-03`, and in English words. Linear in its length. */
export function listDates(text: string): NamedDate[] {
  const dates: NamedDate[] = [];
  const add = (year: string | undefined, month: number, day: string | null) => {
    const date = {
      year: year === undefined ? null : Number(year),
      month,
      day: day === null ? null : Number(day),
    };
    const isDay = date.day === null || (date.day >= 1 && date.day <= 31);
    if (month >= 1 && month <= 12 && isDay) dates.push(date);
  };
  for (const [, year, month, day = ''] of text.matchAll(ISO)) add(year, Number(month), day);
  for (const [, day = '', name, year] of text.matchAll(DAY_FIRST)) add(year, toMonth(name), day);
  for (const [, name, day = '', year] of text.matchAll(MONTH_FIRST)) add(year, toMonth(name), day);
  for (const [, name, year] of text.matchAll(MONTH_ALONE)) add(year, toMonth(name), null);
  return dates;
}

/** A day as `2023-03-03`, a month as `2023-03`. */
export function toIsoDate(year: number, month: number, day: number | null): string {
  const parts = [String(year).padStart(4, '0'), month, ...(day === null ? [] : [day])];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

function toMonth(name: string | undefined): number {
  const start = name?.slice(0, 3).toLowerCase();
  return MONTHS.findIndex((month) => month.toLowerCase().slice(0, 3) === start) + 1;
}
