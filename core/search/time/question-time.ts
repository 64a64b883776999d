import { findDates, toIsoDate } from '../../values/dates.ts';
import { resolveTimes } from '../../values/times.ts';
import { fold } from '../../values/fold.ts';
import { toLocalDay } from '../../time/time.ts';

/** What a question says of time. */
export interface QuestionTime {
  /** Days, months and years, as the beginnings of ISO dates: `2023-05`. */
  dates: ReadonlySet<string>;
  /** Whether it asks for the newest: `latest`, `zuletzt`, `最近`. */
  isLatest: boolean;
}

const LATEST =
  /(?<!\p{L})(?:latest|newest|most recent|recently|lately|currently|nowadays|neueste\w*|aktuell\w*|derzeit|zuletzt|kurzlich|dernierement|recemment|actuellement|ultimamente|recientemente|actualmente|recentemente|atualmente|attualmente|onlangs|nieuwste|senaste|nyligen|nyeste|ostatnio|obecnie|najnowsz\w*|недавно|сеичас|сейчас|son zamanlarda)(?!\p{L})|最近|最新|目前|现在|現在|최근|현재/u;

/** A year behind a word that makes it one. */
const YEAR =
  /(?<!\p{L})(?:in|during|since|of|year|im|jahr|seit|en|depuis|desde|de|em|nel|dal|w|roku|i|в)\s((?:19|20)\d{2})(?![\p{Nd}-])|((?:19|20)\d{2})\s?[年년]/gu;

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
    ...[...folded.matchAll(YEAR)].map(([, behind, before]) => behind ?? before ?? ''),
  ];
  const isLatest = LATEST.test(folded);
  return dates.length === 0 && !isLatest ? null : { dates: new Set(dates), isLatest };
}

/** Whether a text names one of the dates, or was written on one of them. */
export function isOfTime(
  { dates }: Pick<QuestionTime, 'dates'>,
  { text, at, timeZone }: { text: string; at: number; timeZone: string },
): boolean {
  const own = [toLocalDay(at, timeZone), ...namedDates(text)];
  return own.some(
    (date) => dates.has(date) || dates.has(date.slice(0, 7)) || dates.has(date.slice(0, 4)),
  );
}

/** The dates with their years that a text names. */
function namedDates(text: string): string[] {
  return findDates(text).flatMap(({ year, month, day }) =>
    year === null ? [] : [toIsoDate(year, month, day)],
  );
}
