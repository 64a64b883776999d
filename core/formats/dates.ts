const ISO =
  /^(\d{4})-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?)?$/i;
/** As JavaScript and mail write a date: the month in letters, so day and month can't be mixed up. */
const IN_WORDS =
  /^(?:[a-z]{3,9},?\s+)?(?:\d{1,2}\s+[a-z]{3,9}|[a-z]{3,9}\s+\d{1,2}),?\s+\d{4}(?:,?\s+\d\d:\d\d(?::\d\d)?)?/i;
const ZONE = /(?:GMT|UTC|Z|[+-]\d{4})(?:\s*\([^)]*\))?$/i;

const MINUTE = 60_000;

/**
 * Milliseconds since 1970 of a date as other programs write one: ISO 8601 with or without an offset (UTC
 * then), a date in English words, or seconds, milliseconds, microseconds or nanoseconds since 1970.
 * `NaN` for all else, also for `01/02/2026`, of which nobody knows the month.
 */
export function parseDate(value: unknown): number {
  if (typeof value === 'number') return parseNumber(value);
  if (typeof value === 'object' && value !== null && '$date' in value) {
    // MongoDB's. Its own value is never such an object again.
    return typeof value.$date === 'object' ? Number.NaN : parseDate(value.$date);
  }
  if (typeof value !== 'string') return Number.NaN;
  const text = value.trim();
  if (text.length > 100) return Number.NaN;
  if (/^\d{9,19}(?:\.\d+)?$/.test(text)) return parseNumber(Number(text));
  if (IN_WORDS.test(text)) return Date.parse(ZONE.test(text) ? text : `${text} UTC`);
  const [
    ,
    year,
    month,
    day = '01',
    hour = '00',
    minute = '00',
    second = '00',
    fraction = '',
    zone,
  ] = ISO.exec(text) ?? [];
  if (year === undefined || month === undefined) return Number.NaN;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return Number.NaN;
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute));
  // Date.UTC reads 30 February as 2 March.
  const written = new Date(at);
  if (written.getUTCMonth() !== Number(month) - 1 || written.getUTCDate() !== Number(day)) {
    return Number.NaN;
  }
  const seconds = Math.min(Number(second), 59) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  return at + seconds - offsetOf(zone) * MINUTE;
}

/** Minutes ahead of UTC. */
function offsetOf(zone = ''): number {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Each unit is a thousand times the next: from 1973 to 5138, so that no number has two readings. */
function parseNumber(value: number): number {
  if (!Number.isFinite(value) || value < 1e8) return Number.NaN;
  if (value < 1e11) return Math.round(value * 1e3);
  if (value < 1e14) return value;
  if (value < 1e17) return Math.floor(value / 1e3);
  return value < 1e20 ? Math.floor(value / 1e6) : Number.NaN;
}

/** `2026-01-31` in UTC; `null` for what is no date of the years 1000 to 9999. */
export function toDay(ms: number): string | null {
  const date = new Date(ms);
  const year = date.getUTCFullYear();
  return year >= 1000 && year <= 9999 ? date.toISOString().slice(0, 10) : null;
}
