import type { Influence, InfluencedAccess, InfluenceQuery } from '../contracts/admin.ts';
import type { AccessRecord, FileKey, RevisionRecord } from '../contracts/records.ts';
import type { AccessFilter, PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { sliceLines } from '../files/content.ts';
import {
  fileNotFound,
  parsePhysicalPath,
  parseUserId,
  toFilteredScope,
  toPhysicalPath,
} from '../files/paths.ts';
import { followLine, type LineHistory } from '../history/line-history.ts';
import { noteDamage } from '../history/texts.ts';
import { type Revisions, toAdminRevision } from '../history/revisions.ts';
import { isUuid } from '../ids/ids.ts';
import { answerList } from '../lists/page.ts';
import { parseTimeOrNull } from '../time/time.ts';
import { toAdminAccess } from './access-log.ts';
import { showsLine } from './shown-lines.ts';

interface InfluenceDependencies {
  storage: Storage;
  revisions: Pick<Revisions, 'contentAt'>;
}

/** The accesses that show content, whole or in part. */
const SHOWING = ['read', 'context', 'find'] as const;
/** Rows of one query. */
const ROWS = 500;
/** The most rows that a page examines for a line, and the most queries that it makes. */
const MAX_EXAMINED = 10_000;
const MAX_READS = 40;

/**
 * Lists who was shown the content of a revision, or one line of it in whatever version. Throws
 * `INVALID_REQUEST`, `FILE_NOT_FOUND`, and `REVISION_NOT_FOUND` for a line of a pruned version.
 */
export async function readInfluence(
  deps: InfluenceDependencies,
  query: InfluenceQuery,
): Promise<Influence> {
  const { storage } = deps;
  checkQuery(query);
  const filter: AccessFilter = {
    userId: query.userId === undefined ? null : parseUserId(query.userId),
    scope: toFilteredScope({ spaceId: query.spaceId }),
    tool: query.tool ?? null,
    since: parseTimeOrNull(query.since, 'since'),
    until: parseTimeOrNull(query.until, 'until'),
    actions: SHOWING,
  };
  const { key, version, revision } = await findVersion(storage, query);
  if (query.line === undefined || key === null) {
    const revisionId = revision?.id ?? query.revisionId ?? '';
    const list = await answerList(query, {
      list: 'influence',
      read: (page) => storage.log.listAccess({ ...filter, revisionId }, page),
      toItem: (row): InfluencedAccess => ({ ...toAdminAccess(row), line: null }),
    });
    return { revision: revision && toAdminRevision(revision), line: null, ...list };
  }
  const { content, lines } = await deps.revisions.contentAt(key, { version });
  const { line } = query;
  if (line > lines)
    throw invalid('line', `must be at most ${lines}: version ${version} ends there`);
  const history = await noteDamage(storage, () =>
    followLine(storage, { file: key, version, line }),
  );
  const list = await answerList(query, {
    list: 'influence',
    read: (page) => listShown(storage, { history, filter: { ...filter, outcome: 'ok' } }, page),
    toItem: ({ row, line: place }): InfluencedAccess => ({ ...toAdminAccess(row), line: place }),
  });
  return {
    revision: revision && toAdminRevision(revision),
    line: {
      path: toPhysicalPath(key),
      version,
      line,
      text: sliceLines(content, line, line).replace(/\r?\n$/, ''),
      complete: history.isComplete,
    },
    ...list,
  };
}

function checkQuery({ revisionId, path, version, line }: InfluenceQuery): void {
  if ((revisionId === undefined) === (path === undefined)) {
    throw invalid('revisionId', 'is required, or path in its place');
  }
  if (version !== undefined && path === undefined) throw invalid('version', 'is given with path');
  if (line !== undefined && revisionId !== undefined && !isUuid(revisionId)) {
    throw new MemoryError('REVISION_NOT_FOUND', undefined, { details: { id: revisionId } });
  }
}

function invalid(parameter: keyof InfluenceQuery, message: string): MemoryError {
  return invalidField(`/${parameter}`, message, parameter);
}

/** The version that a query means. `key` is `null` for a revision that is not kept. */
async function findVersion(
  storage: Storage,
  { revisionId, path, version, line }: InfluenceQuery,
): Promise<
  | { key: FileKey; version: number; revision: RevisionRecord | null }
  | { key: null; version: 0; revision: null }
> {
  if (path === undefined) {
    const revision = isUuid(revisionId ?? '')
      ? await storage.revisions.get(revisionId ?? '')
      : null;
    if (revision !== null) return { key: revision, version: revision.version, revision };
    if (line === undefined) return { key: null, version: 0, revision };
    throw new MemoryError('REVISION_NOT_FOUND', undefined, { details: { id: revisionId } });
  }
  const key = parsePhysicalPath(path);
  const wanted = version ?? (await storage.files.read(key))?.version;
  if (wanted === undefined) throw fileNotFound(path);
  const revision = await storage.revisions.ofVersion(key, wanted);
  if (revision === null && line === undefined) {
    throw new MemoryError('REVISION_NOT_FOUND', undefined, { details: { path, version: wanted } });
  }
  return { key, version: wanted, revision };
}

/** An access that showed a line, and the line's number in the version shown. */
interface ShownLine {
  row: AccessRecord;
  line: number;
}

/**
 * Lists the accesses that showed a line, in the order of their ids over all files that it was in.
 * A page may come short: it examines a bounded number of rows.
 */
async function listShown(
  { log }: Pick<Storage, 'log'>,
  { history, filter }: { history: LineHistory; filter: AccessFilter },
  { order, after, limit }: PageRequest,
): Promise<PageResult<ShownLine>> {
  const sources = history.files.map((places) => ({
    places,
    rows: [] as AccessRecord[],
    next: after as PageResult<unknown>['next'],
    isEnded: false,
  }));
  type Source = (typeof sources)[number];
  /** How far the rows of a file were passed on; `null` at the very beginning. */
  const placeOf = ({ rows, next }: Source) => rows[0]?.id ?? (next && String(next[0]));
  const isBefore = (one: string | null, other: string | null) =>
    other !== null && (one === null || (order === 'asc' ? one < other : one > other));
  const items: ShownLine[] = [];
  let examined = 0;
  let reads = 0;
  for (;;) {
    const open = sources.filter(({ rows, isEnded }) => rows.length > 0 || !isEnded);
    const [first, ...others] = open;
    if (first === undefined) return { items, next: null };
    const source = others.reduce(
      (nearest, other) => (isBefore(placeOf(other), placeOf(nearest)) ? other : nearest),
      first,
    );
    const row = source.rows.shift();
    if (row === undefined) {
      if (reads >= MAX_READS) return { items, next: source.next };
      reads += 1;
      const page = { limit: ROWS, order, after: source.next };
      const read = await log.listAccess({ ...filter, path: source.places.file }, page);
      source.rows = [...read.items];
      source.next = read.next;
      source.isEnded = read.next === null;
      continue;
    }
    examined += 1;
    const line = placeIn(source.places, row);
    // Which lines older rows showed is unknown: they may have shown this one.
    if (line !== null && showsLine(row.lines, line) !== false) items.push({ row, line });
    if (items.length === limit || examined >= MAX_EXAMINED) return { items, next: [row.id] };
  }
}

function placeIn(
  { byVersion, byRevision }: LineHistory['files'][number],
  { version, revisionId }: AccessRecord,
): number | null {
  if (version !== null) return byVersion.get(version) ?? null;
  return revisionId === null ? null : (byRevision.get(revisionId) ?? null);
}
