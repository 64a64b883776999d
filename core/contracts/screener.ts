/**
 * Finds what must not be stored. It runs inside of writes, in the service's own process: it is
 * synchronous, and takes time in proportion to the text. If it throws, the write fails.
 *
 * @example
 * export const badges: Screener = {
 *   kind: 'badge_number',
 *   policy: 'personal',
 *   screen: (text) => [...text.matchAll(/\bB-\d{5}\b/g)].map(({ 0: found, index }) => ({ start: index, end: index + found.length })),
 * };
 */
export interface Screener {
  /** What it finds: 1 to 40 of `a-z 0-9 _`, the first a letter. */
  readonly kind: string;
  /** The setting that decides what happens to a finding: `SERVICE_SCREEN_SECRETS` or `_PERSONAL`. */
  readonly policy: 'secrets' | 'personal';
  /** The parts of a text to stop, as UTF-16 offsets; `end` is behind the last one. */
  screen(text: string): readonly { start: number; end: number }[];
}
