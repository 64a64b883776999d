import type {
  AdminRevision,
  AdminRevisionDetail,
  EarlierContent,
  ListAnswer,
  PruneAnswer,
  RevertAnswer,
} from '../contracts/admin.ts';
import type {
  FileKey,
  RevisionAction,
  RevisionRecord,
  RevisionStep,
} from '../contracts/records.ts';
import type { RunRevision } from '../contracts/plugin.ts';
import type { PageRequest, PruneFilter, RevisionChain, Storage } from '../contracts/storage.ts';
import { toAuditRecord } from '../audit.ts';
import { MemoryError } from '../errors.ts';
import { countLines, hashText } from '../files/content.ts';
import { applyDelta, diffTexts } from './delta.ts';
import { decodeDelta } from './delta/codec.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import type { AdminCaller, AdminFiles, AdminWritten, Restoration } from '../files/admin-files.ts';
import { type IdSource, isUuid } from '../ids.ts';
import { given, listPage, type PageQuery, parseGiven } from '../page.ts';
import { createPause } from '../pause.ts';
import {
  parsePhysicalPath,
  parseUserId,
  toPhysicalPath,
  toScope,
  toUserId,
} from '../files/paths.ts';
import { parseTime, parseTimeOrNull, toTime } from '../time.ts';

/** Filters combine with AND. `path` is physical; `since` is inclusive, `until` exclusive. */
export interface RevisionListQuery extends PageQuery {
  path?: string | undefined;
  userId?: string | undefined;
  actor?: string | undefined;
  action?: RevisionAction | undefined;
  runId?: string | undefined;
  traceId?: string | undefined;
  toolCallId?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Which revisions are to go: `olderThan`, `keepLast` or both are required. */
export interface PruneRequest {
  olderThan?: string | undefined;
  keepLast?: number | undefined;
  userId?: string | undefined;
  path?: string | undefined;
  dryRun?: boolean | undefined;
}

/** The history of memory files: reading it, going back in it, pruning it. */
export interface Revisions {
  list(query: RevisionListQuery): Promise<ListAnswer<AdminRevision>>;
  get(id: string): Promise<AdminRevisionDetail>;
  /** The content of a file at a version or a time. Throws when it did not exist or is pruned. */
  contentAt(
    key: FileKey,
    point: { version?: number | undefined; at?: string | undefined },
  ): Promise<EarlierContent>;
  /** Writes the content from before a revision as a new one; of a move, on both paths. */
  revert(
    id: string,
    options: { dryRun?: boolean | undefined },
    caller: AdminCaller,
  ): Promise<RevertAnswer>;
  prune(request: PruneRequest, caller: AdminCaller): Promise<PruneAnswer>;
  /**
   * When each line of a file came, by its newest 64 revisions: what is older has the time of the
   * oldest of them. Version 0 where nothing is known.
   */
  lineTimes(key: FileKey): Promise<{ version: number; times: readonly number[] }>;
  /** The revisions of a run, oldest first, with their contents. */
  ofRun(runId: string): Promise<RunRevision[]>;
}

/** Makes the history over a storage; reverts go through the one write path. */
export function createRevisions(deps: {
  storage: Storage;
  files: AdminFiles;
  ids: IdSource;
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
    const content = await walkBack(chain, version);
    if (content === null) return null;
    // Without one the revision is pruned, and its hash with it.
    const made =
      version === chain.file.version
        ? { ...chain.file, redacted: false }
        : await storage.revisions.ofVersion(key, version);
    if (made?.redacted === false && made.hash !== hashText(content)) throw damagedHistory();
    return content;
  }

  /** Content before and after a revision. */
  async function textsOf(revision: RevisionRecord) {
    const before = revision.existedBefore ? await textAt(revision, revision.version - 1) : null;
    const after = revision.existsAfter ? await textAt(revision, revision.version) : null;
    // Pruned since it was found. To take its contents for absent would let a revert delete the file.
    if (revision.existedBefore !== (before !== null) || revision.existsAfter !== (after !== null)) {
      throw revisionNotFound(revision.id);
    }
    return { before, after };
  }

  return {
    async list(query) {
      const { cursor: _cursor, limit: _limit, order: _order, ...filters } = query;
      const { path, userId, since, until, ...others } = filters;
      const filter = {
        ...given(others),
        path: parseGiven(path, parsePhysicalPath),
        scope: parseGiven(userId, (id) => toScope(parseUserId(id))),
        since: parseTimeOrNull(since, 'since'),
        until: parseTimeOrNull(until, 'until'),
      };
      const read = (page: PageRequest) => storage.revisions.list(filter, page);
      return listPage(query, { list: 'revisions', filters, read, toItem: toAdminRevision });
    },

    async get(id) {
      const revision = await find(id);
      const { before, after } = await textsOf(revision);
      const path = toPhysicalPath(revision);
      return {
        ...toAdminRevision(revision),
        contentBefore: before,
        contentAfter: after,
        diff: unifiedDiff(before, after, { path }),
      };
    },

    async contentAt(key, { version, at }) {
      const path = toPhysicalPath(key);
      let made: RevisionRecord | null = null;
      if (at !== undefined) {
        made = await storage.revisions.at(key, parseTime(at, 'at'));
        if (made === null || !made.existsAfter) {
          const message = `${path} did not exist then, or that is pruned.`;
          throw new MemoryError('FILE_NOT_FOUND', message, { details: { path, at } });
        }
      } else if (version !== undefined) {
        made = await storage.revisions.ofVersion(key, version);
      }
      const wanted = made?.version ?? version ?? 0;
      const content = await textAt(key, wanted);
      if (content === null) {
        const message = `${path} has no content at version ${wanted}.`;
        throw new MemoryError('REVISION_NOT_FOUND', message, {
          details: { path, version: wanted },
        });
      }
      return {
        content,
        version: wanted,
        size: Buffer.byteLength(content),
        lines: countLines(content),
        updatedAt: made === null ? null : toTime(made.at),
        latestActor: made?.actor ?? null,
        latestRevisionId: made?.id ?? null,
      };
    },

    async revert(id, { dryRun = false }, caller) {
      const revision = await find(id);
      const peer = revision.peerId === null ? null : await storage.revisions.get(revision.peerId);
      const restorations: (Restoration & { present: string | null })[] = [];
      for (const one of peer === null ? [revision] : [revision, peer]) {
        const key = { scope: one.scope, path: one.path };
        const { before } = await textsOf(one);
        const present = (await storage.files.get(key))?.content ?? null;
        restorations.push({ key, content: before, present });
      }
      const written = dryRun
        ? []
        : await deps.files.restore(
            restorations,
            {
              reason: `Reverts revision ${revision.id}.`,
              target: revision.id,
              // To undo a dream is not new knowledge to dream about.
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
        scope: parseGiven(userId, (id) => toScope(parseUserId(id))),
        path: parseGiven(path, parsePhysicalPath),
        olderThan: parseTimeOrNull(olderThan, 'olderThan'),
        keepLast: keepLast ?? 1,
      };
      const count = await storage.revisions.prune(filter, {
        dryRun,
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
      const head = await storage.files.get(key);
      const page = { limit: LINE_REVISIONS, order: 'desc', after: null } as const;
      const { items } = await storage.revisions.list({ path: key }, page);
      const oldest = items.at(-1);
      if (head === null || head.content === null || oldest === undefined) {
        return { version: 0, times: [] };
      }
      const timeOf = new Map(items.map(({ version, at }) => [version, at]));
      const steps: RevisionStep[] = [];
      // A chain ends at a keyframe: the next one goes on behind it.
      for (let from = oldest.version - 1; from < head.version;) {
        const chain = await storage.revisions.chain(key, from);
        // Written meanwhile: nothing is said of lines that may be others by now.
        if (chain === null || chain.file.version !== head.version) {
          return { version: 0, times: [] };
        }
        const last = chain.steps.at(-1)?.version ?? head.version;
        steps.push(...chain.steps);
        from = last;
      }
      return { version: head.version, times: await dateLines(head, steps, timeOf) };
    },

    async ofRun(runId) {
      const found: RunRevision[] = [];
      let after: readonly (string | number)[] | null = null;
      do {
        const page = { limit: 200, order: 'asc', after } as const;
        const { items, next } = await storage.revisions.list({ runId }, page);
        for (const revision of items) {
          const contents = await textsOf(revision).catch((error: unknown) => {
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

/** Revisions that the age of a line is looked up in. */
const LINE_REVISIONS = 64;

/** When each line came, from the head down: a line that a revision did not change is older. */
async function dateLines(
  head: { content: string | null; version: number },
  steps: readonly RevisionStep[],
  timeOf: ReadonlyMap<number, number>,
): Promise<number[]> {
  const pause = createPause();
  let content = head.content ?? '';
  /** For each line of `content` the index of the head's line that it is. */
  let origin: (number | null)[] = splitToLines(content).map((_, index) => index);
  const oldest = Math.min(...timeOf.values());
  const times = origin.map(() => oldest);
  let version = head.version;
  for (const step of [...steps].reverse()) {
    if (step.version !== version) break;
    const at = timeOf.get(version) ?? oldest;
    const older = step.existedBefore ? stepBack(content, step) : '';
    if (older === null) break;
    await pause();
    const { hunks } = diffTexts(older, content).delta;
    const olderOrigin: (number | null)[] = [];
    let line = 0;
    for (const hunk of hunks) {
      olderOrigin.push(...origin.slice(line, hunk.start));
      for (const index of origin.slice(hunk.start, hunk.start + hunk.removed)) {
        if (index !== null) times[index] = at;
      }
      olderOrigin.push(...Array<null>(hunk.addedLines).fill(null));
      line = hunk.start + hunk.removed;
    }
    olderOrigin.push(...origin.slice(line));
    origin = olderOrigin;
    content = older;
    version -= 1;
    await pause();
  }
  return times;
}

/** The content before a revision of a file that existed; `null` where nothing leads to it. */
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

/** Lines as hunks count them: each up to its `\n`, the last one may end without. */
function splitToLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** An id that no revision can have is as absent as one that none has. */
function parseRevisionId(id: string): string {
  if (isUuid(id)) return id;
  throw revisionNotFound(id);
}

function revisionNotFound(id: string): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
}

/** The content at a version, from the head down; `null` where it did not exist or is pruned. */
async function walkBack({ file, steps }: RevisionChain, version: number): Promise<string | null> {
  const pause = createPause();
  if (version > file.version || version < 0) return null;
  const top = steps.at(-1);
  if (top === undefined) return version === file.version ? file.content : null;
  let content: string | null = file.content;
  // A chain that does not reach the head starts at a row that needs none: a keyframe, a creation.
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

/** A revision in the form of the lists. */
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
  };
}
