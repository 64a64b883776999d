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
  RevertAnswer,
  RevertSelection,
  RevertWritesAnswer,
  RevisionListQuery,
} from '../contracts/admin.ts';
import type { FileKey, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { RunRevision } from '../contracts/plugin.ts';
import { MemoryError } from '../errors.ts';
import { countLines } from '../files/content.ts';
import { blameLines } from './blame.ts';
import { toBlameAnswer } from './blame-answer.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import type { AdminAuthor, AdminCaller, AdminWritten, Restoration } from '../files/admin-files.ts';
import { isUuid } from '../ids/ids.ts';
import { answerList, readRows } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { listChanges } from './memory-diff.ts';
import { pruneRevisions } from './prune.ts';
import { redactRevision } from './redact.ts';
import { describeLaterWrites, type RevertLink, revertWrites } from './revert-writes.ts';
import { versionConflict } from '../files/draft.ts';
import { listReadBefore } from './read-before.ts';
import type { HistoryParts } from './history-parts.ts';
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
  parseUserId,
  toPhysicalPath,
  toScope,
  toUserId,
} from '../files/paths.ts';
import { parseTime, parseTimeOrNull, toTime, toTimeOrNull } from '../time/time.ts';
import { TRIES } from './write-batches.ts';

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
   * 50 revisions include the reads; `get` includes them for any revision.
   */
  blame(
    key: FileKey,
    at: { version: number; content: string },
  ): Promise<{ blame: BlamedLines[]; blameEnd: number | null }>;
  /**
   * Writes the content from before a revision as a new revision; reverts a move on both paths. A file
   * that was written since is left, unless `ifVersion` names its present version.
   */
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

/** What a revert of one revision is to make of a path. */
interface RevertPlan extends Restoration {
  ifVersion: number;
  present: string | null;
  outcome: 'reverted' | 'unchanged' | 'changed_since';
  /** Who wrote the path since; `null` if it is as the revision left it. */
  since: string | null;
}

/** Creates the history of a storage; reverts go through the one write path. */
export function createRevisions(
  deps: Omit<HistoryParts, keyof Texts> & { accessQueue: Pick<AccessQueue, 'flush'> },
): Revisions {
  const { storage } = deps;
  const parts: HistoryParts = { ...deps, ...createTexts(storage) };
  const { textAt, textsOf } = parts;

  const blame = (key: FileKey, at: { version: number; content: string }) =>
    noteDamage(storage, () => blameLines(storage.revisions, key, at));

  async function find(id: string): Promise<RevisionRecord> {
    const revision = await storage.revisions.get(parseRevisionId(id));
    if (revision === null) throw revisionNotFound(id);
    return revision;
  }

  /**
   * What a revert makes of a path. With a precondition, the caller has seen what was written since
   * (`isInsisting`), and a move is reverted only while its other path is as the move left it.
   */
  async function planRevert(
    revision: RevisionRecord,
    { expected, isInsisting }: { expected: number | undefined; isInsisting: boolean },
  ): Promise<RevertPlan> {
    const key = { scope: revision.scope, path: revision.path };
    if (revision.redactedBefore) throw redactedBefore(revision);
    const { before } = await textsOf(revision);
    const head = await storage.files.get(key);
    const present = head?.content ?? null;
    const version = present === null ? 0 : (head?.version ?? 0);
    const since = await describeLaterWrites(parts, revision, head);
    const isOther = isInsisting && expected === undefined;
    const wanted =
      isOther && since !== null ? (revision.existsAfter ? revision.version : 0) : expected;
    if (wanted !== undefined && wanted !== version) {
      throw versionConflict(toPhysicalPath(key), { expected: wanted, actual: version });
    }
    const outcome =
      present === before
        ? 'unchanged'
        : since === null || isInsisting
          ? 'reverted'
          : 'changed_since';
    return { key, content: before, ifVersion: version, present, outcome, since };
  }

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
      const pause = createPause();
      const revision = await find(id);
      const { before, after } = await textsOf(revision);
      const path = toPhysicalPath(revision);
      await deps.accessQueue.flush();
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
    },

    async contentAt(key, { version, at }) {
      const path = toPhysicalPath(key);
      if (at !== undefined) {
        const { content, revision } = await fileAt(parts, key, { at: parseTime(at, 'at') });
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

    diff: (query) => listChanges(parts, query),

    fileAt: (key, point) => fileAt(parts, key, point),

    memoryAt: (scope, options) => memoryAt(storage.revisions, scope, options),

    async blame(key, at) {
      const { ranges, oldestAt } = await blame(key, at);
      await deps.accessQueue.flush();
      return await toBlameAnswer(ranges, { log: storage.log, oldestAt });
    },

    revertWrites: (selection, caller, links = []) =>
      revertWrites(parts, selection, { caller, links }),

    async revert(id, { dryRun = false, ifVersion }, caller) {
      const startedAt = deps.now();
      const revision = await find(id);
      const peer = revision.peerId === null ? null : await storage.revisions.get(revision.peerId);
      // To revert one path of a move alone would lose the content that was moved.
      if (revision.peerId !== null && peer === null) throw revisionNotFound(revision.peerId);
      const both = peer === null ? [revision] : [revision, peer];
      for (let tries = 1; ; tries += 1) {
        const plans: RevertPlan[] = [];
        for (const one of both) {
          const expected = one === revision ? ifVersion : undefined;
          plans.push(await planRevert(one, { expected, isInsisting: ifVersion !== undefined }));
        }
        // To revert one path of a move alone would lose the content that was moved.
        const isLeft = plans.some(({ outcome }) => outcome === 'changed_since');
        try {
          const written =
            dryRun || isLeft
              ? []
              : await deps.files.restore(
                  plans,
                  {
                    reason: `Reverts revision ${revision.id}.`,
                    ...{ target: revision.id, startedAt },
                    // Reverting a dream must not trigger another dream.
                    qualifies: revision.actor !== 'dream-agent',
                  },
                  caller,
                );
          const files = plans.map((plan, index) => toReverted(plan, written[index], { isLeft }));
          return { dryRun, unchanged: files.every((file) => file.unchanged), files };
        } catch (error) {
          const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
          if (!isConflict || ifVersion !== undefined || tries === TRIES) throw error;
        }
      }
    },

    async redact(id, request, caller) {
      return await redactRevision(parts, await find(id), { ...request, caller });
    },

    prune: (request, caller) => pruneRevisions(parts, request, caller),

    async lineTimes(key) {
      const file = await storage.files.get(key);
      if (file === null || file.content === null) return { version: 0, times: [] };
      const { version, content } = file;
      const { ranges, oldestAt } = await blame(key, { version, content });
      const oldest = oldestAt ?? file.updatedAt;
      const times: number[] = [];
      for (const { startLine, endLine, revision } of ranges) {
        for (let line = startLine; line <= endLine; line++) times.push(revision?.at ?? oldest);
      }
      return { version, times };
    },

    async ofRun(scope, runId) {
      const found: RunRevision[] = [];
      const rows = readRows((page) => storage.revisions.list({ scope, runId }, page));
      for await (const revision of rows) {
        const contents = await (
          isWhole(revision) ? textsOf(revision) : Promise.resolve(null)
        ).catch((error: unknown) => {
          if (error instanceof MemoryError && error.code === 'REVISION_NOT_FOUND') return null;
          throw error;
        });
        found.push({ revision, contents });
      }
      return found;
    },
  };
}

/** Reports a malformed id as not found, like an unknown one. */
function parseRevisionId(id: string): string {
  if (isUuid(id)) return id;
  throw revisionNotFound(id);
}

function redactedBefore({ id }: RevisionRecord): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', 'The content before this revision is redacted.', {
    details: { id, reason: 'redacted' },
  });
}

/** What became of a path of a reverted revision. `isLeft`: it or the other path was written since. */
function toReverted(
  { key, content, present, outcome, since, ifVersion }: RevertPlan,
  written: AdminWritten | undefined,
  { isLeft }: { isLeft: boolean },
): RevertAnswer['files'][number] {
  const path = toPhysicalPath(key);
  const isWritten = written !== undefined && written.revisionId !== '';
  const planned = isLeft && outcome === 'reverted' ? 'changed_since' : outcome;
  const why = {
    unchanged: null,
    reverted: since === null ? null : `${since} The revert takes that out, too.`,
    changed_since: since ?? 'The other path of the move was written since.',
  }[planned];
  return {
    path,
    outcome: planned,
    version: isWritten ? written.version : null,
    revisionId: isWritten ? written.revisionId : null,
    why,
    diff: planned === 'reverted' ? unifiedDiff(present, content, { path }) : '',
    diffOmitted: false,
    unchanged: planned === 'unchanged',
    fromVersion: ifVersion === 0 ? null : ifVersion,
  };
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
