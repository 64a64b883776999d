import { toVirtualPath } from '../files/paths.ts';
import {
  type ExpiredLines,
  hideExpired,
  type Moment,
  toExpiredLines,
  type ValidUntil,
} from '../markdown/valid-until.ts';
import { toTrail } from '../markdown/sections.ts';
import { createPause } from '../time/pause.ts';
import type { MemoryFiles } from './memory-files.ts';
import { listTerms, parseQuery } from './rank/query.ts';
import type { FoundFile } from './search-caches.ts';
import type { Hit, Search, SearchAnswer, SearchRequest } from './search.ts';
import type { Passage } from './text/passages.ts';
import { toTokens } from './text/tokenise.ts';
import { readWords } from './text/words.ts';

/** Memory as a call sees it. */
export interface ValidMemory {
  search: Search;
  files: MemoryFiles;
  /** How many expired files and lines were left out so far. */
  expired(): number;
  /** The first of them. */
  listExpired(): ExpiredPlace[];
  /** Counts the lines that are left out of a part of a file that is shown. */
  note(file: FoundFile, lines: { startLine: number; endLine: number }): void;
}

/** An expired file, or a line of one, that was left out. */
export interface ExpiredPlace extends ExpiredLines {
  /** Virtual. */
  path: string;
}

/** Places that are named. */
const NAMED = 50;
/** Passages that are looked at where the best ones have expired. */
const WIDER = 500;
/** Searches for one request: each leaves out the expired files that those before it found. */
const ROUNDS = 5;

/** A memory of which nothing is left out. */
export function wholeMemory({ search, files }: Pick<ValidMemory, 'search' | 'files'>): ValidMemory {
  return { search, files, expired: () => 0, listExpired: () => [], note: () => undefined };
}

/**
 * A memory without the files and lines that have expired. Each call looks anew whether they have: index and
 * caches hold all of memory. Lines keep their numbers, and texts their places: an expired line
 * is blank, and `dropHidden` takes it out of what is shown.
 */
export function validMemory(
  { search, files }: Pick<ValidMemory, 'search' | 'files'>,
  moment: Moment,
): ValidMemory {
  const left = new Map<string, ExpiredPlace>();
  const seen = new Map<FoundFile, ReturnType<typeof hideExpired>>();
  const expiredOf = new Map<string, readonly ValidUntil[]>();
  const keyOf = (file: FoundFile) => `${file.scope} ${file.fileNo}`;

  function look(file: FoundFile): ReturnType<typeof hideExpired> {
    let known = seen.get(file);
    if (known === undefined) {
      seen.set(file, (known = hideExpired(file.content, moment)));
      expiredOf.set(keyOf(file), known?.expired ?? []);
    }
    return known;
  }

  function note(file: FoundFile, { startLine, endLine }: { startLine: number; endLine: number }) {
    const path = toVirtualPath(file);
    for (const { line, value } of expiredOf.get(keyOf(file)) ?? []) {
      if (line !== null && line >= startLine && line <= endLine) {
        const place = { path, startLine: line, endLine: line, validUntil: value };
        left.set(`${keyOf(file)}:${line}`, place);
      }
    }
  }

  function hide(file: FoundFile): FoundFile | null {
    const shown = look(file);
    if (shown === null) {
      if (!left.has(keyOf(file))) left.set(keyOf(file), toWholePlace(file, moment));
      return null;
    }
    return shown.expired.length === 0 ? file : { ...file, content: shown.content };
  }

  function hideAll(given: readonly FoundFile[]): FoundFile[] {
    return given.flatMap((file) => {
      const shown = hide(file);
      if (shown === null) return [];
      note(file, { startLine: 1, endLine: Infinity });
      return [shown];
    });
  }

  /** A hit without what has expired; `null` if nothing is left that answers. */
  async function hideIn(hit: Hit, request: SearchRequest): Promise<Hit | null> {
    const file = hide(hit.file);
    if (file === null) return null;
    if (file === hit.file) return hit;
    const { passages, passage } = hit;
    const lines = new Set(look(hit.file)?.expired.map(({ line }) => line));
    const shown = passages.map((one) => withoutTitles(one, lines));
    const isLost =
      request.term === undefined && !(await stillMatches(request.text, { hit, file, shown }));
    if (isLost) {
      note(hit.file, passages[passage] ?? { startLine: 1, endLine: 1 });
      return null;
    }
    return { ...hit, file, passages: shown };
  }

  async function find(request: SearchRequest): Promise<SearchAnswer> {
    let asked = request;
    for (let round = 1; ; round += 1) {
      const answer = await search.search(asked);
      const pause = createPause();
      const hits: Hit[] = [];
      for (const hit of answer.hits) {
        await pause();
        const shown = await hideIn(hit, request);
        if (shown !== null) hits.push(shown);
      }
      const best = request.group === 'file' ? firstOfFiles(hits) : hits;
      const dropped = answer.hits.length - hits.length;
      const gone = answer.hits.flatMap(({ file }) => (look(file) === null ? [file] : []));
      const isCut = answer.hits.length >= asked.limit;
      // Another passage of a file may answer, too.
      const hasOthers = asked.group === 'file' && dropped > gone.length;
      if (dropped === 0 || round === ROUNDS || !(isCut || hasOthers)) {
        return { ...answer, hits: best.slice(0, request.limit) };
      }
      const leaveOut = [...(asked.leaveOut ?? []), ...gone];
      asked = { ...request, group: 'passage', limit: Math.max(request.limit, WIDER), leaveOut };
    }
  }

  return {
    search: { search: find },
    files: {
      list: (root, page) => files.list(root, page),
      count: (root) => files.count(root),
      read: async (keys) => hideAll(await files.read(keys)),
      readScopes: async (scopes, includes) => hideAll(await files.readScopes(scopes, includes)),
    },
    expired: () => left.size,
    listExpired: () => [...left.values()].slice(0, NAMED),
    note,
  };
}

/** The place of a file that has expired as a whole: its own end comes before those of its lines. */
function toWholePlace(file: FoundFile, moment: Moment): ExpiredPlace {
  const all = { startLine: 1, endLine: Infinity };
  const [whole = { startLine: 1, endLine: 1, validUntil: '' }] =
    toExpiredLines(file.content, moment, all) ?? [];
  return { path: toVirtualPath(file), ...whole };
}

/** A passage without the headings above it that have expired. */
function withoutTitles(passage: Passage, lines: ReadonlySet<number | null>): Passage {
  const { headingLines, context } = passage;
  if (!headingLines.some((line) => lines.has(line))) return passage;
  const kept = headingLines.map((line) => !lines.has(line));
  const titles = context.slice(0, headingLines.length).filter((_, at) => kept[at]);
  return {
    ...passage,
    heading: toTrail(titles.map((title) => ({ title }))),
    headingLines: headingLines.filter((_, at) => kept[at]),
    context: [...titles, ...context.slice(headingLines.length)],
  };
}

/**
 * Whether a passage still answers without the expired lines in it and around it: words of the passages
 * next to one count for it.
 */
async function stillMatches(
  text: string,
  { hit, file, shown }: { hit: Hit; file: FoundFile; shown: readonly Passage[] },
): Promise<boolean> {
  const { passage } = hit;
  const place = shown[passage];
  if (place === undefined) return true;
  const { start, end } = place;
  const own = file.content.slice(start, end);
  if (own.trim() === '') return false;
  const isOwnWhole = own === hit.file.content.slice(start, end);
  const first = shown[Math.max(0, passage - NEIGHBOURS)] ?? place;
  const last = shown[Math.min(shown.length - 1, passage + NEIGHBOURS)] ?? place;
  const whole = hit.file.content.slice(first.start, last.end);
  const rest = file.content.slice(first.start, last.end);
  if (rest === whole) return true;
  const terms = listTerms(parseQuery(text));
  const has = (part: string) => {
    const words = readWords(part);
    const found = [true, false].flatMap((english) => toTokens(words, english));
    const known = new Set(found.map(({ term }) => term));
    return terms.some((term) => known.has(term));
  };
  if (has([toVirtualPath(file), ...place.context, rest].join('\n')) || !has(whole)) return true;
  return isOwnWhole && (await hit.explain()).vectorRank !== undefined;
}

/** Passages on each side that count for one in the ranking. */
const NEIGHBOURS = 2;

function firstOfFiles(hits: readonly Hit[]): Hit[] {
  const files = new Set<string>();
  return hits.filter(({ file }) => {
    const key = `${file.scope} ${file.fileNo}`;
    return !files.has(key) && files.add(key) !== undefined;
  });
}
