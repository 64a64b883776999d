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
  ReadBefore,
  RedactAnswer,
  RedactRequest,
  RevertAnswer,
  RevertSelection,
  RevertWritesAnswer,
  RevisionListQuery,
} from '../contracts/admin.ts';
import { toAuditRecord } from '../audit.ts';
import type { FileKey, RevisionRecord, RevisionStep, ScopeKey } from '../contracts/records.ts';
import type { RunRevision } from '../contracts/plugin.ts';
import type { PruneFilter, RevisionChain, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { countLines, hashText } from '../files/content.ts';
import { type BlamedRange, blameLines } from './blame.ts';
import { applyDelta } from './delta.ts';
import { decodeDelta } from './delta/codec.ts';
import { toPruned } from './chain.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import type {
  AdminAuthor,
  AdminCaller,
  AdminFiles,
  AdminWritten,
  Restoration,
} from '../files/admin-files.ts';
import { type IdSource, isUuid } from '../ids.ts';
import { answerList } from '../page.ts';
import { createPause } from '../pause.ts';
import { listChanges } from './memory-diff.ts';
import { redactRevision } from './redact.ts';
import { type RevertLink, revertWrites } from './revert-writes.ts';
import { versionConflict } from '../files/draft.ts';
import { listReadBefore } from './read-before.ts';
import { type EarlierMemory, type EarlierText, fileAt, memoryAt } from './time-travel.ts';
import {
  parsePhysicalPath,
  parseUserId,
  toPhysicalPath,
  toScope,
  toUserId,
} from '../files/paths.ts';
import { parseTime, parseTimeOrNull, toTime, toTimeOrNull } from '../time.ts';

/** The history of memory files: reading, reverting and pruning revisions. */
export interface Revisions {
  list(query: RevisionListQuery): Promise<ListAnswer<AdminRevision>>;
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
   * {@link READ_BEFORE_REVISIONS} revisions include the reads; `get` includes them for any revision.
   */
  blame(
    key: FileKey,
    at: { version: number; content: string },
  ): Promise<{ blame: BlamedLines[]; blameEnd: number | null }>;
  /** Writes the content from before a revision as a new revision; reverts a move on both paths. */
  revert(
    id: string,
    options: { dryRun?: boolean | undefined; ifVersion?: number | undefined },
    caller: AdminCaller,
  ): Promise<RevertAnswer>;
  /** Reverts all writes of a dream run, of a tool call, or of an actor since a time. */
  revertWrites(
    selection: RevertSelection,
    caller: AdminCaller,
    links?: readonly RevertLink[],
  ): Promise<RevertWritesAnswer>;
  /** Takes the content of a revision out of the history for good; see `redact.ts`. */
  redact(id: string, request: RedactRequest, caller: AdminAuthor): Promise<RedactAnswer>;
  prune(request: PruneRequest, caller: AdminCaller): Promise<PruneAnswer>;
  /**
   * When each line of a file was written; a line whose revision is pruned gets the time of the
   * oldest remaining revision. Version 0 if the file doesn't exist.
   */
  lineTimes(key: FileKey): Promise<{ version: number; times: readonly number[] }>;
  /** What a run wrote in one scope: its revisions, oldest first, with their contents. */
  ofRun(scope: ScopeKey, runId: string): Promise<RunRevision[]>;
}

/** The content of a file before and after a revision; `null` where the file did not exist. */
type RevisionContents = NonNullable<RunRevision['contents']>;

/** Creates the history of a storage; reverts go through the one write path. */
export function createRevisions(deps: {
  storage: Storage;
  files: AdminFiles;
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'flush'>;
  now: () => number;
}): Revisions {
  const { storage } = deps;

  async function find(id: string): Promise<RevisionRecord> {
    const revision = await storage.revisions.get(parseRevisionId(id));
    if (revision === null) throw revisionNotFound(id);
    return revision;
  }

  async function textAt(key: FileKey, version: number): Promise<string | null> {
    try {
      return await readTextAt(key, version);
    } catch (error) {
      if (error instanceof MemoryError) storage.noteDamage?.(error);
      throw error;
    }
  }

  async function readTextAt(key: FileKey, version: number): Promise<string | null> {
    const chain = await storage.revisions.chain(key, version);
    if (chain === null) return null;
    let { hash }: { hash: string | null } = chain.file;
    if (version !== chain.file.version) {
      const made = await storage.revisions.ofVersion(key, version);
      // Of a pruned revision, the next one tells it.
      const next = made === null ? await storage.revisions.ofVersion(key, version + 1) : null;
      if (made?.redacted === true || next?.redactedBefore === true) return null;
      hash = made?.hash ?? null;
    }
    const content = await walkBack(chain, version);
    if (content === null) return null;
    if (hash !== null && hash !== hashText(content)) throw damagedHistory();
    return content;
  }

  /** The text that the rows lead to: for a redacted version, one with as many lines. */
  async function storedTextAt(key: FileKey, version: number): Promise<string | null> {
    const chain = await storage.revisions.chain(key, version);
    return chain === null ? null : await walkBack(chain, version);
  }

  /** Content before and after a revision. */
  async function textsOf(revision: RevisionRecord): Promise<RevisionContents> {
    const hasBefore = revision.existedBefore && !revision.redactedBefore;
    const hasAfter = revision.existsAfter && !revision.redacted;
    const before = hasBefore ? await textAt(revision, revision.version - 1) : null;
    const after = hasAfter ? await textAt(revision, revision.version) : null;
    // Pruned since it was found. Treating its contents as absent would let a revert delete the file.
    if (hasBefore !== (before !== null) || hasAfter !== (after !== null)) {
      throw revisionNotFound(revision.id);
    }
    return { before, after };
  }

  /** What the writers of the newest revisions had read, by revision. */
  async function listReads(
    revisions: readonly (RevisionRecord | null)[],
  ): Promise<ReadonlyMap<string, ReadBefore[]>> {
    const newest = [...new Map(revisions.map((revision) => [revision?.id, revision])).values()]
      .filter((revision) => revision !== null)
      .sort((one, other) => other.at - one.at)
      .slice(0, READ_BEFORE_REVISIONS);
    const readBefore = new Map<string, ReadBefore[]>();
    let length = 0;
    for (const revision of newest) {
      const reads = await listReadBefore(storage.log, revision);
      length += JSON.stringify(reads).length;
      if (length > READ_BEFORE_LENGTH) break;
      readBefore.set(revision.id, reads);
    }
    return readBefore;
  }

  const readFileAt = (key: FileKey, at: number) =>
    fileAt({ revisions: storage.revisions, textAt }, key, { at });

  return {
    async list(query) {
      const { path, userId } = query;
      const filter = {
        path: path === undefined ? null : parsePhysicalPath(path),
        scope: userId === undefined ? null : toScope(parseUserId(userId)),
        actor: query.actor ?? null,
        action: query.action ?? null,
        runId: query.runId ?? null,
        traceId: query.traceId ?? null,
        toolCallId: query.toolCallId ?? null,
        since: parseTimeOrNull(query.since, 'since'),
        until: parseTimeOrNull(query.until, 'until'),
      };
      return await answerList(query, {
        list: 'revisions',
        read: (page) => storage.revisions.list(filter, page),
        toItem: toAdminRevision,
      });
    },

    async get(id) {
      const revision = await find(id);
      const { before, after } = await textsOf(revision);
      const path = toPhysicalPath(revision);
      await deps.accessQueue.flush();
      return {
        ...toAdminRevision(revision),
        contentBefore: before,
        contentAfter: after,
        afterReading: await listReadBefore(storage.log, revision),
        hash: revision.chainHash,
        previousHash: revision.previousHash,
        // Half of a diff would show that the other half is what was taken out.
        diff: isWhole(revision) ? unifiedDiff(before, after, { path }) : '',
      };
    },

    async contentAt(key, { version, at }) {
      const path = toPhysicalPath(key);
      if (at !== undefined) {
        const { content, revision } = await readFileAt(key, parseTime(at, 'at'));
        return toEarlierContent({ content, version: revision.version, made: revision });
      }
      const wanted = version ?? 0;
      const made = await storage.revisions.ofVersion(key, wanted);
      const content = await textAt(key, wanted);
      if (content === null) {
        const message =
          made?.redacted === true
            ? `The content of ${path} at version ${wanted} is redacted.`
            : `${path} has no content at version ${wanted}.`;
        throw new MemoryError('REVISION_NOT_FOUND', message, {
          details: { path, version: wanted },
        });
      }
      return toEarlierContent({ content, version: wanted, made });
    },

    async contents(id) {
      const revision = await find(id);
      return isWhole(revision) ? await textsOf(revision) : null;
    },

    textAt,

    diff: (query) => listChanges({ revisions: storage.revisions, now: deps.now, textAt }, query),

    fileAt: (key, { at }) => readFileAt(key, at),

    memoryAt: (scope, options) => memoryAt(storage.revisions, scope, options),

    async blame(key, at) {
      const { ranges, oldestAt } = await blameLines(storage.revisions, key, at);
      await deps.accessQueue.flush();
      const readBefore = await listReads(ranges.map(({ revision }) => revision));
      return toBlameAnswer(ranges, { oldestAt, readBefore });
    },

    revertWrites: (selection, caller, links = []) =>
      revertWrites({ storage, files: deps.files, textAt, now: deps.now }, selection, {
        caller,
        links,
      }),

    async revert(id, { dryRun = false, ifVersion }, caller) {
      const startedAt = deps.now();
      const revision = await find(id);
      const peer = revision.peerId === null ? null : await storage.revisions.get(revision.peerId);
      // To revert one path of a move alone would lose the content that was moved.
      if (revision.peerId !== null && peer === null) throw revisionNotFound(revision.peerId);
      const restorations: (Restoration & { present: string | null })[] = [];
      for (const one of peer === null ? [revision] : [revision, peer]) {
        const key = { scope: one.scope, path: one.path };
        if (one.redactedBefore) throw redactedBefore(one);
        const { before } = await textsOf(one);
        const head = await storage.files.get(key);
        const present = head?.content ?? null;
        // With a precondition, the other path of a move must be as the move left it, too.
        const expected =
          one === revision || ifVersion === undefined
            ? ifVersion
            : one.existsAfter
              ? one.version
              : 0;
        const actual = present === null ? 0 : (head?.version ?? 0);
        if (dryRun && expected !== undefined && expected !== actual) {
          throw versionConflict(toPhysicalPath(key), { expected, actual });
        }
        restorations.push({ key, content: before, ifVersion: expected, present });
      }
      const written = dryRun
        ? []
        : await deps.files.restore(
            restorations,
            {
              reason: `Reverts revision ${revision.id}.`,
              ...{ target: revision.id, startedAt },
              // Reverting a dream must not trigger another dream.
              qualifies: revision.actor !== 'dream-agent',
            },
            caller,
          );
      const files = restorations.map(({ key, content, present }, index) => ({
        path: toPhysicalPath(key),
        ...toOutcome(written[index]),
        unchanged: written[index]?.unchanged ?? content === present,
        diff: unifiedDiff(present, content, { path: toPhysicalPath(key) }),
      }));
      return { dryRun, unchanged: files.every((file) => file.unchanged), files };
    },

    async redact(id, request, caller) {
      const revision = await find(id);
      return await redactRevision({ storage, ids: deps.ids, storedTextAt }, revision, {
        ...request,
        caller,
      });
    },

    async prune(request, { address, traceId }) {
      const { olderThan, keepLast, userId, path, dryRun = false } = request;
      if (olderThan === undefined && keepLast === undefined) {
        const message = 'needs olderThan, keepLast or both';
        throw new MemoryError('INVALID_REQUEST', `A prune ${message}.`, {
          details: { issues: [{ path: '', message }] },
        });
      }
      if (keepLast !== undefined && !(Number.isSafeInteger(keepLast) && keepLast >= 1)) {
        const message = 'must be a whole number from 1: the newest revision stays';
        throw new MemoryError('INVALID_REQUEST', `keepLast ${message}.`, {
          details: { issues: [{ path: '/keepLast', message }] },
        });
      }
      const filter: PruneFilter = {
        scope: userId === undefined ? null : toScope(parseUserId(userId)),
        path: path === undefined ? null : parsePhysicalPath(path),
        olderThan: parseTimeOrNull(olderThan, 'olderThan'),
        keepLast: keepLast ?? 1,
      };
      const count = await storage.revisions.prune(filter, {
        dryRun,
        keep: toPruned,
        audit: ({ pruned, bytes }) =>
          toAuditRecord(deps.ids, {
            action: 'revisions.prune',
            target: path ?? userId ?? 'all',
            details: { olderThan: olderThan ?? null, keepLast: filter.keepLast, pruned, bytes },
            address,
            traceId,
          }),
      });
      return { ...count, dryRun };
    },

    async lineTimes(key) {
      const file = await storage.files.get(key);
      if (file === null || file.content === null) return { version: 0, times: [] };
      const { version, content } = file;
      const { ranges, oldestAt } = await blameLines(storage.revisions, key, { version, content });
      const oldest = oldestAt ?? file.updatedAt;
      const times = ranges.flatMap(({ startLine, endLine, revision }) =>
        Array<number>(endLine - startLine + 1).fill(revision?.at ?? oldest),
      );
      return { version, times };
    },

    async ofRun(scope, runId) {
      const found: RunRevision[] = [];
      let after: readonly (string | number)[] | null = null;
      do {
        const page = { limit: 200, order: 'asc', after } as const;
        const { items, next } = await storage.revisions.list({ scope, runId }, page);
        for (const revision of items) {
          const contents = await (
            isWhole(revision) ? textsOf(revision) : Promise.resolve(null)
          ).catch((error: unknown) => {
            if (error instanceof MemoryError && error.code === 'REVISION_NOT_FOUND') return null;
            throw error;
          });
          found.push({ revision, contents });
        }
        after = next;
      } while (after !== null);
      return found;
    },
  };
}

/** How many of a blame's revisions include what their writer had read. */
const READ_BEFORE_REVISIONS = 50;
/** The longest JSON of these reads, and of the lines of a blame, in UTF-16 units. */
const READ_BEFORE_LENGTH = 1024 * 1024;
const BLAME_LENGTH = 4 * 1024 * 1024;

/** The lines as the admin API shows them, from the first on, as many as may be sent. */
function toBlameAnswer(
  ranges: readonly BlamedRange[],
  {
    oldestAt,
    readBefore,
  }: { oldestAt: number | null; readBefore: ReadonlyMap<string, ReadBefore[]> },
): { blame: BlamedLines[]; blameEnd: number | null } {
  const blame: BlamedLines[] = [];
  const seen = new Set<string>();
  let length = 0;
  for (const { startLine, endLine, revision } of ranges) {
    const id = revision?.id ?? null;
    const lines: BlamedLines = {
      startLine,
      endLine,
      revisionId: id,
      version: revision?.version ?? null,
      actor: revision?.actor ?? null,
      reason: revision?.reason ?? null,
      tool: revision?.tool ?? null,
      toolCallId: revision?.toolCallId ?? null,
      at: toTimeOrNull(revision?.at ?? null),
      ...(revision?.redacted === true ? { redacted: true } : {}),
      before: revision === null ? toTimeOrNull(oldestAt) : null,
      ...(id !== null && seen.has(id) ? {} : { afterReading: readBefore.get(id ?? '') ?? null }),
    };
    length += JSON.stringify(lines).length;
    if (length > BLAME_LENGTH) return { blame, blameEnd: startLine - 1 };
    if (id !== null) seen.add(id);
    blame.push(lines);
  }
  return { blame, blameEnd: null };
}

/** The content before a revision of a file that existed; `null` if it can't be derived. */
function stepBack(content: string | null, { keyframe, delta }: RevisionStep): string | null {
  if (keyframe !== null) return keyframe;
  if (content === null || delta === null) return null;
  try {
    return applyDelta(content, decodeDelta(delta));
  } catch (error) {
    throw damagedHistory(error);
  }
}

function damagedHistory(cause?: unknown): MemoryError {
  return new MemoryError('STORAGE_DAMAGED', 'The stored history of a file is damaged.', {
    details: { reason: 'history' },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Reports a malformed id as not found, like an unknown one. */
function parseRevisionId(id: string): string {
  if (isUuid(id)) return id;
  throw revisionNotFound(id);
}

function revisionNotFound(id: string): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
}

function isWhole(revision: RevisionRecord): boolean {
  return !revision.redacted && !revision.redactedBefore;
}

function redactedBefore({ id }: RevisionRecord): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', 'The content before this revision is redacted.', {
    details: { id, reason: 'redacted' },
  });
}

/** Walks from the head to a version's content; `null` if it didn't exist or is pruned. */
async function walkBack({ file, steps }: RevisionChain, version: number): Promise<string | null> {
  const pause = createPause();
  if (version > file.version || version < 0) return null;
  const top = steps.at(-1);
  if (top === undefined) return version === file.version ? file.content : null;
  let content: string | null = file.content;
  // A chain that ends before the head starts with a keyframe or a creation, which need no newer text.
  let at = top.keyframe !== null || !top.existedBefore ? top.version : file.version;
  for (const step of [...steps].reverse()) {
    if (step.version !== at) return null;
    content = step.existedBefore ? stepBack(content, step) : null;
    if (step.existedBefore && content === null) return null;
    at -= 1;
    await pause();
  }
  return at === version ? content : null;
}

function toOutcome(written: AdminWritten | undefined): {
  version: number | null;
  revisionId: string | null;
} {
  if (written === undefined || written.revisionId === '')
    return { version: null, revisionId: null };
  return { version: written.version, revisionId: written.revisionId };
}

function toEarlierContent({
  content,
  version,
  made,
}: {
  content: string;
  version: number;
  made: RevisionRecord | null;
}): EarlierContent {
  return {
    content,
    version,
    size: Buffer.byteLength(content),
    lines: countLines(content),
    updatedAt: toTimeOrNull(made?.at ?? null),
    latestActor: made?.actor ?? null,
    latestRevisionId: made?.id ?? null,
  };
}

/** A revision as admin lists show it. */
export function toAdminRevision(revision: RevisionRecord): AdminRevision {
  return {
    id: revision.id,
    path: toPhysicalPath(revision),
    userId: toUserId(revision.scope),
    version: revision.version,
    action: revision.action,
    actor: revision.actor,
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
    redacted: revision.redacted,
    redactedBefore: revision.redactedBefore,
  };
}
