import type { RevertedFile, RevertWritesAnswer } from '../../contracts/admin.ts';
import type { FileKey, ScopeKey } from '../../contracts/records.ts';
import { fileNotFound, parsePhysicalPath, toOwner, toPhysicalPath } from '../../files/paths.ts';
import { groupBy } from '../../lists/group-by.ts';
import { parsePage, toCursor } from '../../lists/page.ts';
import { readContentAt } from '../content-at.ts';
import type { HistoryParts } from '../history-parts.ts';
import { parseLineRange } from '../line-range.ts';
import { toTextPattern } from '../redaction/replacer.ts';
import { checkText, selectFiles } from '../redaction/target.ts';
import { walkFiles } from '../walk-files.ts';
import { findPlace } from './find-files.ts';
import type { FileToUndo } from './plan.ts';
import { type RevertOptions, undoFiles } from './revert.ts';
import type { LineSelection, TextSelection } from './selection.ts';

/** How long a page looks for lines, and the most files that it undoes lines of. */
const PAGE = { ms: 4_000, files: 200 } as const;

/**
 * Undoes some lines of a version: each becomes what it was before its last writer changed it. Other lines of
 * the same writes stay. A file that was moved since is found where it is now. Throws `FILE_NOT_FOUND`
 * without a version if there is no such file, `REVISION_NOT_FOUND` for a version without a content that is
 * kept, and `INVALID_REQUEST` for lines that the content does not have.
 */
export async function undoLines(
  parts: HistoryParts,
  { path, lines, version: wanted }: LineSelection,
  options: RevertOptions,
): Promise<RevertWritesAnswer> {
  const { storage } = parts;
  const asked = parsePhysicalPath(path);
  const head = await storage.files.get(asked);
  const isPresent = head !== null && head.content !== null;
  if (!isPresent && wanted === undefined) throw fileNotFound(path);
  const version = wanted ?? head?.version ?? 0;
  const isHead = isPresent && version === head.version;
  const { content } = isHead
    ? { content: head.content ?? '' }
    : await readContentAt(parts, asked, { version });
  const { from, to } = parseLineRange(lines, content);
  const key = isHead ? asked : await findPlace(storage, asked, version);
  const numbers = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const file: FileToUndo = {
    key,
    selected: [],
    lines: { version: { ...asked, version }, pick: () => numbers },
  };
  const which = `${from === to ? `line ${from}` : `lines ${from}-${to}`} of version ${version}`;
  return await undoFiles(
    parts,
    {
      files: [file],
      at: (one) => one,
      target: toPhysicalPath(asked),
      reason: `Reverts ${which}.`,
      details: { lines, version },
    },
    options,
  );
}

/**
 * Undoes each present line that has a text, as {@link undoLines} does, a page of files at a time. Where
 * the line that comes back has the text as well, it is undone, too. The text is written nowhere.
 */
export async function undoText(
  parts: HistoryParts,
  { text, in: where, userId, spaceId, path, cursor }: TextSelection,
  options: RevertOptions,
): Promise<RevertWritesAnswer> {
  checkText(text);
  const selection = selectFiles({ path, userId, spaceId }, { where, revision: null });
  const dryRun = options.dryRun === true;
  const identity = {
    list: 'revert-text',
    sort: 'path',
    defaultOrder: 'asc' as const,
    // Without the text: a cursor can be read, and somebody may log it.
    filters: { in: where, path, userId, spaceId, dryRun },
  };
  const place = parsePage(cursor === undefined ? {} : { cursor }, identity).after as
    readonly [number, string, string] | null;
  const [done = 0, scope = null, after = ''] = place ?? [];
  const pattern = toTextPattern(text);
  const files: FileToUndo[] = [];
  const start = performance.now();
  let looked = 0;
  let next: FileKey | null = null;
  const from = scope === null ? null : ({ scope, path: after } as FileKey);
  for await (const file of walkFiles(parts.storage, selection, from)) {
    const isFull = files.length >= PAGE.files || performance.now() - start > PAGE.ms;
    if (looked > 0 && isFull) {
      next = file;
      break;
    }
    looked += 1;
    const isFound = file.content !== null && file.content.search(pattern) >= 0;
    if (isFound) files.push(toFile(file, pattern));
  }
  const answer = await undoFiles(
    parts,
    {
      files,
      at: (one) => one,
      target: path ?? userId ?? spaceId ?? 'all',
      reason: 'Reverts lines that have a text.',
      details: { in: where },
    },
    options,
  );
  const seen = done + looked;
  return {
    ...answer,
    counts: countLines(answer.files),
    progress: { files: seen },
    nextCursor: toCursor(next === null ? null : [seen, next.scope, next.path], {}, identity),
  };
}

function toFile({ scope, path }: FileKey, pattern: RegExp): FileToUndo {
  return {
    key: { scope, path },
    selected: [],
    lines: {
      version: null,
      pick: (present) => findLines(present, pattern),
      isRepeated: true,
    },
  };
}

/** The numbers of the lines in which a text stands, from 1. */
function findLines(content: string, pattern: RegExp): number[] {
  const found = new Set<number>();
  let line = 1;
  let seen = 0;
  const lineOf = (at: number) => {
    for (let end = content.indexOf('\n', seen); end >= 0 && end < at;) {
      line += 1;
      seen = end + 1;
      end = content.indexOf('\n', seen);
    }
    return line;
  };
  for (const { 0: text, index: at } of content.matchAll(pattern)) {
    // Line breaks at its ends touch no other line.
    const first = lineOf(at + text.search(/[^\r\n]/));
    const last = lineOf(at + text.trimEnd().length - 1);
    for (let number = first; number <= last; number += 1) found.add(number);
  }
  return [...found];
}

/** How many lines of whom are undone, and who wrote them; most lines first. */
function countLines(files: readonly RevertedFile[]): NonNullable<RevertWritesAnswer['counts']> {
  const owners = new Map<ScopeKey, Count>();
  const writers = new Map<string, Count>();
  for (const { path, writers: found = [] } of files) {
    if (found.length === 0) continue;
    const lines = found.reduce((sum, one) => sum + one.lines, 0);
    addLines(owners, parsePhysicalPath(path).scope, lines);
    for (const [actor, own] of groupBy(found, (one) => one.actor)) {
      addLines(
        writers,
        actor,
        own.reduce((sum, one) => sum + one.lines, 0),
      );
    }
  }
  return {
    users: [...owners].map(([scope, one]) => ({ ...toOwner(scope), ...one })).sort(byLines),
    writers: [...writers].map(([actor, one]) => ({ actor, ...one })).sort(byLines),
  };
}

interface Count {
  files: number;
  lines: number;
}

/** Counts lines of one file. */
function addLines<Key>(counts: Map<Key, Count>, key: Key, lines: number): void {
  const { files, lines: before } = counts.get(key) ?? { files: 0, lines: 0 };
  counts.set(key, { files: files + 1, lines: before + lines });
}

const byLines = (one: { lines: number }, other: { lines: number }) => other.lines - one.lines;
