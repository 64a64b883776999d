import type { FileKey } from '../contracts/records.ts';
import type { ContextService, ToolCall } from '../contracts/tool.ts';
import { answerFromLines, type Retrieved } from './context-answer.ts';
import {
  type FindDependencies,
  findHits,
  headingsOf,
  logShown,
  runSearch,
  scopesOf,
  type ShownLines,
} from '../search/find.ts';
import { findLinks } from '../files/links.ts';
import type { Model } from './model.ts';
import { parseUserId, parseVirtualPath, toVirtualPath } from '../files/paths.ts';
import type { Hit, SearchRequest } from '../search/search.ts';
import type { FoundFile } from '../search/search-caches.ts';

const DEFAULT_CHARS = 8_000;
/** Passages that are gathered; what does not fit or falls off is left out. */
const GATHERED = 60;
/**
 * A passage whose words score below this share of the best is likelier noise than help. On
 * conversations contexts of at most 8,000 characters hold 0.868 of what answers, in 7,050 on average
 * (by words alone, 393 questions); with 0.3 it is 0.859 in 5,330, with 0 0.874 in 7,930.
 */
const WORTHWHILE = 0.2;
/** Passages by their meaning, the most alike first: some passage always is. */
const MEANT = 10;
/** The catalogs: their lines on the question name files, whatever those lines score. */
const CATALOGS = ['user/index.md', 'shared/index.md'];
const CATALOG_PASSAGES = 5;
/** Files that are linked to and looked into too. */
const FOLLOWED = 5;
/** Passages of one linked file that answer the question, at most. */
const LINKED_PASSAGES = 3;
/** Characters of a passage that are worth a source of their own, when it has to be cut. */
const LEAST_CUT = 40;

/** Characters of memory that a model is shown. */
const SHOWN_CHARS = 16_000;

/**
 * `memory_context`: what find gathers, as one text that names its sources; with a model a brief
 * answer from it. A model that fails, or answers with nothing that memory bears out, leaves what
 * was gathered, with `degraded` saying why.
 */
export function createContext(deps: FindDependencies, model: Model | null): ContextService {
  return {
    async context({ query, maxChars = DEFAULT_CHARS }, call) {
      const { hits, degraded } = await gather(deps, query, call);
      const shown = model === null ? null : assemble(hits, SHOWN_CHARS);
      const answer =
        model === null || shown === null || shown.ranges.length === 0
          ? null
          : await answerFromLines(
              model,
              { query, retrieved: shown.ranges.map(toRetrieved), maxChars },
              call,
            );
      if (answer !== null && 'text' in answer) {
        // What a model is shown has been read, whether or not it is cited.
        await logShown(
          deps,
          { shown: toShown(hits, shown?.ranges ?? []), action: 'context' },
          call,
        );
        const { text: context, sources } = answer;
        return { context, sources, mode: 'model', ...(degraded === null ? {} : { degraded }) };
      }
      const { text, ranges } = assemble(hits, maxChars);
      const read = toShown(hits, [...ranges, ...(shown?.ranges ?? [])]);
      await logShown(deps, { shown: read, action: 'context' }, call);
      const why = [answer?.degraded, degraded].filter((reason) => typeof reason === 'string');
      return {
        context: text,
        sources: ranges.map(({ file, startLine, endLine }) => ({
          path: toVirtualPath(file),
          startLine,
          endLine,
          version: file.version,
        })),
        mode: 'find',
        ...(why.length === 0 ? {} : { degraded: why.join(' ') }),
      };
    },
  };
}

/** The ranges with the lines of their headings, the files in the order of their hits. */
function toShown(hits: readonly Hit[], ranges: readonly Range[]): ShownLines[] {
  return hits.flatMap(({ file }) =>
    ranges
      .filter((range) => isSameFile(range.file, file))
      .map(({ startLine, endLine, heading, headingLines }) => ({
        file,
        lines: [{ startLine, endLine }, ...(heading === null ? [] : headingsOf({ headingLines }))],
      })),
  );
}

function toRetrieved({ file, startLine, endLine, start, end, heading }: Range): Retrieved {
  const { version } = file;
  const text = file.content.slice(start, end);
  return { path: toVirtualPath(file), version, startLine, endLine, heading, text };
}

/**
 * Passages that answer, best first, then those of the files that they and the catalogs link to. By
 * words and meaning like any find; what is linked has to have the question's words.
 */
async function gather(
  deps: FindDependencies,
  query: string,
  call: ToolCall,
): Promise<{ hits: Hit[]; degraded: string | null }> {
  const user = parseUserId(call.userId);
  const toRequest = (within: readonly FileKey[] | null, limit: number, isFuzzy: boolean) =>
    ({
      text: query,
      scopes: scopesOf(call),
      within,
      group: 'passage',
      limit,
      isFuzzy,
    }) satisfies SearchRequest;
  const toKeys = (paths: readonly string[]) => paths.map((path) => parseVirtualPath(path, user));

  const found = await findHits(deps, toRequest(null, GATHERED, true), 'auto', call);
  const { hits, stats, degraded } = found;
  if (hits.length === 0) return { hits, degraded };
  // What the question's words found by their likeness, they are to find by it in the others too.
  const isFuzzy = stats.fuzzy > 0;
  const gathered = found.isHybrid ? keepWorthwhile(hits) : keepScored(hits);
  const inCatalogs = toRequest(toKeys(CATALOGS), CATALOG_PASSAGES, isFuzzy);
  const catalog = await runSearch(deps.search, inCatalogs, call);
  const known = new Set(gathered.map(({ file }) => toVirtualPath(file)));
  const links = [...new Set([...catalog.hits, ...gathered].flatMap(linksOf))];
  const linked = links.filter((path) => !known.has(path)).slice(0, FOLLOWED);
  if (linked.length === 0) return { hits: gathered, degraded };
  const inLinked = toRequest(toKeys(linked), linked.length * GATHERED, isFuzzy);
  const { hits: more } = await runSearch(deps.search, inLinked, call);
  return { hits: [...gathered, ...atMost(more)], degraded };
}

function keepScored(hits: readonly Hit[]): Hit[] {
  const least = (hits[0]?.score ?? 0) * WORTHWHILE;
  return hits.filter(({ score }) => score >= least);
}

/** Fused scores are of places: the words' own scores tell what is noise, and places in meaning. */
function keepWorthwhile(hits: readonly Hit[]): Hit[] {
  const signals = hits.map((hit) => hit.explain());
  const best = Math.max(0, ...signals.map(({ textScore = 0 }) => textScore));
  return hits.filter((_, at) => {
    const { textScore = 0, vectorRank = Number.POSITIVE_INFINITY } = signals[at] ?? {};
    return (textScore > 0 && textScore >= best * WORTHWHILE) || vectorRank <= MEANT;
  });
}

/** The files that a passage links to, as virtual paths. */
function linksOf({ file, passages, passage }: Hit): string[] {
  const place = passages[passage];
  if (place === undefined) return [];
  return findLinks(file.content.slice(place.start, place.end), toVirtualPath(file));
}

/** The best of each linked file, so that a long one leaves room for the others. */
function atMost(hits: readonly Hit[]): Hit[] {
  const counts = new Map<string, number>();
  return hits.filter(({ file }) => {
    const path = toVirtualPath(file);
    const count = (counts.get(path) ?? 0) + 1;
    counts.set(path, count);
    return count <= LINKED_PASSAGES;
  });
}

/** Lines of one file that stand in the context. */
interface Range {
  file: FoundFile;
  startLine: number;
  endLine: number;
  start: number;
  end: number;
  heading: string | null;
  headingLines: readonly number[];
}

/**
 * Takes passages, best first, while the text that they make fits; passages of one file stand
 * together in the order of the file, and those that touch become one. A best passage that is too
 * long by itself is cut, and is all.
 */
function assemble(hits: readonly Hit[], maxChars: number): { text: string; ranges: Range[] } {
  const files: { file: FoundFile; chosen: Map<number, Hit> }[] = [];
  let best = { text: '', ranges: [] as Range[] };
  for (const hit of hits) {
    let entry = files.find(({ file }) => isSameFile(file, hit.file));
    const isNew = entry === undefined;
    if (entry === undefined) files.push((entry = { file: hit.file, chosen: new Map() }));
    if (entry.chosen.has(hit.passage)) continue;
    entry.chosen.set(hit.passage, hit);
    const ranges = files.flatMap(toRanges);
    const text = print(ranges);
    if (text.length <= maxChars) {
      best = { text, ranges };
      continue;
    }
    if (best.ranges.length === 0) {
      const cut = cutToFit(ranges, maxChars);
      if (cut !== null) return { text: print([cut]), ranges: [cut] };
    }
    // A shorter passage further down may still fit.
    entry.chosen.delete(hit.passage);
    if (isNew) files.pop();
  }
  return best;
}

/** As much of a passage as fits, to the end of a line or else of a word; `null` if next to none. */
function cutToFit([range]: readonly Range[], maxChars: number): Range | null {
  if (range === undefined) return null;
  const { file, start, end } = range;
  // Without its heading when that takes up the room.
  for (const heading of new Set([range.heading, null])) {
    const room = maxChars - print([{ ...range, heading, end: start }]).length;
    const text = cutText(file.content.slice(start, end), room);
    if (text.length < LEAST_CUT) continue;
    const endLine = range.startLine + text.split('\n').length - 1;
    return { ...range, heading, end: start + text.length, endLine };
  }
  return null;
}

function cutText(text: string, room: number): string {
  if (text.length <= room) return text;
  if (room <= 0) return '';
  const head = text.slice(0, room);
  const lineEnd = head.lastIndexOf('\n');
  if (lineEnd >= room / 2) return head.slice(0, lineEnd).trimEnd();
  if (isSpace(text.charAt(room))) return head.trimEnd();
  let wordEnd = head.length;
  while (wordEnd > 0 && !isSpace(head.charAt(wordEnd - 1))) wordEnd -= 1;
  const words = head.slice(0, wordEnd).trimEnd();
  // A script without spaces, or one endless word: between characters, whole ones.
  if (words.length >= room / 2) return words;
  const last = head.charCodeAt(head.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? head.slice(0, -1) : head;
}

function isSpace(character: string): boolean {
  return /\s/.test(character);
}

function isSameFile(a: FoundFile, b: FoundFile): boolean {
  return a.scope === b.scope && a.fileNo === b.fileNo;
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
    ranges.push({ file, startLine, endLine, start, end, heading, headingLines });
  }
  return ranges;
}

function print(ranges: readonly Range[]): string {
  return ranges
    .map(({ file, startLine, endLine, start, end, heading }) => {
      const lines = startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
      const source = `## ${toVirtualPath(file)}, ${lines}, version ${file.version}`;
      const under = heading === null ? '' : `\n\nUnder: ${heading}`;
      return `${source}${under}\n\n${file.content.slice(start, end)}\n`;
    })
    .join('\n');
}
