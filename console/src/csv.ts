/**
 * Rows as CSV (RFC 4180). A cell that a spreadsheet would take for a formula gets an apostrophe
 * before it (OWASP, CSV injection), because memory is untrusted text.
 */
export function toCsv(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const lines = [columns.map(toCell), ...rows.map((row) => columns.map((key) => toCell(row[key])))];
  return lines.map((cells) => cells.join(',')).join('\r\n') + '\r\n';
}

/** One cell, quoted if needed. */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Also full-width signs, which some spreadsheets normalise, and signs after white space.
  const isFormula = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(text) || /^[\p{Cc}]/u.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n\p{Cc}]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
