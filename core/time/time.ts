import { invalidField } from '../errors.ts';

/** RFC 3339 in UTC with milliseconds: `2026-01-31T09:30:00.000Z`. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** `toTime`, or `null` for what never happened. */
export function toTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : toTime(ms);
}

// The offset is required; fractions beyond the millisecond are cut off.
const RFC_3339 = /^(\d{4}-\d{2}-(\d{2}))T(\d{2}):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

/**
 * Milliseconds of an RFC 3339 time; throws `INVALID_REQUEST` that names the field. Leap seconds are
 * refused: milliseconds since 1970 have none.
 */
export function parseTime(text: string, field: string): number {
  const ms = readTime(text);
  if (Number.isFinite(ms)) return ms;
  throw invalidField(`/${field}`, 'must be a time like 2026-01-31T09:30:00.000Z', field);
}

/** Whether a text is a time that {@link parseTime} takes. */
export function isTime(text: string): boolean {
  return Number.isFinite(readTime(text));
}

/** {@link parseTime} for a filter that may be absent. */
export function parseTimeOrNull(text: string | undefined, field: string): number | null {
  return text === undefined ? null : parseTime(text, field);
}

/** `NaN` for what is no time. */
function readTime(text: string): number {
  const [, date, day, hour] = RFC_3339.exec(text) ?? [];
  // Date.parse reads 30 February as 2 March, and 24:00 as the next day.
  if (date === undefined || hour === '24') return Number.NaN;
  if (new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return Number.NaN;
  return Date.parse(text);
}

// Kept because every find needs the day, and creating a format takes 0.1 ms. Most calls use the same
// time zone.
let lastDayFormat: { timeZone: string; format: Intl.DateTimeFormat } | null = null;

/** The day that a moment is on in a time zone, as `2026-01-31`. */
export function toLocalDay(at: number, timeZone: string): string {
  if (lastDayFormat?.timeZone !== timeZone) {
    const format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    lastDayFormat = { timeZone, format };
  }
  const parts = lastDayFormat.format.formatToParts(at);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

/** No day is longer, also where clocks go back. */
const LONGEST_DAY_MS = 27 * 3_600_000;
/** Offsets of time zones are multiples of it. */
const OFFSET_MS = 15 * 60_000;

/** The moment at which the day of `at` begins in a time zone: midnight, or the first moment after it. */
function startOfLocalDay(at: number, timeZone: string): number {
  const day = toLocalDay(at, timeZone);
  let isBefore = Math.floor((at - LONGEST_DAY_MS) / OFFSET_MS);
  let isIn = Math.ceil(at / OFFSET_MS);
  while (isIn - isBefore > 1) {
    const middle = Math.floor((isBefore + isIn) / 2);
    if (toLocalDay(middle * OFFSET_MS, timeZone) < day) isBefore = middle;
    else isIn = middle;
  }
  return isIn * OFFSET_MS;
}

/** The starts of the days of a time zone, from the one of `since` on to the first at or after `until`. */
export function startsOfLocalDays(since: number, until: number, timeZone: string): number[] {
  const starts = [startOfLocalDay(since, timeZone)];
  for (let last = starts[0] as number; last < until; starts.push(last)) {
    last = startOfLocalDay(last + LONGEST_DAY_MS, timeZone);
  }
  return starts;
}

/** The English name of a day's weekday. */
export function toWeekday(day: string): string {
  const format = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' });
  return format.format(Date.parse(`${day}T00:00:00Z`));
}

/** Of the time zone that was asked for last: to make one takes longer than all the rest. */
let lastTimeFormat: { timeZone: string; format: Intl.DateTimeFormat } | null = null;

/** The time of day of a moment in a time zone, as `03:30`. */
export function toTimeOfDay(at: number, timeZone: string): string {
  if (lastTimeFormat?.timeZone !== timeZone) {
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    lastTimeFormat = { timeZone, format };
  }
  return lastTimeFormat.format.format(at);
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The day of a time in UTC, in days since 1970. */
export function toUtcDay(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
