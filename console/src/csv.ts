/**
 * Rows as CSV (RFC 4180). A cell that a spreadsheet would take for a formula gets an apostrophe
 * before it (OWASP, CSV injection): memory is text of strangers.
 */
export function toCsv(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const lines = [columns.map(toCell), ...rows.map((row) => columns.map((key) => toCell(row[key])))];
  return lines.map((cells) => cells.join(',')).join('\r\n') + '\r\n';
}

/** One cell, quoted where it must be. */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Also the full-width signs, which some spreadsheets fold, and what white space would hide.
  const isFormula = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(text) || /^[\p{Cc}]/u.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n\p{Cc}]|^\s|\s$/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
