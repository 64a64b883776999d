import { isTime, parseTime, toLocalDay } from '../time/time.ts';
import { listFields, readFrontMatter } from './front-matter.ts';
import { readStructure } from './structure.ts';

/** Until when a file or a line of it is valid, as its text says it. */
export interface ValidUntil {
  /** The line that it is about, from 1; `null` for the whole file. */
  line: number | null;
  /** The line that says it. */
  saidIn: number;
  /** UTF-16 offsets of what it is about, without the line end. */
  start: number;
  end: number;
  /** A day, as `2026-12-31`, or a time of RFC 3339; as it stands, if it is neither. */
  value: string;
}

/** A moment at which memory is looked at, and the zone in which its days end. */
export interface Moment {
  at: number;
  timeZone: string;
}

/** The comment at the end of a line; a comment that pins the line may follow it. */
const MARK =
  /<!--[ \t]{0,20}until:[ \t]{0,20}([^\n\r<>]{0,64}?)[ \t]{0,20}-->(?=[ \t]{0,20}(?:<!--[ \t]{0,20}\/?pin[ \t]{0,20}-->[ \t]{0,20})?(?:[\r\n]|$))/gi;
const FIELD = 'valid_until';
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * What a file says of its end: `valid_until` in its front matter for the file, `<!-- until: … -->` at the
 * end of a line for that line. In code such a comment is an example. Linear in the length of the text.
 */
export function readValidUntil(content: string): ValidUntil[] {
  if (!mayEnd(content)) return [];
  const ends: ValidUntil[] = [];
  const frontMatter = readFrontMatter(content);
  if (frontMatter !== null) {
    const field = [...listFields(frontMatter)].find(
      ({ name, isNested }) => name === FIELD && !isNested,
    );
    if (field !== undefined) {
      const before = content.slice(0, content.toLowerCase().indexOf(FIELD));
      const saidIn = before.split('\n').length;
      ends.push({ line: null, saidIn, start: 0, end: content.length, value: field.value });
    }
  }
  const marks = [...content.matchAll(MARK)].filter(({ index }) => index >= (frontMatter?.end ?? 0));
  if (marks.length === 0) return ends;
  const { lines } = readStructure(content);
  let next = 0;
  for (const { index, 1: value = '' } of marks) {
    while ((lines[next]?.next ?? Infinity) <= index) next += 1;
    const line = lines[next];
    if (line === undefined) break;
    if (line.kind === 'fenced-code' || line.kind === 'indented-code') continue;
    const { number, start, end } = line;
    ends.push({ line: number, saidIn: number, start, end, value });
  }
  return ends;
}

/** Whether a text may say an end at all: most texts don't, and this costs next to nothing. */
function mayEnd(content: string): boolean {
  return /until:/i.test(content);
}

/** A text without the comments that say when its lines end; each line keeps its number. */
export function withoutUntil(content: string): string {
  return mayEnd(content) ? content.replace(MARK, '') : content;
}

/** Whether a value is a day of the calendar, or a time with its zone. One that is neither never passes. */
export function isReadable(value: string): boolean {
  return isTime(DAY.test(value) ? `${value}T00:00:00Z` : value);
}

/** Whether an end has passed: that of a day at the end of the day. */
export function isPast({ value }: Pick<ValidUntil, 'value'>, { at, timeZone }: Moment): boolean {
  if (!isReadable(value)) return false;
  return DAY.test(value) ? toLocalDay(at, timeZone) > value : at >= parseTime(value, FIELD);
}

/** What of a text is no longer valid at a moment. */
export function listExpired(content: string, moment: Moment): ValidUntil[] {
  return readValidUntil(content).filter((end) => isPast(end, moment));
}

/** Lines of a file that have expired, as a read answers them. */
export interface ExpiredLines {
  startLine: number;
  endLine: number;
  /** As the file says it. */
  validUntil: string;
}

/** What has expired of some lines of a file; `undefined` if nothing has. */
export function toExpiredLines(
  content: string,
  moment: Moment,
  { startLine, endLine }: { startLine: number; endLine: number },
): ExpiredLines[] | undefined {
  const expired = listExpired(content, moment);
  if (expired.length === 0) return undefined;
  const last = Math.min(endLine, content.split('\n').length - (content.endsWith('\n') ? 1 : 0));
  const lines = expired
    .map(({ line, value }) => ({
      startLine: line ?? startLine,
      endLine: line ?? last,
      validUntil: value,
    }))
    .filter((one) => one.startLine >= startLine && one.endLine <= endLine);
  return lines.length === 0 ? undefined : lines;
}

/**
 * In place of the characters of a line that is left out, so that all other characters keep their places.
 * It counts as white space; a line of it alone says nothing anyway.
 */
const HIDDEN = '\f';
const HIDDEN_LINE = /^[ \t]*\f+\r?(?:\n|$)/gm;

/**
 * A text whose expired lines are blank, as long as before; `null` if the whole file has expired. What is
 * shown of it goes through {@link dropHidden}.
 */
export function hideExpired(
  content: string,
  moment: Moment,
): { content: string; expired: readonly ValidUntil[] } | null {
  const expired = listExpired(content, moment);
  if (expired.some(({ line }) => line === null)) return null;
  let shown = '';
  let at = 0;
  for (const { start, end } of expired) {
    shown += content.slice(at, start) + HIDDEN.repeat(end - start);
    at = end;
  }
  return { content: shown + content.slice(at), expired };
}

/** Whether lines of a text of {@link hideExpired} are blank, or may be at a later moment. */
export function mayHide(content: string): boolean {
  return content.includes(HIDDEN) || mayEnd(content);
}

/** A part of a text of {@link hideExpired}, without the lines that are left out. */
export function dropHidden(text: string): string {
  if (!text.includes(HIDDEN)) return text;
  const shown = text.replace(HIDDEN_LINE, '');
  // A last line that is left out takes the line end before it along.
  return text.endsWith('\n') ? shown : shown.replace(/\r?\n$/, '');
}
