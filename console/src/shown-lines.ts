import type { LineRange } from '../../core/contracts/records.ts';

/** The lines that an access showed, in words; older rows say that they are unknown. */
export function tellLines(lines: readonly LineRange[] | null): string {
  if (lines === null) return 'lines unknown';
  if (lines.length === 0) return 'no lines';
  const [first] = lines;
  const isOne = lines.length === 1 && first?.startLine === first?.endLine;
  const ranges = lines.map(({ startLine, endLine }) =>
    startLine === endLine ? `${startLine}` : `${startLine}–${endLine}`,
  );
  return `${isOne ? 'line' : 'lines'} ${ranges.join(', ')}`;
}
