import type {
  AdminRevision,
  AdminRevisionDetail,
  BlamedLines,
  ChangedFile,
  DiffQuery,
  EarlierContent,
  FilePointQuery,
  ListAnswer,
  PruneAnswer,
  PruneRequest,
  RedactAnswer,
  RedactRequest,
  RedactTextAnswer,
  RedactTextRequest,
  RevertAnswer,
  RevertRequest,
  RevertSelection,
  RevertWritesAnswer,
  RevisionListQuery,
  RevisionValuesQuery,
  UnfinishedRedaction,
  ValueCounts,
} from '../contracts/admin.ts';
import type { FileKey, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { AuditCaller, RunRevision } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { blameLines } from './blame.ts';
import { readContentAt } from './content-at.ts';
import { toBlameAnswer } from './blame-answer.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import { isUuid } from '../ids/ids.ts';
import { countValues } from '../lists/count-values.ts';
import { answerList, readRows } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { listChanges } from './memory-diff.ts';
import { pruneRevisions } from './prune.ts';
import { redactRevision } from './redact.ts';
import { redactText, type RedactTextParts } from './redaction/redact-text.ts';
import { listUnfinished } from './redaction/unfinished.ts';
import type { RevertLink } from './undo/carried.ts';
import { type RevertEnd, revertWrites } from './undo/revert.ts';
import { type FollowedLines, followLines, type LinesToFollow } from './undo/follow-lines.ts';
import { undoLines, undoText } from './undo/lines.ts';
import { checkKnown, readList, readSelected, toSelected } from './undo/selection.ts';
import { listReadBefore } from './read-before.ts';
import type { HistoryParts } from './history-parts.ts';
import { isMerged } from './undo/taken-back.ts';
import {
  createTexts,
  isWhole,
  noteDamage,
  type RevisionContents,
  revisionNotFound,
  type Texts,
} from './texts.ts';
import { type EarlierMemory, type EarlierText, fileAt, memoryAt } from './time-travel.ts';
import {
  parsePhysicalPath,
  parsePhysicalPrefix,
  toFilteredScope,
  toOwner,
  toPhysicalPath,
} from '../files/paths.ts';
import { parseTimeOrNull, toTime } from '../time/time.ts';

/** The history of memory files: reading, reverting and pruning revisions. */
export interface Revisions {
  list(query: RevisionListQuery): Promise<ListAnswer<AdminRevision>>;
  /** Counts the values that the filters of the list could have. */
  values(query: RevisionValuesQuery): Promise<ValueCounts>;
  get(id: string): Promise<AdminRevisionDetail>;
  /** The content before and after a revision; `null` where one of them is redacted. */
  contents(id: string): Promise<RevisionContents | null>;
  /** The content of a file at a version or a time. Throws if it didn't exist or is pruned. */
  contentAt(key: FileKey, point: FilePointQuery): Promise<EarlierContent>;
  /** The content of a file at a version; `null` where it did not exist or is pruned. */
  textAt(key: FileKey, version: number): Promise<string | null>;
  /** A file's content at a time in milliseconds; see `time-travel.ts` for what it throws. */
  fileAt(key: FileKey, point: { at: number }): Promise<EarlierText>;
  /** The files that a scope had at a time, a page at a time, without contents. */
  memoryAt(scope: ScopeKey, options: Parameters<typeof memoryAt>[2]): Promise<EarlierMemory>;
  /** The files of a user that differ between two times, with their diffs. */
  diff(query: DiffQuery): Promise<ListAnswer<ChangedFile>>;
  /**
   * Who wrote each line of a content, when, why, and what that writer had read. Only the newest
   * 50 revisions include the reads; `get` includes them for any revision.
   */
  blame(
    key: FileKey,
    at: { version: number; content: string },
  ): Promise<{ blame: BlamedLines[]; blameEnd: number | null }>;
  /**
   * Takes what a revision changed out of the present content; reverts a move on both paths. With
   * `ifVersion`, only while the file is at that version.
   */
  revert(
    id: string,
    options: RevertRequest & { ifVersion?: number | undefined },
    caller: AuditCaller,
  ): Promise<RevertAnswer>;
  /**
   * Reverts all writes of a dream run, of a tool call, of an actor since a time, or of a list; or lines:
   * see `undo/lines.ts`. With `ifVersion`, lines of a file only while it is at that version. Throws for a run
   * and a tool call that are unknown.
   */
  revertWrites(
    request: RevertSelection & { ifVersion?: number | undefined },
    caller: AuditCaller,
    options?: {
      links?: readonly RevertLink[];
      end?: RevertEnd | undefined;
      /** Physical paths that are left as they are. */
      except?: ReadonlySet<string>;
      /** Whether a run of which nothing is known is one that wrote nothing: a plugin may keep no record. */
      mayBeUnknown?: boolean;
    },
  ): Promise<RevertWritesAnswer>;
  /** Takes the content of a revision out of the history for good; see `redact.ts`. */
  redact(id: string, request: RedactRequest, caller: AuditCaller): Promise<RedactAnswer>;
  /** Replaces a text in all versions and records; see `redaction/redact-text.ts`. */
  redactText(request: RedactTextRequest, caller: AuditCaller): Promise<RedactTextAnswer>;
  /** Redactions of texts that began and have not ended. */
  unfinishedRedactions(): Promise<UnfinishedRedaction[]>;
  prune(request: PruneRequest, caller: AuditCaller): Promise<PruneAnswer>;
  /**
   * When each line of a file was written; a line whose revision is pruned gets the time of the
   * oldest remaining revision. Version 0 if the file doesn't exist.
   */
  lineTimes(key: FileKey): Promise<{ version: number; times: readonly number[] }>;
  /**
   * The revision that wrote each line of a file, the first line first; `null` where it is pruned. Version 0 if
   * the file doesn't exist.
   */
  lineWriters(
    key: FileKey,
  ): Promise<{ version: number; writers: readonly (RevisionRecord | null)[] }>;
  /** Where a file and lines of it are now; see `undo/follow-lines.ts`. */
  follow(lines: LinesToFollow): Promise<FollowedLines>;
  /** What a run wrote in one scope: its revisions, oldest first, with their contents. */
  ofRun(scope: ScopeKey, runId: string): Promise<RunRevision[]>;
}

/** Creates the history of a storage; reverts go through the one write path. */
export function createRevisions(deps: Omit<RedactTextParts, keyof Texts>): Revisions {
  const { storage } = deps;
  const parts = { ...deps, ...createTexts(storage) };
  const { textAt, textsOf } = parts;

  async function find(id: string): Promise<RevisionRecord> {
    const revision = await storage.revisions.get(parseRevisionId(id));
    if (revision === null) throw revisionNotFound(id);
    return revision;
  }

  return {
    async list(query) {
      const filter = toFilter(query);
      return await answerList(query, {
        list: 'revisions',
        read: (page) => storage.revisions.list(filter, page),
        toItem: toAdminRevision,
      });
    },

    values: (query) => countRevisionValues(storage, query),

    get: async (id) => await readDetail(parts, await find(id)),

    contentAt: (key, point) => readContentAt(parts, key, point),

    async contents(id) {
      const revision = await find(id);
      return isWhole(revision) ? await textsOf(revision) : null;
    },

    textAt,

    diff: (query) => listChanges(parts, query),

    fileAt: (key, point) => fileAt(parts, key, point),

    memoryAt: (scope, options) => memoryAt(storage.revisions, scope, options),

    async blame(key, at) {
      const { ranges, oldestAt } = await readBlame(storage, key, at);
      await deps.accessQueue.flush();
      return await toBlameAnswer(ranges, { log: storage.log, oldestAt });
    },

    async revertWrites({ ifVersion, ...request }, caller, options = {}) {
      const knownErasure = deps.erasures.latest();
      const { dryRun, onConflict, resolutions } = request;
      const { except = new Set(), mayBeUnknown = false, ...others } = options;
      const reverting = { dryRun, onConflict, resolutions, knownErasure, caller, ...others };
      const { kind, selection } = toSelected(request);
      if (kind === 'text') return await undoText(parts, selection, reverting);
      if (kind === 'lines') {
        const expected =
          ifVersion === undefined ? undefined : { revision: null, version: ifVersion };
        return await undoLines(parts, selection, { ...reverting, expected, isOne: true });
      }
      const selected = await readSelected(parts, selection);
      if (selected.revisions.length === 0 && !mayBeUnknown) {
        await deps.accessQueue.flush();
        await checkKnown(storage, selection);
      }
      const revisions = selected.revisions.filter((one) => !except.has(toPhysicalPath(one)));
      return await revertWrites(parts, { ...selected, revisions }, reverting);
    },

    async revert(id, { ifVersion, ...options }, caller) {
      const knownErasure = deps.erasures.latest();
      const revision = await find(id);
      const expected = ifVersion === undefined ? undefined : { revision, version: ifVersion };
      const selected = await readList(parts, [revision.id]);
      const reverting = { ...options, expected, knownErasure, caller, isOne: true };
      const { dryRun, files } = await revertWrites(parts, selected, reverting);
      const answered = files.map((file) => ({ ...file, unchanged: file.outcome === 'unchanged' }));
      const own = toPhysicalPath(revision);
      answered.sort((one, other) => Number(other.path === own) - Number(one.path === own));
      return { dryRun, unchanged: answered.every((file) => file.unchanged), files: answered };
    },

    redactText: (request, caller) => redactText(parts, request, caller),

    unfinishedRedactions: () => listUnfinished(storage),

    async redact(id, request, caller) {
      return await redactRevision(parts, await find(id), { ...request, caller });
    },

    prune: (request, caller) => pruneRevisions(parts, request, caller),

    lineTimes: (key) => readLineTimes(storage, key),

    async lineWriters(key) {
      const blamed = await blameNewest(storage, key);
      if (blamed === null) return { version: 0, writers: [] };
      const { ranges, file } = blamed;
      const writers = ranges.flatMap(({ startLine, endLine, revision }) =>
        Array<RevisionRecord | null>(endLine - startLine + 1).fill(revision),
      );
      return { version: file.version, writers };
    },

    follow: (lines) => followLines(parts, lines),

    ofRun: (scope, runId) => readRun(parts, scope, runId),
  };
}

function countRevisionValues(storage: Storage, query: RevisionValuesQuery): Promise<ValueCounts> {
  return countValues(query, {
    read: (narrowed, page) => storage.revisions.list(toFilter(narrowed), page),
    timeOf: ({ at }) => at,
    fields: {
      userId: ({ scope }) => toOwner(scope).userId,
      spaceId: ({ scope }) => toOwner(scope).spaceId,
      actor: ({ actor }) => actor,
      action: ({ action }) => action,
    },
  });
}

function toFilter(query: RevisionValuesQuery) {
  const { path, prefix } = query;
  return {
    path: path === undefined ? null : parsePhysicalPath(path),
    prefix: prefix === undefined ? null : parsePhysicalPrefix(prefix),
    contains: query.q ?? null,
    scope: toFilteredScope(query),
    actor: query.actor ?? null,
    action: query.action ?? null,
    runId: query.runId ?? null,
    traceId: query.traceId ?? null,
    toolCallId: query.toolCallId ?? null,
    since: parseTimeOrNull(query.since, 'since'),
    until: parseTimeOrNull(query.until, 'until'),
  };
}

/** What a revision changed, and what its writer had read. */
async function readDetail(
  { storage, accessQueue, textsOf }: HistoryParts & Pick<RedactTextParts, 'accessQueue'>,
  revision: RevisionRecord,
): ReturnType<Revisions['get']> {
  const pause = createPause();
  const { before, after } = await textsOf(revision);
  const path = toPhysicalPath(revision);
  await accessQueue.flush();
  await pause();
  // Half of a diff would show that the other half is what was taken out.
  const diff = isWhole(revision) ? unifiedDiff(before, after, { path }) : '';
  await pause();
  return {
    ...toAdminRevision(revision),
    contentBefore: before,
    contentAfter: after,
    afterReading: await listReadBefore(storage.log, revision),
    hash: revision.chainHash,
    previousHash: revision.previousHash,
    diff,
  };
}

/** Reports a malformed id as not found, like an unknown one. */
function parseRevisionId(id: string): string {
  if (isUuid(id)) return id;
  throw revisionNotFound(id);
}

function readBlame(
  storage: Storage,
  key: FileKey,
  at: { version: number; content: string },
): ReturnType<typeof blameLines> {
  return noteDamage(storage, () => blameLines(storage.revisions, key, at));
}

async function readLineTimes(storage: Storage, key: FileKey): ReturnType<Revisions['lineTimes']> {
  const blamed = await blameNewest(storage, key);
  if (blamed === null) return { version: 0, times: [] };
  const { file, ranges, oldestAt } = blamed;
  const oldest = oldestAt ?? file.updatedAt;
  const times: number[] = [];
  for (const { startLine, endLine, revision } of ranges) {
    for (let line = startLine; line <= endLine; line++) times.push(revision?.at ?? oldest);
  }
  return { version: file.version, times };
}

/** Who wrote the lines of a file as it is now; `null` if it doesn't exist. */
async function blameNewest(storage: Storage, key: FileKey) {
  const file = await storage.files.get(key);
  if (file === null || file.content === null) return null;
  const { version, content } = file;
  return { file, ...(await readBlame(storage, key, { version, content })) };
}

async function readRun(
  { storage, textsOf }: HistoryParts,
  scope: ScopeKey,
  runId: string,
): Promise<RunRevision[]> {
  const found: RunRevision[] = [];
  const rows = readRows((page) => storage.revisions.list({ scope, runId }, page));
  for await (const revision of rows) {
    const contents = await (isWhole(revision) ? textsOf(revision) : Promise.resolve(null)).catch(
      (error: unknown) => {
        if (error instanceof MemoryError && error.code === 'REVISION_NOT_FOUND') return null;
        throw error;
      },
    );
    found.push({ revision, contents });
  }
  return found;
}

/** A revision as admin lists show it. */
export function toAdminRevision(revision: RevisionRecord): AdminRevision {
  return {
    id: revision.id,
    path: toPhysicalPath(revision),
    ...toOwner(revision.scope),
    version: revision.version,
    action: revision.action,
    actor: revision.actor,
    operator: revision.operator,
    reason: revision.reason,
    tool: revision.tool,
    toolCallId: revision.toolCallId,
    traceId: revision.traceId,
    runId: revision.runId,
    at: toTime(revision.at),
    size: revision.size,
    addedLines: revision.addedLines,
    removedLines: revision.removedLines,
    peerId: revision.peerId,
    reverts: revision.reverts,
    merged: revision.reverts !== null && isMerged(revision.reverts, revision.version),
    redacted: revision.redacted,
    redactedBefore: revision.redactedBefore,
    redactionId: revision.redactionId,
  };
}
