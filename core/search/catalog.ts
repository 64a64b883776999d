import type { PathPrefix } from '../files/paths.ts';
import { toVirtualPath } from '../files/paths.ts';
import { isNamed, listSections } from '../markdown/sections.ts';
import { readStructureInSteps } from '../markdown/structure.ts';
import { createPause, inSlices, type Pause } from '../time/pause.ts';
import { takeStart } from '../encoding/take-text.ts';
import type { MemoryFiles, SizedFile } from './memory-files.ts';

/** A file with the first heading of its text. */
export interface NamedFile extends SizedFile {
  /** `# Profile`, as one line; `null` without one, or where too much was to be read. */
  heading: string | null;
  /** The heading's line, else the first one. */
  line: number;
}

/** Files of one look. */
const PAGE = 50;
/** Files that are looked at, in all. */
const LOOKED_AT = 1_000;
/** Bytes of files that are read for their headings, in all. */
const READ_BYTES = 256 * 1024;
/** The start of a file that a heading is looked for in, and what is shown of one, in characters. */
const SEARCHED_CHARS = 8_000;
const HEADING_CHARS = 80;

/**
 * Names files by root and path, each with its first heading, as long as `take` takes them. Returns how
 * many there are in all, with those that are left out.
 */
export async function nameFiles(
  files: MemoryFiles,
  {
    roots,
    leavesOut = () => false,
    take,
  }: {
    roots: readonly PathPrefix[];
    leavesOut?: (file: SizedFile) => boolean;
    take: (file: NamedFile) => boolean;
  },
): Promise<number> {
  let total = 0;
  let room = READ_BYTES;
  let lookedAt = 0;
  let isFull = false;
  const pause = createPause();
  for (const root of roots) {
    total += await files.count(root);
    let after: string | null = null;
    while (!isFull && lookedAt < LOOKED_AT) {
      const listed: readonly SizedFile[] = await files.list(root, { after, limit: PAGE });
      lookedAt += listed.length;
      const page = listed.filter((file) => !leavesOut(file));
      const wanted: SizedFile[] = [];
      for (const file of page) {
        if (file.size > room) continue;
        room -= file.size;
        wanted.push(file);
      }
      const read = new Map(
        (await files.read(wanted)).map(({ fileNo, content }) => [fileNo, content]),
      );
      for (const sized of page) {
        const content = read.get(sized.fileNo);
        // It is gone meanwhile, or has expired.
        if (content === undefined && wanted.includes(sized)) {
          total -= 1;
          continue;
        }
        const first = content === undefined ? null : await findFirstHeading(content, pause);
        isFull = !take({ ...sized, heading: first?.heading ?? null, line: first?.line ?? 1 });
        if (isFull) break;
      }
      after = listed.at(-1)?.path ?? null;
      if (listed.length < PAGE) break;
    }
  }
  return total;
}

async function findFirstHeading(
  content: string,
  pause: Pause,
): Promise<{ heading: string; line: number } | null> {
  const start = takeStart(content, SEARCHED_CHARS);
  const structure = await inSlices(readStructureInSteps(start), pause);
  const heading = listSections(structure).find(isNamed);
  if (heading === undefined) return null;
  const title = toOneLine(heading.title);
  const shown = title.length <= HEADING_CHARS ? title : `${takeStart(title, HEADING_CHARS - 1)}…`;
  const line = structure.lines[heading.first]?.number ?? 1;
  return { heading: `${'#'.repeat(heading.level)} ${shown}`, line };
}

/** A title in which nothing ends, hides or turns a line. Joiners are parts of letters and emoji. */
function toOneLine(title: string): string {
  return title.replace(/[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu, ' ').trim();
}

/** `user/profile.md (# Profile)` */
export function toName(file: Pick<NamedFile, 'scope' | 'path' | 'heading'>): string {
  const path = quoteName(toVirtualPath(file));
  return file.heading === null ? path : `${path} (${quoteName(file.heading)})`;
}

/** Punctuation that can end a name, or a sentence in it; a full stop can where a space follows. */
const ENDS_NAME = /[^\P{P}.#&@*/_'’-]|[<>`|=]|\.(?=\s|$)/u;

/** A path or heading as it is if it is plain, else as a JSON text: none reads as words of the service. */
export function quoteName(name: string): string {
  return ENDS_NAME.test(name) ? JSON.stringify(name) : name;
}

/** `1 file`, `4,987 files` */
export function countFiles(count: number): string {
  return count === 1 ? '1 file' : `${count.toLocaleString('en')} files`;
}
