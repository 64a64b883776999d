import type { FileKey, FileState, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField } from '../errors.ts';
import { cutLine } from '../files/content-search.ts';
import { parsePhysicalPath, toPhysicalPath, toFilteredScope, toOwner } from '../files/paths.ts';
import { parsePage, toCursor } from '../lists/page.ts';
import type {
  FoundVersions,
  TextSearchAnswer,
  TextSearchRequest,
} from '../schemas/content-search.ts';
import { toTextPattern } from './redaction/replacer.ts';
import { createTexts } from './texts.ts';
import { type FileSelection, walkFiles } from './walk-files.ts';
import { walkVersions, type WalkedVersion } from './walk-versions.ts';

/** The most versions and characters that one page looks at. */
const LIMITS = { versions: 4_000, bytes: 32 * 1024 * 1024 } as const;
const LINES_SHOWN = 5;

/** Where a page goes on: at a version of a file, or behind the file (0). */
type Place = readonly [scope: ScopeKey, path: string, version: number];

/**
 * Looks for an exact text in present contents or, with `history`, in the contents of all versions. It
 * goes from each file's present content back, one version in memory. What was redacted is not looked at.
 * Like the search for words it leaves no access row.
 */
export function createTextSearch(storage: Storage) {
  const parts = { storage, ...createTexts(storage) };
  return async (request: TextSearchRequest): Promise<TextSearchAnswer> => {
    const { text, history = false, userId, spaceId, path } = request;
    const pattern = toTextPattern(text);
    const selection = toSelection(request);
    // Without the text: a cursor can be read, and somebody may log it.
    const filters = { history, userId, spaceId, path };
    const identity = { list: 'text-search', sort: 'path', defaultOrder: 'asc' as const, filters };
    const { limit, after } = parsePage(request, identity);
    const searched = { files: 0, versions: 0, bytes: 0 };
    const items: FoundVersions[] = [];
    const isFull = () =>
      items.length >= limit ||
      searched.versions >= LIMITS.versions ||
      searched.bytes >= LIMITS.bytes;
    let next: Place | null = null;
    for await (const { file, from } of startFiles(storage, selection, after)) {
      searched.files += 1;
      let open: FoundVersions | null = null;
      const close = () => {
        if (open !== null) items.push(open);
        open = null;
      };
      for await (const walked of history ? walkVersions(parts, file, from) : [toPresent(file)]) {
        const { version, text: content, isShown } = walked;
        searched.versions += 1;
        searched.bytes += content?.length ?? 0;
        const isHit = isShown && content !== null && content.search(pattern) >= 0;
        if (isHit) open = { ...(open ?? toFound(walked, { file, text })), fromVersion: version };
        else close();
        next = [file.scope, file.path, history ? version - 1 : 0];
        if (isFull()) break;
      }
      close();
      next = next?.[1] === file.path && isFull() ? next : [file.scope, file.path, 0];
      if (isFull()) break;
    }
    return { items, nextCursor: toCursor(isFull() ? next : null, {}, identity), searched };
  };
}

/** The files that a request names. Throws for a path outside of the user's memory. */
export function toSelection({
  userId,
  spaceId,
  path,
}: {
  userId?: string | undefined;
  spaceId?: string | undefined;
  path?: string | undefined;
}): FileSelection {
  const scope = toFilteredScope({ userId, spaceId });
  if (path === undefined) return { scope, path: null };
  const key = parsePhysicalPath(path);
  if (scope !== null && key.scope !== scope) {
    throw invalidField('/path', 'must be in the memory of userId or spaceId', 'path');
  }
  return key;
}

/** The files from a place on, the first of them with the version to go on from. */
async function* startFiles(
  storage: Storage,
  selection: FileSelection,
  after: readonly (string | number)[] | null,
): AsyncGenerator<{ file: FileState; from: number }, void> {
  const [scope, path, version] = (after ?? []) as Partial<Place>;
  const start: FileKey | null = scope === undefined || path === undefined ? null : { scope, path };
  for await (const file of walkFiles(storage, selection, start)) {
    const isFirst = start?.path === file.path && start.scope === file.scope;
    const from = isFirst ? (version ?? 0) : file.version;
    if (from > 0) yield { file, from: Math.min(from, file.version) };
  }
}

function toPresent(file: FileState): WalkedVersion {
  return { version: file.version, text: file.content, row: null, isShown: true };
}

function toFound(
  { version, text: content, row }: WalkedVersion,
  { file, text }: { file: FileState; text: string },
): FoundVersions {
  const isCurrent = version === file.version;
  return {
    path: toPhysicalPath(file),
    ...toOwner(file.scope),
    fromVersion: version,
    toVersion: version,
    toRevisionId: isCurrent ? file.latestRevisionId : (row?.id ?? null),
    current: isCurrent,
    ...findText(content ?? '', text),
  };
}

/** Where a content has a text: how often, and the first lines in which it begins. */
export function findText(content: string, text: string): Pick<FoundVersions, 'matches' | 'lines'> {
  const lines: FoundVersions['lines'] = [];
  let matches = 0;
  let line = 1;
  let lineStart = 0;
  for (const { index: at } of content.matchAll(toTextPattern(text))) {
    matches += 1;
    if (lines.length === LINES_SHOWN) continue;
    for (let end = content.indexOf('\n', lineStart); end >= 0 && end < at;) {
      line += 1;
      lineStart = end + 1;
      end = content.indexOf('\n', lineStart);
    }
    if (lines.at(-1)?.line === line) continue;
    const end = content.indexOf('\n', at);
    const shown = content.slice(lineStart, end < 0 ? undefined : end).replace(/\r$/, '');
    lines.push({ line, text: cutLine(shown, at - lineStart) });
  }
  return { matches, lines };
}
