import { takeStart } from '../encoding/take-text.ts';
import { toTime } from '../time/time.ts';
import type { PathPrefix } from '../files/paths.ts';
import { countFiles, nameFiles, quoteName, toName } from './catalog.ts';
import type { MemoryFiles } from './memory-files.ts';

/** What a find looked at. */
interface Searched {
  roots: readonly PathPrefix[];
  /** The start of paths that the caller gave; `null` for everything that the caller may see. */
  path: string | null;
  /** `null` for memory as it is now. */
  at: number | null;
  /** Whether only lines of a span of time were asked for. */
  isInTime: boolean;
  /** Whether files are left out as their history is gone. */
  isPartial: boolean;
}

/** The most characters of a hint. */
const HINT_CHARS = 600;
/** Of a path that the caller gave. */
const PATH_CHARS = 120;
/** More files than any memory has. Room is kept for a number of this length. */
const MOST_FILES = 1_000_000_000;

/**
 * Writes the hint of a find without results. It says that nothing matches, and names the files that there
 * are, each with its first heading.
 */
export async function writeHint(files: MemoryFiles, searched: Searched): Promise<string> {
  const names: string[] = [];
  let room = HINT_CHARS - toText(searched, { total: MOST_FILES, names: [''] }).length;
  const total = await nameFiles(files, {
    roots: searched.roots,
    take(file) {
      const name = [toName(file), toName({ ...file, heading: null })].find(
        (one) => one.length + SEPARATOR.length <= room,
      );
      if (name === undefined) return false;
      names.push(name);
      room -= name.length + SEPARATOR.length;
      return true;
    },
  });
  return total === 0 ? toEmptyText(searched) : toText(searched, { total, names });
}

const SEPARATOR = ', ';

function toText(
  searched: Searched,
  { total, names }: { total: number; names: readonly string[] },
): string {
  const { path, isInTime } = searched;
  const what = isInTime ? 'Nothing that was written in this span of time' : 'Nothing';
  const where = path === null ? '' : ` in files whose path starts with ${shorten(path)}`;
  const more = Math.max(0, total - names.length);
  const rest = more === 0 ? [] : [`… and ${more.toLocaleString('en')} more`];
  const listed = names.length === 0 ? '' : `: ${[...names, ...rest].join(SEPARATOR)}`;
  return `${what}${where} matches these words. ${toCount(searched, total)}${listed}.`;
}

/** How many files there are, or were. */
function toCount({ path, at, isPartial }: Searched, total: number): string {
  const files = `${countFiles(total)}${isPartial ? ' that can still be read' : ''}`;
  if (path === null) {
    return at === null ? `The memory has ${files}` : `At ${toTime(at)} the memory had ${files}`;
  }
  const isOne = total === 1;
  return at === null
    ? `There ${isOne ? 'is' : 'are'} ${files} with such a path`
    : `At ${toTime(at)} there ${isOne ? 'was' : 'were'} ${files} with such a path`;
}

function toEmptyText({ path, at, isPartial }: Searched): string {
  const start = path === null ? null : `file whose path starts with ${shorten(path)}`;
  if (at === null) {
    return start === null ? 'The memory is empty. Nothing is stored yet.' : `There is no ${start}.`;
  }
  if (isPartial) return `Of the memory at ${toTime(at)}, no ${start ?? 'file'} can still be read.`;
  return start === null
    ? `The memory was empty at ${toTime(at)}.`
    : `At ${toTime(at)} there was no ${start}.`;
}

function shorten(path: string): string {
  const shown = quoteName(takeStart(path, PATH_CHARS));
  return path.length <= PATH_CHARS ? shown : `${shown}…`;
}
