import { takeStart } from '../encoding/take-text.ts';
import { findDates } from '../values/dates.ts';
import { fold } from '../values/fold.ts';
import { resolveTimes, type ResolvedTimes } from '../values/times.ts';
import { parseInboxLine, withoutStamp } from './inbox-line.ts';
import { missingSpecifics } from './specifics.ts';
import type { LocatedOperation, Row, Workspace } from './workspace.ts';
import { toBare } from './loose-text.ts';

/** A text, and the moment from which its words of time are seen. */
export type DatedText = Pick<Row, 'text' | 'at'>;

/** A line of the inbox without its stamp, which says when it was said and is no part of the fact. */
export function toSaid({ text, at }: DatedText): DatedText {
  const said = parseInboxLine(text);
  return said === null ? { text, at } : { text: withoutStamp(text), at: Date.parse(said.day) };
}

/** The dates that words of time in the lines of an operation mean; in a dated note, seen from its day. */
export function* resolveLines(
  { remove, sources }: LocatedOperation,
  before: Workspace,
): Generator<null, string[]> {
  const dates: string[] = [];
  for (const row of [...remove, ...sources]) {
    yield null;
    dates.push(...phrasesOf(toDated(row, before)).flatMap((phrase) => phrase.dates));
  }
  return dates;
}

/** A line without the words of time that what is left has as a date. */
export function* withoutTimes(
  said: DatedText,
  { left, before, row }: { left: string; before: Workspace; row: Row },
): Generator<null, string> {
  let { text } = said;
  for (const { phrase, dates } of phrasesOf(toDated(row, before))) {
    const at = fold(text).indexOf(phrase);
    const missing = yield* missingSpecifics(dates.join('\n'), left, before.languages);
    if (at !== -1 && missing.length < dates.length && fold(text).length === text.length) {
      text = `${text.slice(0, at)}${text.slice(at + phrase.length)}`;
    }
  }
  return text;
}

function phrasesOf({ text, at }: DatedText): ResolvedTimes['phrases'] {
  return at === null ? [] : resolveTimes(text, new Date(at).toISOString().slice(0, 10)).phrases;
}

function toDated(row: Row, before: Workspace): DatedText {
  const said = toSaid(row);
  return { ...said, at: noteDayOf(row, before) ?? said.at };
}

/** Characters at the beginning of a line in which the date of a note stands. */
const DATE_LENGTH = 20;

/** The day that a line, a heading above it or its file has at its beginning. */
function noteDayOf(row: Row, before: Workspace): number | null {
  const file = row.path.slice(row.path.lastIndexOf('/') + 1).replace(/\.\w+$/, '');
  const own = takeStart(toBare(row.text), DATE_LENGTH);
  for (const place of [own, ...[...before.headingsOf(row)].reverse(), file]) {
    const date = findDates(place).find(
      (one) => one.year !== null && one.day !== null && one.start === 0,
    );
    if (date !== undefined) return Date.UTC(date.year ?? 0, date.month - 1, date.day ?? 1);
  }
  return null;
}
