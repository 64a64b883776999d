import type { FileKey } from '../../contracts/records.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import { isKeptOut } from '../../edits/markdown.ts';
import { findLinks } from '../../files/links.ts';
import { isInReach, parseVirtualPath, toScopes, toVirtualPath } from '../../files/paths.ts';
import {
  type FindDependencies,
  findHits,
  findHitsAt,
  type FoundHits,
  runSearch,
} from '../../search/find.ts';
import { NEVER_TERM } from '../../search/index/index-file.ts';
import type { Hit, SearchRequest } from '../../search/search.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { PastMemory } from '../../search/time/memory-at.ts';
import { keepOneVersion } from './print.ts';

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
/** The catalog of each root: its lines on the question name files, whatever those lines score. */
const CATALOG = 'index.md';
const CATALOG_PASSAGES = 5;
/** Files that are linked to and looked into too. */
const FOLLOWED = 5;
/** Passages of one linked file that answer the question, at most. */
const LINKED_PASSAGES = 3;

/** What a question finds. */
export type Gathered = Pick<FoundHits, 'hits' | 'states' | 'degraded'>;

/**
 * Finds passages that answer, best first, then passages of the files that these and the catalogs link to.
 * It searches by words and meaning, as a find does; a linked passage must have the question's words. With
 * `past` it searches memory as it stood then, by words alone, and in the mode `text` by words alone too.
 * Files with `context: never` are left out.
 */
export async function gather(
  deps: FindDependencies,
  query: string,
  { call, past, mode }: { call: ToolCall; past: PastMemory | null; mode: 'auto' | 'text' },
): Promise<Gathered> {
  if (past !== null) {
    const found = await findHitsAt(past, passagesOf(query, call), call);
    const { states } = found;
    return { hits: dropKeptOut(await dropNoise(found)), states, degraded: past.degraded };
  }
  const toRequest = (within: readonly FileKey[] | null, limit: number, isFuzzy: boolean) => ({
    ...passagesOf(query, call),
    within,
    limit,
    isFuzzy,
  });
  const toKeys = (paths: readonly string[]) => paths.map((path) => parseVirtualPath(path, call));

  const found = await findHits(deps, toRequest(null, GATHERED, true), mode, call);
  const { hits, stats, states, degraded } = found;
  if (hits.length === 0) return { hits, states, degraded };
  // What the question's words found by their likeness, they are to find by it in the others too.
  const isFuzzy = stats.fuzzy > 0;
  const gathered = await dropNoise(found);
  const inCatalogs = toRequest(catalogsOf(call), CATALOG_PASSAGES, isFuzzy);
  const catalog = await runSearch(deps.search, inCatalogs, call);
  const known = new Set(gathered.map(({ file }) => toVirtualPath(file)));
  const links = [...new Set([...catalog.hits, ...gathered].flatMap(linksOf))];
  const linked = links
    .filter((path) => !known.has(path) && isInReach(path, call))
    .slice(0, FOLLOWED);
  if (linked.length === 0) return { hits: dropKeptOut(gathered), states, degraded };
  const inLinked = toRequest(toKeys(linked), linked.length * GATHERED, isFuzzy);
  const { hits: more } = await runSearch(deps.search, inLinked, call);
  return {
    hits: keepOneVersion(dropKeptOut([...gathered, ...atMost(more)])),
    states,
    degraded,
  };
}

/** The passages that a planned search finds, best first. */
export async function search(
  deps: FindDependencies,
  text: string,
  call: ToolCall,
): Promise<readonly Hit[]> {
  return dropKeptOut(await dropNoise(await findHits(deps, passagesOf(text, call), 'auto', call)));
}

function catalogsOf(call: ToolCall): FileKey[] {
  return toScopes(call).map((scope) => ({ scope, path: CATALOG }));
}

function passagesOf(text: string, call: ToolCall): SearchRequest {
  const scopes = toScopes(call);
  return {
    text,
    scopes,
    within: null,
    except: NEVER_TERM,
    group: 'passage',
    limit: GATHERED,
    isFuzzy: true,
  };
}

/** Leaves out what the index did not: it may be older than the field. */
function dropKeptOut(hits: readonly Hit[]): Hit[] {
  const known = new Map<FoundFile, boolean>();
  return hits.filter(({ file }) => {
    if (!known.has(file)) known.set(file, isKeptOut(file.content));
    return known.get(file) === false;
  });
}

async function dropNoise({ hits, isHybrid }: FoundHits): Promise<Hit[]> {
  return isHybrid ? await keepWorthwhile(hits) : keepScored(hits);
}

function keepScored(hits: readonly Hit[]): Hit[] {
  const least = (hits[0]?.score ?? 0) * WORTHWHILE;
  return hits.filter(({ score }) => score >= least);
}

/** By words a share of the best score tells what is noise; by meaning some passage always is best. */
async function keepWorthwhile(hits: readonly Hit[]): Promise<Hit[]> {
  const signals = await Promise.all(hits.map((hit) => hit.explain()));
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
