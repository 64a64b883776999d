import { findTextStart, isKeptOut } from '../../edits/markdown.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexFileKey } from '../../contracts/storage.ts';
import { countFiles, nameFiles, toName } from '../../search/catalog.ts';
import type { MemoryFiles } from '../../search/memory-files.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import {
  cutToFit,
  measureParts,
  type Part,
  type Range,
  toMember,
  toPart,
  toWhole,
} from './print.ts';

/** What there is to read, where a question found nothing. */
export interface Catalog {
  part: Part;
  /** `user/index.md`, or each file that is named, with the line of its heading. */
  sources: CatalogSource[];
  /** `user/index.md`; `null` where files are named. */
  index: Range | null;
}

/** A file of a catalog; `at` is when it was written last. */
export interface CatalogSource {
  file: Pick<FoundFile, 'scope' | 'path' | 'version'>;
  startLine: number;
  endLine: number;
  at: number;
  why: 'catalog';
}

/** The share of a context that a catalog has: a question that finds nothing is to stay cheap. */
const SHARE = 1 / 4;
/** The files that are named, at most. */
const NAMES = 200;
const INDEX_PATH = 'index.md';
const WHY = 'nothing was found for the question';
/** Room for `… and 1,000,000 more files`. */
const REST_CHARS = 32;

/**
 * The catalog of a user's memory, in a quarter of the context: its `index.md` if there is one, else the
 * names and first headings of the files that the context does not show. `null` if there are none, if
 * next to nothing fits, or if `index.md` stands in the context already.
 */
export async function listCatalog(
  memory: MemoryFiles,
  {
    scope,
    maxChars,
    room,
    never,
    shown,
  }: {
    scope: ScopeKey;
    /** Of the whole context, and what is left of it. */
    maxChars: number;
    room: number;
    never: readonly IndexFileKey[];
    /** What stands in the context already. */
    shown: readonly Range[];
  },
): Promise<Catalog | null> {
  if (shown.some(({ file }) => file.scope === scope && file.path === INDEX_PATH)) return null;
  const most = Math.min(room, Math.floor(maxChars * SHARE));
  const index = await readIndex(memory, { scope, maxChars: most });
  return index ?? (await listNames(memory, { scope, maxChars: most, never, shown }));
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
  const left = maxChars - `, the catalog: ${WHY}`.length - REST_CHARS;
  const range = isWhole ? whole : (cutToFit([whole], left, 0) ?? cutToFit([whole], left));
  if (range === null) return null;
  return { part: toCatalog(range), sources: [{ ...range, why: 'catalog' }], index: range };
}

async function listNames(
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
    shown: readonly Range[];
  },
): Promise<Catalog | null> {
  const own = [...never, ...shown.map(({ file }) => file)].filter((key) => key.scope === scope);
  const isOther = shown.some(({ file }) => file.scope === scope);
  const header = (count: number) => {
    const files = isOther ? countMoreFiles(count) : countFiles(count);
    return `${files} of this user: ${WHY}`;
  };
  let room = maxChars - measureParts([{ header: header(1_000_000), text: '' }]) - REST_CHARS;
  const lines: string[] = [];
  const sources: CatalogSource[] = [];
  const total = await nameFiles(memory, {
    roots: [{ scope, prefix: '' }],
    leavesOut: toMember(own),
    take(file) {
      const line = `- ${toName(file)}`;
      if (line.length + 1 > room || lines.length === NAMES) return false;
      room -= line.length + 1;
      lines.push(line);
      const { line: startLine, updatedAt: at } = file;
      sources.push({ file, startLine, endLine: startLine, at, why: 'catalog' });
      return true;
    },
  });
  if (lines.length === 0) return null;
  const count = Math.max(total - own.length, lines.length);
  const more = count - lines.length;
  const rest = more > 0 ? [`… and ${countMoreFiles(more)}`] : [];
  return {
    part: { header: header(count), text: [...lines, ...rest].join('\n') },
    sources,
    index: null,
  };
}

function countMoreFiles(count: number): string {
  return countFiles(count).replace(' ', ' more ');
}
