import type { AppliedEdits } from '../../edits/engine.ts';
import { parseMarkdown } from '../../edits/markdown.ts';
import { readValidUntil } from '../../markdown/valid-until.ts';
import { findDates, type FoundDate, toIsoDate } from '../../values/dates.ts';
import { readLanguages } from '../../values/language.ts';

/** Words that make the date behind them the last day of what is said. */
const UNTIL =
  /(?<!\p{L})(?:until|till|’til|'til|through|bis(?: einschließlich)?(?: zum| zur)?|jusqu['’](?:au|à|en)|hasta(?: el)?|até(?: o| ao)?|fino al?|tot(?: en met)?|t\/m|till och med|t\.o\.m\.|indtil|frem til|aż do|до|по|直到|至|到)\s{0,2}$/iu;
/** The same behind the date. */
const UP_TO = /^\s{0,2}(?:まで|까지|(?:['’]?(?:[aeyıiuü]|y[ae])\s)?kadar)/iu;
/** What begins on a day does not end on it: `not until 12 August`, `erst bis`. */
const NOT =
  /(?<!\p{L})(?:not|never|no|cannot|nicht|kein\p{L}*|erst|ne|pas|no|não|non|niet|geen|inte|ikke|nie|не|değil)(?!\p{L})|n['’]t(?!\p{L})/iu;
/** Characters in front of a date in which a negation counts. */
const BEFORE = 60;

/**
 * The day on which what a line says ends, as `2026-08-12`, if it says so itself: `on leave until 12 August`.
 * `null` for lines that name no end, several, or one that is over by `day`, which is history.
 */
export function findEnd(text: string, day: string): string | null {
  const ends = findDates(text, readLanguages(text)).filter((date) => isEnd(text, date));
  const days = new Set(ends.map((date) => toLastDay(date, day)));
  const [end = null] = days;
  return days.size === 1 && end !== null && end >= day ? end : null;
}

function isEnd(text: string, { start, end }: FoundDate): boolean {
  const before = text.slice(Math.max(0, start - BEFORE), start);
  if (!UNTIL.test(before) && !UP_TO.test(text.slice(end, end + 12))) return false;
  const clause = before.split(/[.;!?]\s/u).at(-1) ?? '';
  return !NOT.test(clause);
}

/** The last day that a date means; without a year, the next one from `day` on. */
function toLastDay({ year, month, day: named }: FoundDate, day: string): string | null {
  const inYear = (of: number) => {
    const last = new Date(Date.UTC(of, month, 0)).getUTCDate();
    return named !== null && named > last ? null : toIsoDate(of, month, named ?? last);
  };
  if (year !== null) return inYear(year);
  const thisYear = Number(day.slice(0, 4));
  const next = inYear(thisYear);
  return next !== null && next >= day ? next : inYear(thisYear + 1);
}

type EditedFile = AppliedEdits['files'][number];

/** Marks new lines that say their end with `<!-- until: … -->`, so that they expire then. */
export function markEnds(file: EditedFile, day: string): EditedFile {
  const known = new Set((file.before ?? '').split('\n'));
  const { lines, ends, isProtected, headings } = parseMarkdown(file.after);
  const marked = new Set(readValidUntil(file.after).map(({ line }) => line));
  const after = lines
    .map((line, at) => {
      const isPlain = isProtected[at] !== true && headings[at] === null;
      const isNew = isPlain && !known.has(line) && !marked.has(at + 1);
      const end = isNew ? findEnd(line, day) : null;
      const text = end === null ? line : `${line.trimEnd()} <!-- until: ${end} -->`;
      return `${text}${ends[at] ?? ''}`;
    })
    .join('');
  return after === file.after ? file : { ...file, after };
}
