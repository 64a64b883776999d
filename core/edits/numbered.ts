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
  for (const [index, line] of lines.entries()) {
    if (shown === undefined || shown.has(index + 1)) {
      rows.push(`${index + 1}${dayOf(times?.[index])}| ${line.trimEnd()}`);
    } else if (rows.at(-1) !== '…') rows.push('…');
  }
  return rows;
}
