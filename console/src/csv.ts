/**
 * Rows as CSV (RFC 4180). Memory is untrusted text, and a spreadsheet would run a cell that begins
 * like a formula (OWASP, CSV injection). Where the spreadsheet is set to another country, it splits a
 * line at `;` or a tab, also inside of our quotes: an apostrophe therefore stands before each formula
 * that begins a cell or follows what some spreadsheet takes for the end of one.
 */
export function toCsv(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const lines = [columns.map(toCell), ...rows.map((row) => columns.map((key) => toCell(row[key])))];
  return lines.map((cells) => cells.join(',')).join('\r\n') + '\r\n';
}

/** Text without what ends a cell or a line in some spreadsheet. */
const PART = /[^;,\t\r\n\v\f\x85\u2028\u2029]+/g;

/** A formula begins with a sign, which can be full-width, after white space and quotes. */
const FORMULA = /^[\s\p{Cc}\p{Cf}"]*[=+\-@＝＋－＠]/u;

/** One cell, quoted if needed. */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = text
    .replace(PART, (part) => (FORMULA.test(part) ? `'${part}` : part))
    .replace(/^(?=\p{Cc})/u, "'");
  return /[";,\p{Cc}\u2028\u2029]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
