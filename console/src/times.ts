/** The time zone of displayed times. */
export type Zone = 'local' | 'utc';

const TO_THE_SECOND = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const;

/** `21 Nov 2026, 16:25:47`, to the second. */
export const formatTime = formatterOf(TO_THE_SECOND);

/** `21 Nov 2026, 16:25:47 GMT+9`: {@link formatTime} with the zone. */
export const formatFullTime = formatterOf({ ...TO_THE_SECOND, timeZoneName: 'short' });

/** `21 Nov 2026, 16:25`, to the minute. */
export const formatMinutes = formatterOf({
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** `21 Nov 2026`. */
export const formatDay = formatterOf({ day: 'numeric', month: 'short', year: 'numeric' });

/** `16:25:47.120`, to the millisecond. */
export const formatClock = formatterOf({
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** `16:25:47`. */
export const formatSeconds = formatterOf({
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** `20 Nov, 16:25:47`: a clock of another day. */
export const formatDayClock = formatterOf({
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** Keeps the formatter of each zone: making one takes fifty times as long as using it. */
function formatterOf(options: Intl.DateTimeFormatOptions): (time: string, zone: Zone) => string {
  const formats: Partial<Record<Zone, Intl.DateTimeFormat>> = {};
  return (time, zone) => {
    formats[zone] ??= new Intl.DateTimeFormat('en-GB', {
      ...options,
      ...(zone === 'utc' ? { timeZone: 'UTC' } : {}),
    });
    return formats[zone].format(new Date(time));
  };
}

/** A message of the service with its times as {@link formatTime} writes them. */
export function formatTimesIn(message: string, zone: Zone): string {
  return message.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) =>
    formatTime(time, zone),
  );
}

const STEPS: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

const AGES = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** `3 hours ago`, as seen at `now` (milliseconds since 1970). */
export function formatAge(time: string, now: number): string {
  const elapsed = Date.parse(time) - now;
  for (const [unit, ms] of STEPS) {
    if (Math.abs(elapsed) >= ms) return AGES.format(Math.trunc(elapsed / ms), unit);
  }
  return Math.abs(elapsed) < 5_000 ? 'just now' : AGES.format(Math.trunc(elapsed / 1000), 'second');
}

/** `1.2 ms`, `340 ms`, `2.1 s`. */
export function formatDuration(ms: number): string {
  if (ms < 0.05) return '< 0.1 ms';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** `512 B`, `3.4 KB`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** When the day ends that begins at a time, in the zone of displayed times. */
export function endOfDay(at: string, zone: Zone): string {
  const end = new Date(at);
  if (zone === 'utc') end.setUTCDate(end.getUTCDate() + 1);
  else end.setDate(end.getDate() + 1);
  return end.toISOString();
}

/** The name of the zone of displayed times, as the service takes it. */
export function nameZone(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The time ranges that a filter offers. */
export const RANGES: Readonly<Record<string, { label: string; ms: number }>> = {
  '15m': { label: 'last 15 minutes', ms: 900_000 },
  '1h': { label: 'last hour', ms: 3_600_000 },
  '24h': { label: 'last 24 hours', ms: 86_400_000 },
  '7d': { label: 'last 7 days', ms: 604_800_000 },
  '30d': { label: 'last 30 days', ms: 2_592_000_000 },
  '90d': { label: 'last 90 days', ms: 7_776_000_000 },
};

/** A filter's time for the API. A range counts back from `now`; `null` if `value` is neither. */
export function toInstant(value: string, now: number): string | null {
  const range = RANGES[value];
  if (range !== undefined) return new Date(now - range.ms).toISOString();
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** A time as `<input type="datetime-local">` has it, in the reader's zone or in UTC. */
export function toFieldTime(time: string, zone: Zone): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return '';
  const offset = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offset).toISOString().slice(0, 19);
}

/** The inverse; `null` if it is not a time. */
export function fromFieldTime(text: string, zone: Zone): string | null {
  const ms = Date.parse(zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
