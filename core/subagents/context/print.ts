import type { IndexFileKey } from '../../contracts/storage.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { Hit } from '../../search/search.ts';
import { toVirtualPath } from '../../files/paths.ts';
import { dropHidden } from '../../markdown/valid-until.ts';
import { toTime } from '../../time/time.ts';
import { takeStart } from '../../encoding/take-text.ts';

/** Lines of one file that stand in the context. */
export interface Range {
  file: FoundFile;
  startLine: number;
  endLine: number;
  /** Characters of the file's content. */
  start: number;
  end: number;
  heading: string | null;
  headingLines: readonly number[];
  /** When the newest of the lines was written, in milliseconds. */
  at: number;
}

/** Characters of a passage that are worth a source of their own, when it has to be cut. */
const LEAST_CUT = 40;
/** As long as each mark. */
const ANY_MARK = '0'.repeat(16);

/** A part of a context: a line that says what it is, and text below it. */
export interface Part {
  header: string;
  text: string;
}

/**
 * Lines as they stand in memory, each range below its source, between marks that no text among them
 * has: only a line that begins with the mark names a source.
 */
function printRanges(ranges: readonly Range[], mark: string): string {
  return printParts(ranges.map(toPart), mark);
}

/** Like {@link printRanges}, for parts of any kind. */
export function printParts(parts: readonly Part[], mark: string): string {
  if (parts.length === 0) return '';
  const printed = parts.map(({ header, text }) => `## ${mark} ${header}\n\n${text}\n`);
  return `<memory-${mark}>\n${printed.join('\n')}</memory-${mark}>\n`;
}

/** The lines of a range below their source. */
export function toPart(range: Range): Part {
  const { file, startLine, endLine, start, end, heading, at } = range;
  const lines = startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
  const date = toTime(at).slice(0, 10);
  const under = heading === null ? '' : `, under ${JSON.stringify(toPlain(heading))}`;
  return {
    header: `${toVirtualPath(file)}, ${lines}, version ${file.version}, ${date}${under}`,
    text: dropHidden(file.content.slice(start, end)),
  };
}

/** A heading inside the header of a source: nothing in it may end, hide or turn the line. */
function toPlain(heading: string): string {
  return heading.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** How long the text of these ranges is. */
export function measureRanges(ranges: readonly Range[]): number {
  return printRanges(ranges, ANY_MARK).length;
}

/** How long the text of these parts is. */
export function measureParts(parts: readonly Part[]): number {
  return printParts(parts, ANY_MARK).length;
}

/** The fewest characters that a source takes in a context besides its path and text. */
export const LEAST_SOURCE_CHARS = `\n## ${ANY_MARK} user/, line 1, version 1, 2026-01-01\n\n\n`
  .length;

/**
 * Takes passages, best first, while the text that they make fits; passages of one file stand
 * together in the order of the file, and those that touch become one. A best passage that is too
 * long by itself is cut, and is all.
 */
export function assemble(hits: readonly Hit[], maxChars: number): Range[] {
  const files: { file: FoundFile; chosen: Map<number, Hit> }[] = [];
  let best: Range[] = [];
  for (const hit of hits) {
    let entry = files.find(({ file }) => isSameFile(file, hit.file));
    const isNew = entry === undefined;
    if (entry === undefined) files.push((entry = { file: hit.file, chosen: new Map() }));
    if (entry.chosen.has(hit.passage)) continue;
    entry.chosen.set(hit.passage, hit);
    const ranges = files.flatMap(toRanges);
    if (measureRanges(ranges) <= maxChars) {
      best = ranges;
      continue;
    }
    if (best.length === 0) {
      const cut = cutToFit(ranges, maxChars);
      if (cut !== null) return [cut];
    }
    // A shorter passage further down may still fit.
    entry.chosen.delete(hit.passage);
    if (isNew) files.pop();
  }
  return best;
}

/**
 * As much of a passage as fits, to the end of a line that has at least this share of the room, else of a
 * word; `null` if next to none.
 */
export function cutToFit(
  [range]: readonly Range[],
  maxChars: number,
  leastShare = 1 / 2,
): Range | null {
  if (range === undefined) return null;
  const { file, start, end } = range;
  // Without its heading when that takes up the room.
  for (const heading of new Set([range.heading, null])) {
    const room = maxChars - measureRanges([{ ...range, heading, end: start }]);
    const text = cutText(file.content.slice(start, end), room, leastShare);
    if (text.length < LEAST_CUT) continue;
    const endLine = range.startLine + text.split('\n').length - 1;
    return { ...range, heading, end: start + text.length, endLine };
  }
  return null;
}

function cutText(text: string, room: number, leastShare: number): string {
  if (text.length <= room) return text;
  if (room <= 0) return '';
  const head = takeStart(text, room);
  const lineEnd = head.lastIndexOf('\n');
  if (lineEnd > 0 && lineEnd >= room * leastShare) return head.slice(0, lineEnd).trimEnd();
  if (isSpace(text.charAt(room))) return head.trimEnd();
  let wordEnd = head.length;
  while (wordEnd > 0 && !isSpace(head.charAt(wordEnd - 1))) wordEnd -= 1;
  const words = head.slice(0, wordEnd).trimEnd();
  // A script without spaces, or one endless word: between characters, whole ones.
  if (words.length >= room / 2) return words;
  return head;
}

function isSpace(character: string): boolean {
  return /\s/.test(character);
}

/** The passages of hits; those of one file in its order, and those that touch as one. */
export function mergePassages(hits: readonly Hit[]): Range[] {
  const files: { file: FoundFile; chosen: Map<number, Hit> }[] = [];
  for (const hit of hits) {
    let entry = files.find(({ file }) => isSameFile(file, hit.file));
    if (entry === undefined) files.push((entry = { file: hit.file, chosen: new Map() }));
    entry.chosen.set(hit.passage, hit);
  }
  return files.flatMap(toRanges);
}

/** The lines of a file's text from one character on, without blank ones at its ends; `null` for none. */
export function toWhole(file: FoundFile, from: number): Range | null {
  const { content, updatedAt: at } = file;
  const end = content.trimEnd().length;
  const start = content.length - content.slice(from).trimStart().length;
  if (start >= end) return null;
  const lineOf = (index: number): number => content.slice(0, index).split('\n').length;
  const [startLine, endLine] = [lineOf(start), lineOf(end)];
  return {
    file,
    startLine,
    endLine,
    start,
    end,
    at,
    heading: null,
    headingLines: [],
  };
}

/** Whether these are one file. */
export function isSameFile(a: IndexFileKey, b: IndexFileKey): boolean {
  return a.scope === b.scope && a.fileNo === b.fileNo;
}

/** Whether a file is one of these. */
export function toMember(keys: readonly IndexFileKey[]): (file: IndexFileKey) => boolean {
  const members = new Set(keys.map(({ scope, fileNo }) => `${scope} ${fileNo}`));
  return ({ scope, fileNo }) => members.has(`${scope} ${fileNo}`);
}

/** Whether these are one version of one file. */
export function isSameVersion(a: FoundFile, b: FoundFile): boolean {
  return isSameFile(a, b) && a.latestRevisionId === b.latestRevisionId;
}

/** Leaves out passages of a file of which a better passage has another version. */
export function keepOneVersion(hits: readonly Hit[]): Hit[] {
  const files = new Map<string, FoundFile>();
  return hits.filter(({ file }) => {
    const key = `${file.scope} ${file.fileNo}`;
    const first = files.get(key) ?? file;
    files.set(key, first);
    return isSameVersion(first, file);
  });
}

function toRanges({
  file,
  chosen,
}: {
  file: FoundFile;
  chosen: ReadonlyMap<number, Hit>;
}): Range[] {
  const ranges: Range[] = [];
  for (const passage of [...chosen.keys()].sort((a, b) => a - b)) {
    const place = chosen.get(passage)?.passages[passage];
    if (place === undefined) continue;
    const last = ranges.at(-1);
    const isNext =
      last !== undefined &&
      last.heading === place.heading &&
      file.content.slice(last.end, place.start).trim() === '';
    if (isNext) {
      last.end = place.end;
      last.endLine = place.endLine;
      continue;
    }
    const { startLine, endLine, start, end, heading, headingLines } = place;
    const at = file.updatedAt;
    ranges.push({ file, startLine, endLine, start, end, heading, headingLines, at });
  }
  return ranges;
}
