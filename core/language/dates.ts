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

/** The months by their English names. */
export const MONTHS: readonly string[] = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'],
  ...['September', 'October', 'November', 'December'],
];

/** The months from January on, one row a month: English (whole and short), then other languages. */
const MONTH_NAMES: readonly (readonly string[])[] = [
  'january jan januar jänner janvier enero gennaio janeiro januari styczeń stycznia leden ledna ocak ianuarie tammikuu январь января',
  'february feb februar février febrero febbraio fevereiro februari luty lutego únor února şubat februarie helmikuu февраль февраля',
  'march mar märz mars marzo março maart marts marzec marca březen března mart martie maaliskuu март марта',
  'april apr avril abril aprile kwiecień kwietnia duben dubna nisan aprilie huhtikuu апрель апреля',
  'may mai mayo maggio maio mei maj maja květen května mayıs toukokuu май мая',
  'june jun juni juin junio giugno junho czerwiec czerwca červen června haziran iunie kesäkuu июнь июня',
  'july jul juli juillet julio luglio julho lipiec lipca červenec července temmuz iulie heinäkuu июль июля',
  'august aug août agosto augustus augusti sierpień sierpnia srpen srpna ağustos elokuu август августа',
  'september sep septembre septiembre settembre setembro wrzesień września září eylül septembrie syyskuu сентябрь сентября',
  'october oct oktober okt octobre octubre ottobre outubro październik października říjen října ekim octombrie lokakuu октябрь октября',
  'november nov novembre noviembre novembro listopad listopada listopadu kasım noiembrie marraskuu ноябрь ноября',
  'december dec dezember dez décembre diciembre dicembre dezembro grudzień grudnia prosinec prosince aralık decembrie joulukuu декабрь декабря',
].map((row) => row.split(' '));

const MONTH_OF: ReadonlyMap<string, number> = new Map(
  MONTH_NAMES.flatMap((names, index) => names.map((name) => [name, index + 1] as const)),
);
/** A word that may be the name of a month: it is looked up, as an expression of all names is slow to compile. */
const NAME = '(\\p{L}{3,12})';
const ORDINAL = '(?:st|nd|rd|th|er|[.ºª])?';
const OF = "(?:of |de |d’|d')?";
const YEAR = `(?:,? ${OF}(\\d{4})(?!\\p{Nd}))?`;
const ISO = /(?<![\p{Nd}-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\p{Nd}-])/gu;
/** `3.3.2026`, `03/03/2026`: the day comes first, as in most countries. */
const NUMERIC = /(?<![\p{Nd}./])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\p{Nd}])/gu;
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

const FORMS: readonly { pattern: RegExp; read: (groups: (string | undefined)[]) => NamedDate }[] = [
  { pattern: ISO, read: ([year, month, day]) => toDate(year, Number(month), day) },
  {
    pattern: NUMERIC,
    read: ([day, , month, year]) =>
      Number(month) > 12 ? toDate(year, Number(day), month) : toDate(year, Number(month), day),
  },
  { pattern: CJK, read: ([year, month, day]) => toDate(year, Number(month), day) },
  { pattern: DAY_FIRST, read: ([day, name, year]) => toDate(year, toMonth(name), day) },
  { pattern: MONTH_FIRST, read: ([name, day, year]) => toDate(year, toMonth(name), day) },
  { pattern: MONTH_ALONE, read: ([name, year]) => toDate(year, toMonth(name), undefined) },
];

/** The dates of a text with their places. Linear in its length. */
export function findDates(text: string): FoundDate[] {
  const found: FoundDate[] = [];
  for (const { pattern, read } of FORMS) {
    for (const match of text.matchAll(pattern)) {
      const date = read(match.slice(1));
      const isDay = date.day === null || (date.day >= 1 && date.day <= 31);
      if (date.month < 1 || date.month > 12 || !isDay) continue;
      found.push({ ...date, start: match.index, end: match.index + match[0].length });
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
  return [...text.matchAll(MONTH_ONLY)].flatMap(([, name]) => {
    const month = toMonth(name);
    return month === 0 ? [] : [toDate(undefined, month, undefined)];
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

function toMonth(name: string | undefined): number {
  return MONTH_OF.get((name ?? '').toLowerCase()) ?? 0;
}
