import { stringify } from 'yaml';
import type { ScopeKey } from '../contracts/records.ts';
import { parseChecks, scopeOf } from './check.ts';
import { readCheckFile } from './read-check-file.ts';

/** The text of checks without some of them, and without comments; `null` where it stays as it is. */
export function withoutChecks(
  text: string,
  {
    isRemoved,
    isIn,
  }: {
    isRemoved: (check: object, scope: ScopeKey | null) => boolean;
    isIn: (text: string) => boolean;
  },
): { text: string; removed: number } | null {
  const { checks = [] } = readCheckFile(text).value as { checks?: object[] };
  const rest = checks.filter((check) => {
    const [parsed] = parseChecks({ checks: [check] }).checks;
    return !isRemoved(check, parsed === undefined ? null : scopeOf(parsed));
  });
  const removed = checks.length - rest.length;
  if (removed === 0 && !isIn(text)) return null;
  return { text: writeChecks(rest), removed: Math.max(removed, 1) };
}

/** Checks as a text that can be edited. */
export function writeChecks(checks: readonly object[]): string {
  return checks.length === 0 ? '' : stringify({ checks }, { lineWidth: 0 });
}
