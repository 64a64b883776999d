import type { Hit } from '../../search/search.ts';
import { type LineTimes, newestOf } from '../../search/time/line-times.ts';
import { isSameFile, mergePassages, type Range } from './print.ts';
import type { StableRange } from './roots.ts';

/** Lines that a context shows, and why. */
export interface Source extends Omit<Range, 'start' | 'end'> {
  why: 'matched' | 'always' | 'fits';
}

/** The lines of each range, those apart that a question matches in files which fit whole. */
export async function splitByMatches(
  ranges: readonly StableRange[],
  hits: readonly Hit[],
  lineTimes: LineTimes,
): Promise<Source[]> {
  const passages = mergePassages(hits);
  const sources: Source[] = [];
  for (const range of ranges) {
    const { file } = range;
    // A file that changed since has other lines.
    const own = passages.filter(
      (passage) => isSameFile(passage.file, file) && passage.file.version === file.version,
    );
    if (range.why === 'always' || own.length === 0) {
      sources.push(range);
      continue;
    }
    const times = await lineTimes(file);
    for (const { startLine, endLine, isMatched } of split(range, own)) {
      const at = newestOf(times, startLine, endLine);
      const why = isMatched ? 'matched' : 'fits';
      sources.push({ file, startLine, endLine, at, heading: null, headingLines: [], why });
    }
  }
  return sources;
}

/** The parts of a range, without blank lines at their ends. */
function split(
  { file, startLine, endLine }: Range,
  matches: readonly Range[],
): { startLine: number; endLine: number; isMatched: boolean }[] {
  const matched = new Set<number>();
  for (const match of matches) {
    for (let line = match.startLine; line <= match.endLine; line += 1) matched.add(line);
  }
  const parts: { startLine: number; endLine: number; isMatched: boolean }[] = [];
  const lines = file.content.split('\n');
  for (let line = startLine; line <= endLine; line += 1) {
    if (lines[line - 1]?.trim() === '') continue;
    const last = parts.at(-1);
    const isMatched = matched.has(line);
    if (last?.isMatched === isMatched) last.endLine = line;
    else parts.push({ startLine: line, endLine: line, isMatched });
  }
  return parts;
}
