import { toTimeOfDay } from '../../core/time/time.ts';

/** A part of the day, as in `22:30-05:00`: from a minute up to another one, which is not a part of it. */
export const WINDOW_PATTERN =
  '^(?!(.{5})-\\1$)([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$';

const FORM = new RegExp(WINDOW_PATTERN);

/** Whether a text is a part of the day with at least one minute. */
export function isWindow(text: string): boolean {
  return FORM.test(text);
}

/** Whether a moment is in a part of the day of a time zone; `null` is the whole day. */
export function isInWindow(
  window: string | null,
  { at, timeZone }: { at: number; timeZone: string },
): boolean {
  if (window === null) return true;
  const time = toTimeOfDay(at, timeZone);
  const [from, to] = [window.slice(0, 5), window.slice(6)];
  // Times of this form have the order of their texts.
  return from < to ? from <= time && time < to : time >= from || time < to;
}
