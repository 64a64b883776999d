import { toLocalDay } from '../time.ts';
import type { EditedFile } from './workspace.ts';

/**
 * A file as a model sees it: `12 2026-05-01| - text`, or `12| - text` if the date is unknown or there
 * is no time zone. `…` marks omitted lines.
 */
export function toNumbered(file: EditedFile, timeZone: string | null): string {
  return toNumberedLines(file, timeZone).join('\n');
}

/** The lines of {@link toNumbered}. */
export function toNumberedLines(
  { content, shown, times }: EditedFile,
  timeZone: string | null,
): string[] {
  const days = new Map<number, string>();
  const dayOf = (at: number | undefined) => {
    if (at === undefined || timeZone === null) return '';
    const day = days.get(at) ?? toLocalDay(at, timeZone);
    days.set(at, day);
    return ` ${day}`;
  };
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const rows: string[] = [];
  let last = 0;
  const numbers = shown ?? lines.map((_line, index) => index + 1);
  for (const number of [...numbers].sort((a, b) => a - b)) {
    if (number > last + 1) rows.push('…');
    rows.push(`${number}${dayOf(times?.[number - 1])}| ${lines[number - 1]?.trimEnd() ?? ''}`);
    last = number;
  }
  if (last < lines.length) rows.push('…');
  return rows;
}
