import type { HygieneFinding } from '../../contracts/admin.ts';
import { isPast, isReadable, type Moment, type ValidUntil } from '../../markdown/valid-until.ts';
import { listDates, toIsoDate } from '../../values/dates.ts';

/** What a file says of its end and of that of its lines. */
export interface FileEnds {
  /** Physical. */
  path: string;
  ends: readonly ValidUntil[];
}

/** Finds files and lines that have expired, and ends that can't be read: these never pass. */
export function findExpired(files: readonly FileEnds[], moment: Moment): HygieneFinding[] {
  return files.flatMap(({ path, ends }) => {
    const findings: HygieneFinding[] = [];
    const past = ends.filter((end) => isPast(end, moment));
    const isWhole = past.some(({ line }) => line === null);
    if (past.length > 0) {
      const lines = isWhole ? [] : past.flatMap(({ line }) => line ?? []);
      findings.push({
        kind: 'expired',
        severity: 'low',
        message: isWhole
          ? 'The file has expired: find and context leave it out.'
          : `${lines.length === 1 ? 'A line has' : `${lines.length} lines have`} expired: find and context leave ${lines.length === 1 ? 'it' : 'them'} out.`,
        places: [{ path, lines }],
        mend: 'Take out what nobody needs any more, or set a later end.',
      });
    }
    for (const { saidIn, value } of ends.filter((end) => !isReadable(end.value))) {
      findings.push({
        kind: 'unreadable_end',
        severity: 'medium',
        message:
          'An end is neither a day like 2026-12-31 nor a time like 2026-12-31T18:00:00Z, so it never passes.',
        places: [{ path, lines: [saidIn] }],
        mend: toAdvice(value),
      });
    }
    return findings;
  });
}

function toAdvice(value: string): string {
  const [date, ...others] = listDates(value);
  if (date === undefined || others.length > 0 || date.year === null || date.day === null) {
    return 'Write a day of the calendar, or a time with its zone.';
  }
  return `Write ${toIsoDate(date.year, date.month, date.day)}, if that is the day.`;
}
