import type { FileContent, FileRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { chunk } from '../lists/group-by.ts';
import { parsePage, readByKey, toCursor } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import type {
  ContentSearchAnswer,
  ContentSearchQuery,
  FoundFile,
} from '../schemas/content-search.ts';
import { toTime } from '../time/time.ts';
import { toFilteredScope, toOwner, toPhysicalPath } from './paths.ts';
import { takeEnd, takeStart } from '../encoding/take-text.ts';
import { findWords, type Question, readQuestion } from './question-words.ts';

/** The most files and bytes that one page looks at. */
const LIMITS = { files: 2_000, bytes: 16 * 1024 * 1024 } as const;
const SCOPES_READ = 100;
const FILES_LISTED = 100;
/** Reads that are under way together share one query, whose answer comes at one go. */
const FILES_AT_ONCE = 8;
const LINES_SHOWN = 5;
/** Forms of the words that are told of a file. */
const WORDS_TOLD = 20;
const LINE_CHARACTERS = 300;
/** Characters before the match, where a long line is cut. */
const CHARACTERS_BEFORE = 80;

/**
 * Looks for words in the contents of all memory files, as they are now. It reads the files one after
 * the other, up to {@link LIMITS}, so it also finds what is not indexed yet, parts of words, other forms
 * of English words, and punctuation. Each file has a score: a page has its files by path, so that a reader
 * of all pages can rank them. It leaves no access row: an operator's look is no use by an agent. The words are kept
 * nowhere, because operators look for secrets to redact.
 */
export function createContentSearch(storage: Storage) {
  return async (query: ContentSearchQuery): Promise<ContentSearchAnswer> => {
    const { q, userId, spaceId } = query;
    const scope = toFilteredScope({ userId, spaceId });
    const identity = {
      list: 'content-search',
      sort: 'path',
      defaultOrder: 'asc' as const,
      filters: { q, userId, spaceId },
    };
    const { limit, after } = parsePage(query, identity);
    const words = readQuestion(q);
    const searched = { files: 0, bytes: 0 };
    const items: FoundFile[] = [];
    const pause = createPause();
    let last: readonly [ScopeKey, string] | null = null;
    let isCut = false;
    for await (const { file, content } of walkContents(storage, { scope, after })) {
      const found = findLines(content, words);
      if (found !== null) items.push({ ...toFound(file), ...found });
      searched.files += 1;
      searched.bytes += file.size;
      last = [file.scope, file.path];
      isCut =
        items.length >= limit || searched.files >= LIMITS.files || searched.bytes >= LIMITS.bytes;
      if (isCut) break;
      await pause();
    }
    return { items, nextCursor: toCursor(isCut ? last : null, query, identity), searched };
  };
}

/** The files that exist, by scope and path, each with its content. */
async function* walkContents(
  storage: Storage,
  { scope, after }: { scope: ScopeKey | null; after: readonly (string | number)[] | null },
): AsyncGenerator<{ file: FileRecord; content: string }, void> {
  const [startScope, startPath] = (after ?? [null, null]) as [ScopeKey | null, string | null];
  if (startScope !== null) yield* walkScope(storage, startScope, startPath);
  if (scope !== null) {
    if (startScope === null) yield* walkScope(storage, scope, null);
    return;
  }
  const scopes = readByKey((from: ScopeKey | null) => storage.index.listScopes(from, SCOPES_READ), {
    keyOf: (one) => one.scope,
    after: startScope,
  });
  for await (const one of scopes) yield* walkScope(storage, one.scope, null);
}

async function* walkScope(
  storage: Storage,
  scope: ScopeKey,
  startPath: string | null,
): AsyncGenerator<{ file: FileRecord; content: string }, void> {
  for (let after = startPath; ;) {
    const files = await storage.files.list(scope, { prefix: '', after, limit: FILES_LISTED });
    for (const some of chunk(files, FILES_AT_ONCE)) {
      const contents: readonly (FileContent | null)[] = await Promise.all(
        some.map((file) => storage.files.read(file)),
      );
      for (const [at, file] of some.entries()) {
        const now = contents[at] ?? null;
        if (now !== null) yield { file: { ...file, ...now }, content: now.content };
      }
    }
    after = files.at(-1)?.path ?? null;
    if (after === null) return;
  }
}

function toFound(file: FileRecord): Omit<FoundFile, 'matches' | 'lines' | 'score' | 'words'> {
  const { scope, version, updatedAt } = file;
  return {
    path: toPhysicalPath(file),
    ...toOwner(scope),
    version,
    updatedAt: toTime(updatedAt),
  };
}

/** The lines that have all of the words; `null` if there are none. */
function findLines(
  content: string,
  question: Question,
): Pick<FoundFile, 'matches' | 'lines' | 'score' | 'words'> | null {
  if (!question.mayBeIn(content)) return null;
  const found: { line: number; text: string; score: number; at: number }[] = [];
  const words = new Set<string>();
  for (const [index, text] of content.split(/\r\n|\n|\r/).entries()) {
    const match = findWords(question, text);
    if (match === null) continue;
    for (const word of match.words) if (words.size < WORDS_TOLD) words.add(word);
    found.push({ line: index + 1, text, score: match.score, at: match.at });
  }
  if (found.length === 0) return null;
  const best = found
    .toSorted((one, other) => other.score - one.score || one.line - other.line)
    .slice(0, LINES_SHOWN)
    .sort((one, other) => one.line - other.line);
  const top = Math.max(...best.map(({ score }) => score));
  return {
    matches: found.length,
    lines: best.map(({ line, text, at }) => ({ line, text: cutLine(text, at) })),
    // More lines count, but never as much as a better line.
    score: Math.round((top + 0.1 * (1 - 1 / found.length)) * 1000) / 1000,
    words: [...words],
  };
}

/** The line, or of a long one the part around a place in it, without half characters. */
export function cutLine(text: string, at: number): string {
  if (text.length <= LINE_CHARACTERS) return text;
  const from = Math.max(0, Math.min(at - CHARACTERS_BEFORE, text.length - LINE_CHARACTERS));
  return takeStart(takeEnd(text, text.length - from), LINE_CHARACTERS);
}
