import type { ContextService, ToolCall } from '../contracts/tool.ts';
import { type FindDependencies, logHits, runSearch, scopesOf } from './find.ts';
import { findLinks } from './links.ts';
import { toVirtualPath } from './paths.ts';
import type { Hit } from './search.ts';

const DEFAULT_CHARS = 8_000;
/** Passages that are gathered; what does not fit or falls off is left out. */
const GATHERED = 60;
/** A passage that scores below this share of the best one is likelier noise than help. */
const WORTHWHILE = 0.2;
/** Files that the gathered passages link to and that are looked into too. */
const FOLLOWED = 5;
/** Passages of one linked file that answer the question, at most. */
const LINKED_PASSAGES = 3;

/** `memory_context` without a model: what find gathers, as one text that names its sources. */
export function createContext(deps: FindDependencies): ContextService {
  return {
    async context({ query, maxChars = DEFAULT_CHARS }, call) {
      const hits = await gather(deps, query, call);
      const { text, ranges } = assemble(hits, maxChars);
      const used = hits.filter(({ file }) => ranges.some((range) => range.file === file));
      await logHits(deps, used, 'context', call);
      return {
        context: text,
        sources: ranges.map(({ file, startLine, endLine }) => ({
          path: toVirtualPath(file),
          startLine,
          endLine,
          version: file.version,
        })),
        mode: 'find',
      };
    },
  };
}

/** Passages that answer, best first, then those of the files that they link to. */
async function gather(deps: FindDependencies, query: string, call: ToolCall): Promise<Hit[]> {
  const scopes = scopesOf(call);
  const base = { text: query, scopes, group: 'passage' as const };
  const { hits } = await runSearch(deps.search, { ...base, within: null, limit: GATHERED }, call);
  const least = (hits[0]?.score ?? 0) * WORTHWHILE;
  const gathered = hits.filter(({ score }) => score >= least);
  const known = new Set(gathered.map(({ file }) => toVirtualPath(file)));
  const linked = [...new Set(gathered.flatMap(linksOf))].filter((path) => !known.has(path));
  for (const path of linked.slice(0, FOLLOWED)) {
    gathered.push(...(await readLinked(deps, path, base, call)));
  }
  return gathered;
}

/** The files that a passage links to, as virtual paths. */
function linksOf({ file, passages, passage }: Hit): string[] {
  const place = passages[passage];
  if (place === undefined) return [];
  return findLinks(file.content.slice(place.start, place.end), toVirtualPath(file));
}

/** A linked file's best passages for the question; one that says nothing to it is left alone. */
async function readLinked(
  deps: FindDependencies,
  path: string,
  base: { text: string; scopes: Hit['file']['scope'][]; group: 'passage' },
  call: ToolCall,
): Promise<Hit[]> {
  const isUser = path.startsWith('user/');
  const [own, shared] = base.scopes as [Hit['file']['scope'], Hit['file']['scope']];
  const within = {
    scope: isUser ? own : shared,
    prefix: path.slice(path.indexOf('/') + 1),
  };
  const { hits } = await runSearch(deps.search, { ...base, within, limit: LINKED_PASSAGES }, call);
  return hits.filter(({ file }) => toVirtualPath(file) === path);
}

/** Lines of one file that stand in the context. */
interface Range {
  file: Hit['file'];
  startLine: number;
  endLine: number;
  start: number;
  end: number;
  heading: string | null;
}

/**
 * Takes passages, best first, while the text that they make fits; passages of one file stand
 * together in the order of the file, and those that touch become one.
 */
function assemble(hits: readonly Hit[], maxChars: number): { text: string; ranges: Range[] } {
  const files: { file: Hit['file']; chosen: Map<number, Hit> }[] = [];
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
    // A shorter passage further down may still fit.
    entry.chosen.delete(hit.passage);
    if (isNew) files.pop();
  }
  return best;
}

function isSameFile(a: Hit['file'], b: Hit['file']): boolean {
  return a.scope === b.scope && a.fileNo === b.fileNo;
}

function toRanges({
  file,
  chosen,
}: {
  file: Hit['file'];
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
    const { startLine, endLine, start, end, heading } = place;
    ranges.push({ file, startLine, endLine, start, end, heading });
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
