import { findDates, toIsoDate } from '../../edits/dates.ts';
import { resolveTimes, toLocalDay } from '../../edits/times.ts';
import { fold } from '../../edits/words.ts';

/** What a question says of time. */
export interface QuestionTime {
  /** Days, months and years, as the beginnings of ISO dates: `2023-05`. */
  dates: readonly string[];
  /** Whether it asks for the newest: `latest`, `zuletzt`, `最近`. */
  isLatest: boolean;
}

const LATEST =
  /(?<!\p{L})(?:latest|newest|most recent|recently|lately|currently|nowadays|neueste\w*|aktuell\w*|derzeit|zuletzt|kurzlich|dernierement|recemment|actuellement|ultimamente|recientemente|actualmente|recentemente|atualmente|attualmente|onlangs|nieuwste|senaste|nyligen|nyeste|ostatnio|obecnie|najnowsz\w*|недавно|сеичас|сейчас|son zamanlarda)(?!\p{L})|最近|最新|目前|现在|現在|최근|현재/u;

/** A year behind a word that makes it one. */
const YEAR =
  /(?<!\p{L})(?:in|during|since|of|year|im|jahr|seit|en|depuis|desde|de|em|nel|dal|w|roku|i|в)\s((?:19|20)\d{2})(?![\p{Nd}-])|((?:19|20)\d{2})\s?[年년]/gu;

/** Spring, summer, autumn and winter; folded. */
const SEASONS = [
  'spring|fruhling|fruhjahr|printemps|primavera|voorjaar|lente|varen|wiosn\\p{L}*|весн\\p{L}*',
  'summer|sommer|ete|verano|estate|verao|zomer|sommaren|lat[oa]|лет[оа]|летом',
  'autumn|fall|herbst|automne|otono|autunno|outono|herfst|hosten|jesien\\p{L}*|осен\\p{L}*',
  'winter|hiver|invierno|inverno|vintern|zim[ayie]|зим\\p{L}*',
];
const LAST =
  'last|past|letzt\\w*|vergangen\\w*|vorig\\w*|derniere?|pasad[oa]|passad[oa]|scors[oa]|afgelopen|forra|zeszl\\w*|ubiegl\\w*|прошл\\p{L}*';
const THIS = 'this|dies\\w*|cet(?:te)?|est[ea]|quest[oa]|deze|denna|t[aey]j?m?|эт\\p{L}*';
const BOUND = '(?![\\p{L}\\p{M}])';
/** `last spring`, `l’été dernier`, `spring 2023`, `summer of 2023`: a season alone is no time. */
const IN_SEASONS = SEASONS.map(
  (names) =>
    new RegExp(
      `(?<!\\p{L})(?:(?:(${LAST})|(${THIS})) (?:${names})${BOUND}|(?:${names}) (?:(${LAST})${BOUND}|(?:of |de |del |do )?(\\d{4})(?!\\p{Nd})))`,
      'gu',
    ),
);

/** The months of the seasons that a folded text names, as on the northern half. */
function namedSeasons(text: string, day: string): string[] {
  return IN_SEASONS.flatMap((pattern, season) =>
    [...text.matchAll(pattern)].flatMap(([, last, now, after, named]) => {
      const isLast = last !== undefined || after !== undefined;
      let year = Number(named ?? day.slice(0, 4));
      // The last one is over: of winter, that began in the year before.
      const isOver = (first: number) =>
        toMonths(first, season).every((month) => month < day.slice(0, 7));
      if (named === undefined && isLast) while (!isOver(year)) year -= 1;
      return now === undefined && !isLast && named === undefined ? [] : toMonths(year, season);
    }),
  );
}

function toMonths(year: number, season: number): string[] {
  return [3, 4, 5].map((month) => {
    const number = month + 3 * season;
    return number > 12 ? toIsoDate(year + 1, number - 12, null) : toIsoDate(year, number, null);
  });
}

/**
 * Reads the expressions of time in a question, seen from a day; `null` where it has none.
 *
 * @param day as `2026-01-31`, where the caller is.
 */
export function readQuestionTime(query: string, day: string): QuestionTime | null {
  const folded = fold(query);
  const dates = [
    ...resolveTimes(query, day).phrases.flatMap((phrase) => phrase.dates),
    ...namedDates(query),
    ...namedSeasons(folded, day),
    ...[...folded.matchAll(YEAR)].map(([, behind, before]) => behind ?? before ?? ''),
  ];
  const isLatest = LATEST.test(folded);
  return dates.length === 0 && !isLatest ? null : { dates: [...new Set(dates)], isLatest };
}

/** Whether a text names one of the dates, or was written on one of them. */
export function isOfTime(
  { dates }: Pick<QuestionTime, 'dates'>,
  { text, at, timeZone }: { text: string; at: number; timeZone: string },
): boolean {
  const own = [toLocalDay(at, timeZone), ...namedDates(text)];
  return own.some((date) => dates.some((wanted) => date.startsWith(wanted)));
}

/** The dates with their years that a text names. */
function namedDates(text: string): string[] {
  return findDates(text).flatMap(({ year, month, day }) =>
    year === null ? [] : [toIsoDate(year, month, day)],
  );
}
