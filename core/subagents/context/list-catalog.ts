import { findTextStart, isKeptOut } from '../../edits/markdown.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexFileKey } from '../../contracts/storage.ts';
import { countFiles, nameFiles, toName } from '../../search/catalog.ts';
import type { MemoryFiles } from '../../search/memory-files.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import { cutToFit, measureParts, type Part, type Range, toPart, toWhole } from './print.ts';

/** What there is to read, where a question found nothing. */
export interface Catalog {
  part: Part;
  /** `user/index.md`, or each file that is named, with the line of its heading. */
  sources: { file: ListedFile; startLine: number; endLine: number }[];
  /** `user/index.md`; `null` where files are named. */
  index: Range | null;
}

type ListedFile = Pick<FoundFile, 'scope' | 'path' | 'version' | 'updatedAt'>;

/**
 * What names have of the room, and how much they have where there is little. A question that finds
 * nothing need not cost as much as one that is answered.
 */
const NAMES_SHARE = 1 / 2;
const NAMES_CHARS = 1_000;
const INDEX_PATH = 'index.md';
const WHY = 'nothing was found for the question';
/** Room for `… and 1,000,000 more files`. */
const REST_CHARS = 32;

/**
 * The catalog of a user's memory in at most `maxChars`: its `index.md` if there is one, else the names
 * and first headings of its files. `null` if memory is empty, if next to nothing
 * fits, or if the catalog is there already, by its `context: always`.
 */
export async function listCatalog(
  memory: MemoryFiles,
  {
    scope,
    maxChars,
    never,
    shown,
  }: {
    scope: ScopeKey;
    maxChars: number;
    never: readonly IndexFileKey[];
    /** What stands in the context already. */
    shown: readonly Range[];
  },
): Promise<Catalog | null> {
  if (shown.some(({ file }) => file.scope === scope && file.path === INDEX_PATH)) return null;
  const index = await readIndex(memory, { scope, maxChars });
  if (index !== null) return index;
  const forNames = Math.min(maxChars, Math.max(NAMES_CHARS, maxChars * NAMES_SHARE));
  return await listNames(memory, { scope, maxChars: forNames, never });
}

async function readIndex(
  memory: MemoryFiles,
  { scope, maxChars }: { scope: ScopeKey; maxChars: number },
): Promise<Catalog | null> {
  const [listed] = await memory.list({ scope, prefix: INDEX_PATH }, { after: null, limit: 1 });
  if (listed?.path !== INDEX_PATH) return null;
  const [file] = await memory.read([listed]);
  if (file === undefined || isKeptOut(file.content)) return null;
  const whole = toWhole(file, findTextStart(file.content));
  if (whole === null) return null;
  const toCatalog = (range: Range): Part => {
    const { header, text } = toPart(range);
    const more = whole.endLine - range.endLine;
    const rest =
      more > 0 ? `\n… and ${more.toLocaleString('en')} more ${more === 1 ? 'line' : 'lines'}` : '';
    return { header: `${header}, the catalog: ${WHY}`, text: `${text}${rest}` };
  };
  const isWhole = measureParts([toCatalog(whole)]) <= maxChars;
  const range = isWhole
    ? whole
    : cutToFit([whole], maxChars - `, the catalog: ${WHY}`.length - REST_CHARS);
  if (range === null) return null;
  return { part: toCatalog(range), sources: [range], index: range };
}

async function listNames(
  memory: MemoryFiles,
  { scope, maxChars, never }: { scope: ScopeKey; maxChars: number; never: readonly IndexFileKey[] },
): Promise<Catalog | null> {
  const header = (total: number) => `${countFiles(total)} of this user: ${WHY}`;
  let room = maxChars - measureParts([{ header: header(1_000_000), text: '' }]) - REST_CHARS;
  const lines: string[] = [];
  const sources: Catalog['sources'] = [];
  const kept = never.filter((key) => key.scope === scope);
  const total = await nameFiles(memory, {
    roots: [{ scope, prefix: '' }],
    take(file) {
      if (kept.some(({ fileNo }) => fileNo === file.fileNo)) return true;
      const line = `- ${toName(file)}`;
      if (line.length + 1 > room) return false;
      room -= line.length + 1;
      lines.push(line);
      sources.push({ file, startLine: file.line, endLine: file.line });
      return true;
    },
  });
  if (lines.length === 0) return null;
  const count = Math.max(total - kept.length, lines.length);
  const more = count - lines.length;
  const rest = more > 0 ? [`… and ${countFiles(more).replace(' ', ' more ')}`] : [];
  return {
    part: { header: header(count), text: [...lines, ...rest].join('\n') },
    sources,
    index: null,
  };
}
