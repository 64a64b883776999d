import type { FileKey } from '../../contracts/records.ts';
import type { PromptUse } from '../../contracts/plugin.ts';
import type { ListedFile, ToolCall } from '../../contracts/tool.ts';
import { INDEX_PATH } from '../../edits/guards.ts';
import { toCountedLines } from '../../edits/markdown.ts';
import { nameLines } from '../../edits/numbered.ts';
import type { EditOperation } from '../../edits/operations.ts';
import type { EditedFile, EditedMemory } from '../../edits/edited-memory.ts';
import { MemoryError } from '../../errors.ts';
import { countLines } from '../../files/content.ts';
import { isExcludedFromDreams } from '../../files/dream-exclusion.ts';
import type { Files } from '../../files/files.ts';
import { findLinks } from '../../files/links.ts';
import { toScope, toVirtualPath, isUserPath, belowUser } from '../../files/paths.ts';
import type { Revisions } from '../../history/revisions.ts';
import { type FindDependencies, findHits, logShown, type ShownLines } from '../../search/find.ts';
import type { Hit } from '../../search/search.ts';
import { planPrompt } from '../../edits/prompt-budget.ts';
import { systemPrompt } from './prompt.ts';
import { splitLines } from '../../files/line-ends.ts';
import { toLineRanges } from '../../telemetry/shown-lines.ts';
import { takeEnd } from '../../encoding/take-text.ts';

/** What looking into memory works with. */
export interface LookDependencies {
  /** Tokens of one reply. */
  replyTokens: number;
  files: Files;
  revisions: Pick<Revisions, 'lineTimes'>;
  search: FindDependencies;
  /** A line that is left out, as if it did not stand there: that of the fact that is being filed. */
  hidden?: { path: string; text: string };
}

/** Memory as far as it was looked at. */
export interface SeenMemory extends EditedMemory {
  /** Whether there are more files than were listed, so that a path which is not in `paths` may exist. */
  isPartial: boolean;
}

/** Files that are listed, and what the model is shown of them. */
const LISTED = 500;
const SHOWN_FILES = 20;
const SHOWN_CHARS = 24_000;
/** A file up to this length is shown whole, of a longer one the passages that were found. */
const WHOLE_CHARS = 8_000;
const SHORT_WHOLE_CHARS = 600;
const FOUND_PASSAGES = 30;
/** So many characters from the end of the context are searched for too, because the question is there. */
const SEARCHED_CONTEXT = 500;
/** Paths of one reply that are looked up. */
const NAMED_PATHS = 100;

/** What the model is shown: the catalog, files that were found, and the rest while there is room. */
export async function look(
  deps: LookDependencies,
  { fact, context, use }: { fact: string; context: string | null; use: PromptUse },
  call: ToolCall,
): Promise<SeenMemory> {
  const { files, search } = deps;
  const wholeChars = use.form === 'short' ? SHORT_WHOLE_CHARS : WHOLE_CHARS;
  const { files: first, nextCursor } = await files.list({ path: 'user/', limit: LISTED }, call);
  const isPartial = nextCursor !== null;
  const catalog = isPartial ? (await files.list({ path: INDEX_PATH, limit: 1 }, call)).files : [];
  const listed = [...first, ...catalog].filter(({ path }) => isOpen(path));
  const request = {
    text: context === null ? fact : `${fact}\n${takeEnd(context, SEARCHED_CONTEXT)}`,
    // Shared memory is nobody's to correct here, and what is in it is known to others.
    scopes: [toScope({ userId: call.userId })],
    within: null,
    group: 'passage',
    limit: FOUND_PASSAGES,
    isFuzzy: true,
  } as const;
  const found = (await findHits(search, request, 'auto', call)).hits.filter(({ file }) =>
    isOpen(toVirtualPath(file)),
  );
  const shown = new Map<string, EditedFile>();
  const texts = [systemPrompt(use), fact, context ?? ''];
  let room = planPrompt(use, {
    replyTokens: deps.replyTokens,
    mostCharacters: SHOWN_CHARS,
    texts,
  }).characters;
  const show = (file: EditedFile) => {
    const lines = file.content.split('\n').filter((_line, at) => file.shown?.has(at + 1) ?? true);
    const characters = lines.join('\n').length;
    if (characters > room || shown.size >= SHOWN_FILES) return false;
    room -= characters;
    shown.set(file.path, file);
    return true;
  };
  if (listed.some(({ path }) => path === INDEX_PATH)) show(await readFile(deps, INDEX_PATH, call));
  const logged: ShownLines[] = [];
  for (const hits of byFile(found)) {
    const [{ file }] = hits;
    const path = toVirtualPath(file);
    if (shown.has(path)) continue;
    const { version } = file;
    const { content, line } = withoutHidden(deps, file.content, path);
    const isWhole = content.length <= Math.min(wholeChars, room);
    const found = isWhole ? null : toNumbers(hits, splitLines(file.content), room);
    const parts = found === null ? {} : { shown: withoutNumber(found, line) };
    if (!show({ path, version, content, ...parts })) continue;
    const lines =
      found === null ? [{ startLine: 1, endLine: countLines(file.content) }] : toLineRanges(found);
    logged.push({ file, lines });
  }
  await logShown(search, { shown: logged, action: 'find' }, call);
  // Words that nothing has in common may be about the same thing: a small memory is shown whole.
  const others = listed.filter(({ path, size }) => !shown.has(path) && size <= wholeChars);
  for (const { path, size } of others.sort(newestFirst)) {
    if (size > room || shown.size >= SHOWN_FILES) break;
    show(await readFile(deps, path, call));
  }
  const paths = new Set([...listed.map(({ path }) => path), ...shown.keys()]);
  return { files: nameLines([...shown.values()]), paths, fact, isPartial };
}

/** The files that have the words of a fact, by these alone; nobody is shown them. */
export async function lookByWords(
  { search }: LookDependencies,
  fact: string,
  call: ToolCall,
): Promise<SeenMemory> {
  const request = {
    text: fact,
    scopes: [toScope({ userId: call.userId })],
    within: null,
    group: 'file',
    limit: SHOWN_FILES,
    isFuzzy: false,
  } as const;
  const { hits } = await findHits(search, request, 'text', call);
  const files = hits
    .map(({ file }) => ({
      path: toVirtualPath(file),
      version: file.version,
      content: file.content,
    }))
    .filter(({ path }) => isOpen(path));
  return { files, paths: new Set(files.map(({ path }) => path)), fact, isPartial: true };
}

/**
 * Adds the files that operations name and that were not shown, the dates of the lines of all they
 * name, and the targets of their links as far as these exist.
 */
export async function lookUp(
  deps: LookDependencies,
  memory: SeenMemory,
  operations: readonly EditOperation[],
  call: ToolCall,
): Promise<SeenMemory> {
  const { changed, linked } = listNamed(operations);
  const paths = new Set(memory.paths);
  const known = new Map(memory.files.map((file) => [file.path, file]));
  const scope = toScope({ userId: call.userId });
  if (memory.isPartial) {
    for (const path of new Set([...changed, ...linked])) {
      if (!paths.has(path) && (await exists(deps.files, path, call))) paths.add(path);
    }
  }
  for (const path of changed) {
    if (!paths.has(path)) continue;
    const file = known.get(path) ?? (await readIfThere(deps, path, call));
    if (file === null) paths.delete(path);
    if (file === null || file.times !== undefined) continue;
    const { version, times } = await deps.revisions.lineTimes({
      scope,
      path: belowUser(path),
    });
    const isSame = version === file.version && deps.hidden?.path !== path;
    known.set(path, isSame ? { ...file, times } : file);
  }
  return { ...memory, paths, files: nameLines([...known.values()]) };
}

/** The same files as they are now, and those that operations wanted to create. */
export async function lookAgain(
  deps: LookDependencies,
  memory: SeenMemory,
  operations: readonly EditOperation[],
  call: ToolCall,
): Promise<SeenMemory> {
  const { changed, linked } = listNamed(operations);
  const paths = new Set(memory.paths);
  const files: EditedFile[] = [];
  const read = new Set(memory.files.map(({ path }) => path));
  for (const path of new Set([...read, ...changed])) {
    const isThere = read.has(path) || (await exists(deps.files, path, call));
    const file = isThere ? await readIfThere(deps, path, call) : null;
    if (file === null) paths.delete(path);
    else {
      paths.add(path);
      files.push(file);
    }
  }
  for (const path of linked) {
    if (!changed.includes(path) && !(await exists(deps.files, path, call))) paths.delete(path);
  }
  return { ...memory, files, paths };
}

/** The user's paths that operations name: of files that they change or quote, and of links. */
function listNamed(operations: readonly EditOperation[]): { changed: string[]; linked: string[] } {
  const own = (paths: readonly string[]) =>
    [...new Set(paths)].filter((path) => isUserPath(path) && isOpen(path)).slice(0, NAMED_PATHS);
  return {
    changed: own(
      operations.flatMap(({ remove, add, sources }) =>
        [...remove, ...sources, ...(add === null ? [] : [add])].map(({ path }) => path),
      ),
    ),
    linked: own(
      operations
        .filter(({ kind }) => kind === 'index')
        .flatMap(({ remove, add }) => [...remove.map(({ text }) => text), ...(add?.lines ?? [])])
        .flatMap((text) => findLinks(text ?? '', INDEX_PATH)),
    ),
  };
}

/** Whether there is a file of that path. A path that no file can have is none. */
async function exists(files: Files, path: string, call: ToolCall): Promise<boolean> {
  try {
    const { files: found } = await files.list({ path, limit: 1 }, call);
    return found[0]?.path === path;
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'INVALID_PATH') return false;
    throw error;
  }
}

async function readFile(
  deps: Pick<LookDependencies, 'files' | 'hidden'>,
  path: string,
  call: ToolCall,
): Promise<EditedFile> {
  const { version, content } = await deps.files.read({ path }, call);
  return { path, version, content: withoutHidden(deps, content, path).content };
}

/** A content without the line that is left out, and the number that it had. */
function withoutHidden(
  { hidden }: Pick<LookDependencies, 'hidden'>,
  content: string,
  path: string,
): { content: string; line: number | null } {
  if (hidden?.path !== path) return { content, line: null };
  return withoutLine(content, hidden.text) ?? { content, line: null };
}

/** A content without a line, its line end included, and the number of the line; `null` where it has none. */
function withoutLine(content: string, text: string): { content: string; line: number } | null {
  const found = findLine(content, text);
  if (found === null) return null;
  const { start, end, line } = found;
  const lineEnd = /^(?:\r\n|\n|\r)?/.exec(content.slice(end, end + 2))?.[0].length ?? 0;
  return { content: content.slice(0, start) + content.slice(end + lineEnd), line };
}

/** A content without a line, and without one of the two empty lines that it stood between. */
export function withoutLineAndGap(content: string, text: string): string | null {
  const found = findLine(content, text);
  const rest = withoutLine(content, text)?.content;
  if (found === null || rest === undefined) return null;
  const [before, after] = [rest.slice(0, found.start), rest.slice(found.start)];
  const isGap = /(?:^|[\r\n])[ \t]*(?:\r\n|\n|\r)$/.test(before);
  return isGap ? before + after.replace(/^[ \t]*(?:\r\n|\n|\r)/, '') : rest;
}

/** A content with another text in the place of a line. */
export function replaceLine(content: string, text: string, by: string): string {
  const found = findLine(content, text);
  if (found === null) return content;
  return content.slice(0, found.start) + by + content.slice(found.end);
}

function findLine(
  content: string,
  text: string,
): { start: number; end: number; line: number } | null {
  for (let start = content.indexOf(text); start !== -1; start = content.indexOf(text, start + 1)) {
    const end = start + text.length;
    const isWhole =
      (start === 0 || /[\r\n]/.test(content.charAt(start - 1))) &&
      (end === content.length || /[\r\n]/.test(content.charAt(end)));
    if (!isWhole) continue;
    return { start, end, line: toCountedLines(content).slice(0, start).split('\n').length };
  }
  return null;
}

/** Numbers of lines, once a line is gone. */
function withoutNumber(numbers: ReadonlySet<number>, line: number | null): Set<number> {
  if (line === null) return new Set(numbers);
  return new Set(
    [...numbers].flatMap((number) =>
      number === line ? [] : [number < line ? number : number - 1],
    ),
  );
}

async function readIfThere(
  deps: Pick<LookDependencies, 'files' | 'hidden'>,
  path: string,
  call: ToolCall,
): Promise<EditedFile | null> {
  try {
    return await readFile(deps, path, call);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'FILE_NOT_FOUND') return null;
    throw error;
  }
}

/** Logs are others' records: they are neither shown nor written. */
function isOpen(path: string): boolean {
  return !isExcludedFromDreams(belowUser(path));
}

function byFile(hits: readonly Hit[]): [Hit, ...Hit[]][] {
  const groups = new Map<string, [Hit, ...Hit[]]>();
  for (const hit of hits) {
    const { scope, path }: FileKey = hit.file;
    const group = groups.get(`${scope}/${path}`);
    if (group === undefined) groups.set(`${scope}/${path}`, [hit]);
    else group.push(hit);
  }
  return [...groups.values()];
}

/** The numbers of the lines of the passages that were found, the best first, while there is room. */
function toNumbers(hits: readonly Hit[], lines: readonly string[], most: number): Set<number> {
  const numbers = new Set<number>();
  let room = most;
  for (const { passages, passage } of hits) {
    const { startLine = 1, endLine = 0 } = passages[passage] ?? {};
    for (let line = startLine; line <= endLine; line += 1) {
      if (numbers.has(line)) continue;
      room -= (lines[line - 1]?.length ?? 0) + 1;
      if (room < 0) return numbers;
      numbers.add(line);
    }
  }
  return numbers;
}

function newestFirst(a: ListedFile, b: ListedFile): number {
  return a.updatedAt > b.updatedAt ? -1 : 1;
}
