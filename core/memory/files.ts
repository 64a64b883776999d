import type {
  AccessRecord,
  AuditRecord,
  FileKey,
  IdempotencyRecord,
  ScopeKey,
  ScopeState,
} from '../contracts/records.ts';
import type { Limits } from '../contracts/config.ts';
import type { HostWrite, HostWriteOptions, ReadFile } from '../contracts/plugin.ts';
import type { Guard, Storage } from '../contracts/storage.ts';
import type {
  FileService,
  ListedFile,
  Span,
  ToolCall,
  Trace,
  WriteResult,
} from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { noTrace } from '../tracing/tracer.ts';
import { logAccess, logAccessBy } from './access-rows.ts';
import { parseHostActor } from './actor.ts';
import { checkContent, checkReason, sliceLines, hashText } from './content.ts';
import { deletion, Draft, type DraftCaller, type FileChange, type Written } from './draft.ts';
import { type InstanceIds, isUuid } from './ids.ts';
import { parsePage, toCursor } from './page.ts';
import { applyPatch } from './patch.ts';
import {
  parsePhysicalPath,
  parseUserId,
  parseVirtualPath,
  parseVirtualPrefix,
  type PathPrefix,
  toPhysicalPath,
  toScope,
  toVirtualPath,
} from './paths.ts';
import { toTime } from './time.ts';
import type { WriteBehind } from './write-behind.ts';

/** An idempotency key is remembered so long. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;
/** Kept in the place of an answer until there is one. */
const BEGUN = '';

/** Who changes memory through the admin API. */
export interface AdminCaller {
  address: string;
  traceId: string;
}

/** What an admin's write came to. */
export interface AdminWritten extends Written {
  key: FileKey;
}

/** A content to be put back, as reverts do. */
export interface Restoration {
  key: FileKey;
  /** `null` where the file did not exist. */
  content: string | null;
}

/** A file's whole new content, for the version that its writer has seen. */
export interface VersionedContent {
  /** Virtual. */
  path: string;
  content: string;
  /** 0: must not exist. */
  version: number;
}

/** Memory files: everything that reads one for an agent, and everything that changes one. */
export interface Files extends FileService {
  /** Writes by the admin. `ifVersion` 0: must not exist. */
  put(
    physicalPath: unknown,
    change: { content: string; reason?: string | undefined; ifVersion?: number | undefined },
    caller: AdminCaller,
  ): Promise<AdminWritten>;
  /** Deletes by the admin. */
  delete(
    physicalPath: unknown,
    change: { reason?: string | undefined; ifVersion?: number | undefined },
    caller: AdminCaller,
  ): Promise<AdminWritten>;
  /** Puts earlier contents back, all in one transaction, as revisions with the action `revert`. */
  restore(
    restorations: readonly Restoration[],
    options: { reason: string; target: string; qualifies: boolean },
    caller: AdminCaller,
  ): Promise<AdminWritten[]>;
  /**
   * Writes several files of one tool call, each only if it is at its `version` (0: must not exist),
   * in one transaction: all of it, or nothing. `toResult` makes the answer, which the idempotency
   * key of the call keeps with them, also when there is no file.
   */
  writeAll<R extends object>(
    change: { files: readonly VersionedContent[]; reason: string | undefined },
    toResult: (written: readonly WriteResult[]) => R,
    call: ToolCall,
  ): Promise<R>;
  /** The first answer to the idempotency key of a call; `null` when there is none yet. */
  replay<R extends object>(call: ToolCall): Promise<R | null>;
  /**
   * Runs a tool once under the idempotency key of its call: a repeat gets the answer of the first, or
   * the one that is under way in this process. Rejects with `IDEMPOTENCY_KEY_REUSED` and
   * `details.reason: 'outcome_unknown'` where the first has failed, is under way elsewhere, or was cut
   * off. Without a key it is run.
   */
  once(call: ToolCall, run: () => Promise<unknown>): Promise<unknown>;
  /** Writes by a plugin. */
  hostWrite(change: HostWrite, options: HostWriteOptions): Promise<WriteResult>;
  /** Access rows of files that a plugin read in a run. */
  hostReads(
    files: readonly ReadFile[],
    options: { actor: string; runId: string; trace?: Trace },
  ): Promise<void>;
}

/** What the write path works with. */
export interface FilesDependencies {
  storage: Storage;
  limits: Limits;
  /** May tools write `shared/`? */
  sharedWrites: boolean;
  now: () => number;
  ids: InstanceIds;
  log: WriteBehind;
  /** Told of every write. */
  indexer: { wake(): void };
}

/** THE write path, and the reads that leave an access row. */
export function createFiles(deps: FilesDependencies): Files {
  const { storage, limits } = deps;
  /** How many writes a call has made: a plugin's tool may make several under one key. */
  const writesOf = new WeakMap<ToolCall, number>();
  /** Calls under way that are run once, by scope and key. */
  const runningOnce = new Map<string, { first: OpenKey; answer: Promise<unknown> }>();

  async function runOnce(
    call: ToolCall,
    idempotency: OpenKey,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    const place = { scopes: [idempotency.scope], files: [], idempotency };
    const keep = (result: string) => ({
      idempotency: { ...idempotency, result, createdAt: deps.now() },
    });
    // Kept before it is run: whoever comes after a crash learns that it may have been carried out.
    const first = await storage.mutate(place, (current) => {
      const record = replayOf(current.idempotency, idempotency, deps.now());
      return { result: record, writes: 0, changes: record === null ? keep(BEGUN) : {} };
    });
    if (first?.result === BEGUN) {
      throw new MemoryError(
        'IDEMPOTENCY_KEY_REUSED',
        'A call under this idempotency key was begun, and whether it was carried out is not known.',
        { details: { reason: 'outcome_unknown', toolCallId: first.toolCallId } },
      );
    }
    if (first !== null) {
      call.onReplay?.(first);
      return JSON.parse(first.result) as unknown;
    }
    const result = await run();
    const text = JSON.stringify(result ?? null);
    await storage.mutate(place, () => ({ result: null, writes: 0, changes: keep(text) }));
    return result;
  }

  /** A transaction of one or more files: every change of a memory file is made here. */
  async function commit<R extends object>(
    write: {
      keys: readonly FileKey[];
      caller: DraftCaller;
      trace: Trace;
      guards?: readonly Guard[] | undefined;
      call?: ToolCall | undefined;
      /** The one write of its call, which may try it again. */
      isOnly?: boolean;
      audit?: (result: R) => AuditRecord;
    },
    plan: (draft: Draft) => R,
  ): Promise<R> {
    const { call, caller, trace } = write;
    // Refused ones count, too: repeated, a call makes the same writes in the same order.
    const nth = call === undefined || write.isOnly === true ? 0 : (writesOf.get(call) ?? 0);
    if (call !== undefined) writesOf.set(call, nth + 1);
    const idempotency = toIdempotencyOf(call, nth);
    const scopes = inLockOrder([
      ...write.keys.map(({ scope }) => scope),
      ...(idempotency === null ? [] : [idempotency.scope]),
    ]);
    const now = deps.now();
    let read: Span = trace.start('db.read', 'lock and read');
    let apply: Span | null = null;
    let replayed: IdempotencyRecord | null = null;
    let clocks: readonly ScopeState[] = [];
    try {
      const result = await storage.mutate<R>(
        {
          scopes,
          files: write.keys,
          ...(idempotency === null ? {} : { idempotency }),
          ...(write.guards === undefined ? {} : { guards: write.guards }),
        },
        (current) => {
          read.end({ files: write.keys.length });
          // Before versions and quota: a repeat after a lost answer gets the first one, not a 409.
          replayed = replayOf(current.idempotency, idempotency, now);
          if (replayed !== null) {
            return { result: JSON.parse(replayed.result) as R, writes: 0, changes: {} };
          }
          const building = trace.start('revision.write', 'revision');
          const draft = new Draft(current, {
            now,
            ids: deps.ids,
            caller,
            maxFilesPerUser: limits.maxFilesPerUser,
          });
          let planned: R;
          try {
            planned = plan(draft);
          } catch (error) {
            building.fail(error);
            throw error;
          }
          building.end({ revisions: draft.revisionCount });
          const rows = trace.start('access_log.write', 'access rows');
          const changes = draft.changes({
            ...(idempotency === null
              ? {}
              : {
                  idempotency: { ...idempotency, result: JSON.stringify(planned), createdAt: now },
                }),
            ...(write.audit === undefined ? {} : { audit: write.audit(planned) }),
          });
          rows.end({ rows: changes.access?.length ?? 0 });
          clocks = changes.scopes ?? [];
          apply = trace.start('db.write', 'apply and commit');
          // A replay of the transaction reads again.
          read = trace.start('db.read', 'lock and read again');
          return { result: planned, writes: draft.revisionCount > 0 ? 1 : 0, changes };
        },
      );
      (apply as Span | null)?.end({ files: write.keys.length });
      deps.indexer.wake();
      if (replayed !== null) call?.onReplay?.(replayed);
      clocks.forEach((clock) => deps.ids.follow(clock));
      return result;
    } catch (error) {
      (apply ?? read).fail(error);
      throw error;
    }
  }

  function checkWritable(key: FileKey): void {
    if (key.scope !== 's' || deps.sharedWrites) return;
    throw new MemoryError('READ_ONLY_SCOPE', undefined, { details: { path: toVirtualPath(key) } });
  }

  /** Runs one attempt on its files; a refused one leaves an access row, of the file that refused. */
  async function attempt<R>(
    paths: readonly [unknown, ...unknown[]],
    action: 'read' | 'write',
    call: ToolCall,
    run: (...keys: [FileKey, FileKey]) => Promise<R>,
  ): Promise<R> {
    const keys: FileKey[] = [];
    try {
      for (const path of paths) keys.push(parseVirtualPath(path, parseUserId(call.userId)));
      if (action === 'write') keys.forEach(checkWritable);
      return await run(...(keys as [FileKey, FileKey]));
    } catch (error) {
      const named = error instanceof MemoryError ? error.details?.['path'] : undefined;
      const key = keys.find((one) => toVirtualPath(one) === named) ?? keys[0];
      if (key !== undefined) {
        await logAccess(deps, [{ ...key, action, outcome: toOutcome(error) }], call);
      }
      throw error;
    }
  }

  const writeOf = (call: ToolCall, keys: readonly FileKey[]) => ({
    keys,
    caller: toDraftCaller(call),
    trace: call.trace,
    call,
  });

  return {
    async list(args, call) {
      const userId = parseUserId(call.userId);
      // By path: shared/ stands before user/.
      const roots = parseVirtualPrefix(args.path, userId).sort((a, b) =>
        a.scope < b.scope ? -1 : 1,
      );
      const identity = {
        list: 'memory_list',
        sort: 'path',
        defaultOrder: 'asc' as const,
        filters: { userId, path: args.path },
      };
      const page = parsePage(args, identity);
      if (page.after !== null && !isRootKey(page.after)) throw new MemoryError('INVALID_CURSOR');
      const span = call.trace.start('db.read', 'list files');
      const { files, next } = await listRoots(storage, roots, page.limit, page.after);
      span.end({ files: files.length });
      const [root] = args.path === undefined || args.path === '' ? [roots.at(-1)] : roots;
      const { scope, prefix } = root as PathPrefix;
      await logAccess(deps, [{ scope, path: prefix, action: 'list' }], call);
      return { files, nextCursor: toCursor(next, args, identity) };
    },

    read: (args, call) =>
      attempt([args.path], 'read', call, async (key) => {
        const { startLine = 1, endLine = Number.MAX_SAFE_INTEGER } = args;
        if (endLine < startLine) {
          throw new MemoryError('INVALID_REQUEST', 'endLine is before startLine.', {
            details: { issues: [{ path: '/endLine', message: 'must not be before startLine' }] },
          });
        }
        const span = call.trace.start('db.read', 'read file');
        const file = await storage.files.read(key);
        span.end({ bytes: file?.size ?? 0 });
        if (file === null) throw fileNotFound(key);
        const { fileNo, latestRevisionId: revisionId } = file;
        const waiting = logAccess(deps, [{ ...key, action: 'read', fileNo, revisionId }], call);
        if (waiting !== undefined) await waiting;
        const isWhole = args.startLine === undefined && args.endLine === undefined;
        return {
          path: toVirtualPath(key),
          content: isWhole ? file.content : sliceLines(file.content, startLine, endLine),
          version: file.version,
          updatedAt: toTime(file.updatedAt),
          totalLines: file.lines,
        };
      }),

    write: (args, call) =>
      attempt([args.path], 'write', call, (key) => {
        const facts = checkContent(args.content, limits.maxFileBytes);
        return commit(writeOf(call, [key]), (draft): WriteResult => {
          draft.expectVersion(key, args.ifVersion);
          const action = draft.existing(key) === null ? 'create' : 'update';
          const reason = checkReason(args.reason);
          const written = draft.put(key, { content: args.content, facts, action, reason });
          return { path: toVirtualPath(key), ...written };
        });
      }),

    patch: (args, call) =>
      attempt([args.path], 'write', call, (key) => {
        if ((args.edits?.length ?? 0) === 0 && args.append === undefined) {
          const message = 'needs edits, append or both';
          throw new MemoryError('INVALID_REQUEST', `A patch ${message}.`, {
            details: { issues: [{ path: '', message }] },
          });
        }
        return commit(writeOf(call, [key]), (draft) => {
          const file = draft.existing(key);
          if (file === null) throw fileNotFound(key);
          draft.expectVersion(key, args.ifVersion);
          const { content, replacements } = applyPatch(file.content, args, limits.maxFileBytes);
          const facts = checkContent(content, limits.maxFileBytes);
          const reason = checkReason(args.reason);
          const written = draft.put(key, { content, facts, action: 'update', reason });
          const { version, revisionId, unchanged } = written;
          return { path: toVirtualPath(key), version, revisionId, replacements, unchanged };
        });
      }),

    remove: (args, call) =>
      attempt([args.path], 'write', call, (key) =>
        commit(writeOf(call, [key]), (draft) => {
          if (draft.existing(key) === null) throw fileNotFound(key);
          draft.expectVersion(key, args.ifVersion);
          const { version, revisionId } = draft.put(
            key,
            deletion('delete', checkReason(args.reason)),
          );
          return { path: toVirtualPath(key), version, revisionId };
        }),
      ),

    move: (args, call) =>
      attempt([args.from, args.to], 'write', call, (from, to) => {
        if (from.scope === to.scope && from.path === to.path) {
          throw new MemoryError('INVALID_REQUEST', 'from and to are the same path.', {
            details: { issues: [{ path: '/to', message: 'must differ from from' }] },
          });
        }
        return commit(writeOf(call, [from, to]), (draft) => {
          const file = draft.existing(from);
          if (file === null) throw fileNotFound(from);
          draft.expectVersion(from, args.ifVersion);
          draft.expectVersion(to, 0);
          const reason = checkReason(args.reason);
          const { content, size, lines, hash } = file;
          // The source goes first: a move inside a full scope needs no room.
          const left = draft.put(from, deletion('move', reason));
          const arrived = draft.put(to, {
            content,
            facts: { size, lines, hash },
            action: 'move',
            reason,
          });
          draft.pair(left.revisionId, arrived.revisionId);
          const { version, revisionId } = arrived;
          return { from: toVirtualPath(from), to: toVirtualPath(to), version, revisionId };
        });
      }),

    async put(physicalPath, change, caller) {
      const key = parsePhysicalPath(physicalPath);
      const facts = checkContent(change.content, limits.maxFileBytes);
      return commit(adminWrite([key], caller, 'files.write', toPhysicalPath(key)), (draft) => {
        draft.expectVersion(key, change.ifVersion);
        const action = draft.existing(key) === null ? 'create' : 'update';
        const reason = checkReason(change.reason);
        return { key, ...draft.put(key, { content: change.content, facts, action, reason }) };
      });
    },

    async delete(physicalPath, change, caller) {
      const key = parsePhysicalPath(physicalPath);
      return commit(adminWrite([key], caller, 'files.delete', toPhysicalPath(key)), (draft) => {
        if (draft.existing(key) === null) throw fileNotFound(key, toPhysicalPath(key));
        draft.expectVersion(key, change.ifVersion);
        return { key, ...draft.put(key, deletion('delete', checkReason(change.reason))) };
      });
    },

    async restore(restorations, { reason, target, qualifies }, caller) {
      const prepared = restorations.map(
        ({ key, content }): { key: FileKey; change: FileChange } => ({
          key,
          change:
            content === null
              ? deletion('revert', reason)
              : {
                  content,
                  facts: checkContent(content, Number.MAX_SAFE_INTEGER),
                  action: 'revert',
                  reason,
                },
        }),
      );
      const keys = prepared.map(({ key }) => key);
      const write = adminWrite<AdminWritten[]>(keys, caller, 'revisions.revert', target);
      write.caller.qualifies = qualifies;
      return commit(write, (draft) => {
        // Deletions go first: putting back what was moved inside a full scope needs no room.
        const order = [...prepared].sort(
          (a, b) => Number(a.change.content !== null) - Number(b.change.content !== null),
        );
        const written = new Map(
          order.map(({ key, change }) => [key, restoreOne(draft, key, change)] as const),
        );
        return keys.map((key) => written.get(key) as AdminWritten);
      });
    },

    async writeAll(change, toResult, call) {
      const [first, ...rest] = change.files.map(({ path }) => path);
      if (first === undefined) {
        if (call.idempotency === undefined) return toResult([]);
        return commit({ ...writeOf(call, []), isOnly: true }, () => toResult([]));
      }
      return attempt([first, ...rest], 'write', call, (...keys: FileKey[]) => {
        const reason = checkReason(change.reason);
        const prepared = change.files.map(({ content, version }, index) => ({
          key: keys[index] as FileKey,
          content,
          version,
          facts: checkContent(content, limits.maxFileBytes),
        }));
        return commit({ ...writeOf(call, keys), isOnly: true }, (draft) => {
          for (const { key, version } of prepared) draft.expectVersion(key, version);
          return toResult(
            prepared.map(({ key, content, facts }) => {
              const action = draft.existing(key) === null ? 'create' : 'update';
              const written = draft.put(key, { content, facts, action, reason });
              return { path: toVirtualPath(key), ...written };
            }),
          );
        });
      });
    },

    async replay<R extends object>(call: ToolCall) {
      const idempotency = toIdempotencyOf(call);
      if (idempotency === null) return null;
      const { scope } = idempotency;
      const first = await storage.mutate(
        { scopes: [scope], files: [], idempotency },
        (current) => ({
          result: replayOf(current.idempotency, idempotency, deps.now()),
          writes: 0,
          changes: {},
        }),
      );
      if (first === null) return null;
      call.onReplay?.(first);
      return JSON.parse(first.result) as R;
    },

    async once(call, run) {
      const idempotency = toIdempotencyOf(call, 'run');
      if (idempotency === null) return run();
      const slot = `${idempotency.scope} ${idempotency.keyHash}`;
      const running = runningOnce.get(slot);
      if (running === undefined) {
        const answer = runOnce(call, idempotency, run).finally(() => runningOnce.delete(slot));
        runningOnce.set(slot, { first: idempotency, answer });
        return answer;
      }
      const { first, answer } = running;
      if (first.requestHash !== idempotency.requestHash) {
        throw new MemoryError('IDEMPOTENCY_KEY_REUSED');
      }
      const result = await answer;
      call.onReplay?.(first);
      return result;
    },

    async hostWrite(change, options) {
      const userId = parseUserId(change.userId);
      const key = parseVirtualPath(change.path, userId);
      const actor = parseHostActor(options.actor);
      const trace = options.trace ?? noTrace();
      const caller: DraftCaller = {
        userId: change.userId,
        actor,
        tool: null,
        toolCallId: null,
        // Without a trace no event is recorded of it: there is none to be found.
        traceId: options.trace?.traceId ?? null,
        runId: options.runId === undefined ? null : parseRunId(options.runId),
        qualifies: actor !== 'dream-agent' && change.isRevert !== true,
        toPath: toVirtualPath,
      };
      try {
        checkWritable(key);
        const toChange = parseHostChange(change, limits.maxFileBytes);
        const required = (change.requires ?? []).map(({ path, version }) => ({
          key: parseVirtualPath(path, userId),
          version,
        }));
        const keys = [key, ...required.map((other) => other.key)];
        return await commit({ keys, caller, trace, guards: options.guards }, (draft) => {
          draft.expectVersion(key, change.ifVersion);
          for (const other of required) draft.expectVersion(other.key, other.version);
          const next = toChange(draft.existing(key) !== null);
          return { path: toVirtualPath(key), ...draft.put(key, next) };
        });
      } catch (error) {
        const refused = { ...key, action: 'write' as const, outcome: toOutcome(error) };
        await logAccessBy(caller, deps, [refused], trace);
        throw error;
      }
    },

    async hostReads(read, { actor, runId, trace }) {
      const row = { actor: parseHostActor(actor), runId: parseRunId(runId) };
      const rows = read.map(({ userId, path, fileNo, revisionId }): AccessRecord => {
        const id = deps.ids.next();
        return {
          ...row,
          id,
          at: deps.ids.lastMs,
          scope: toScope(parseUserId(userId)),
          userId,
          fileNo,
          path,
          tool: null,
          action: 'read',
          toolCallId: null,
          traceId: trace?.traceId ?? null,
          revisionId,
          rank: null,
          outcome: 'ok',
        };
      });
      const span = trace?.start('access_log.write', 'queue access rows');
      await deps.log.access(rows);
      span?.end({ rows: rows.length });
    },
  };

  function adminWrite<R extends object>(
    keys: readonly FileKey[],
    { address, traceId }: AdminCaller,
    action: string,
    target: string,
  ) {
    const caller: DraftCaller = {
      userId: null,
      actor: 'admin',
      tool: null,
      toolCallId: null,
      traceId,
      runId: null,
      qualifies: true,
      toPath: toPhysicalPath,
    };
    const audit = (result: R): AuditRecord => {
      const id = deps.ids.next();
      const details = { written: toAuditDetails(result) };
      return { id, at: deps.ids.lastMs, action, target, details, address, traceId };
    };
    return { keys, caller, trace: noTrace(traceId), audit };
  }
}

/** What a plugin's write makes of a file that exists, or does not. */
function parseHostChange(
  { content, reason, isRevert = false }: HostWrite,
  maxFileBytes: number,
): (exists: boolean) => FileChange {
  const words = checkReason(reason);
  if (content === null) {
    if (isRevert) return () => deletion('revert', words);
    const message = 'is null in a revert alone';
    throw new MemoryError('INVALID_REQUEST', `content ${message}.`, {
      details: { issues: [{ path: '/content', message }] },
    });
  }
  // What was there before fits in, whatever the limit is now.
  const facts = checkContent(content, isRevert ? Number.MAX_SAFE_INTEGER : maxFileBytes);
  return (exists) => ({
    content,
    facts,
    action: isRevert ? 'revert' : exists ? 'update' : 'create',
    reason: words,
  });
}

function toAuditDetails(result: object): unknown {
  const written = (Array.isArray(result) ? result : [result]) as AdminWritten[];
  return written.map(({ key, version, revisionId, unchanged }) => ({
    path: toPhysicalPath(key),
    version,
    revisionId,
    unchanged,
  }));
}

function restoreOne(draft: Draft, key: FileKey, change: FileChange): AdminWritten {
  if (change.content === null && draft.existing(key) === null) {
    return { key, version: 0, revisionId: '', created: false, unchanged: true };
  }
  return { key, ...draft.put(key, change) };
}

/** Throws `INVALID_REQUEST` for a run id that is no UUID: another one could not be stored. */
function parseRunId(value: string): string {
  if (isUuid(value)) return value;
  const message = 'must be a UUID in lower case';
  throw new MemoryError('INVALID_REQUEST', `runId ${message}.`, {
    details: { issues: [{ path: '/runId', message }] },
  });
}

/** The key of a list of roots: scope and path. */
function isRootKey(key: readonly (string | number)[]): boolean {
  return key.length === 2 && key.every((part) => typeof part === 'string');
}

/** Files of one or two roots in path order, as one list. */
async function listRoots(
  storage: Storage,
  roots: readonly PathPrefix[],
  limit: number,
  after: readonly (string | number)[] | null,
): Promise<{ files: ListedFile[]; next: [string, string] | null }> {
  const [afterScope, afterPath] = (after ?? ['', null]) as [string, string | null];
  const files: { scope: string; listed: ListedFile; path: string }[] = [];
  for (const { scope, prefix } of roots) {
    if (scope < afterScope) continue;
    const found = await storage.files.list(scope, {
      prefix,
      after: scope === afterScope ? afterPath : null,
      // One more than the page tells whether there is a next one.
      limit: limit + 1 - files.length,
    });
    for (const file of found) {
      const { size, version, updatedAt } = file;
      const listed = { path: toVirtualPath(file), size, version, updatedAt: toTime(updatedAt) };
      files.push({ scope, listed, path: file.path });
    }
    if (files.length > limit) break;
  }
  const page = files.slice(0, limit);
  const last = page.at(-1);
  const isMore = files.length > limit && last !== undefined;
  return {
    files: page.map(({ listed }) => listed),
    next: isMore ? [last.scope, last.path] : null,
  };
}

/** Scopes, each once: a user's before the shared one, so that no two writes wait for each other. */
function inLockOrder(scopes: readonly ScopeKey[]): ScopeKey[] {
  return [...new Set(scopes)].sort((a, b) => (a > b ? -1 : 1));
}

/** The key of a call, before there is an answer. */
type OpenKey = Omit<IdempotencyRecord, 'result' | 'createdAt'>;

/** A key belongs to its user, whichever memory the call writes; each write of a call has its own. */
function toIdempotencyOf(call: ToolCall | undefined, nth: number | 'run' = 0): OpenKey | null {
  if (call?.idempotency === undefined) return null;
  const { keyHash, requestHash } = call.idempotency;
  return {
    scope: toScope(parseUserId(call.userId)),
    keyHash: nth === 0 ? keyHash : hashText(`${keyHash} ${nth}`),
    requestHash,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
  };
}

function replayOf(
  record: IdempotencyRecord | null,
  wanted: { requestHash: string } | null,
  now: number,
): IdempotencyRecord | null {
  if (record === null || wanted === null) return null;
  if (record.createdAt <= now - IDEMPOTENCY_MS) return null;
  if (record.requestHash !== wanted.requestHash) throw new MemoryError('IDEMPOTENCY_KEY_REUSED');
  return record;
}

function toDraftCaller(call: ToolCall): DraftCaller {
  return {
    userId: call.userId,
    actor: call.actor,
    tool: call.tool,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
    runId: call.runId ?? null,
    qualifies: true,
    toPath: toVirtualPath,
  };
}

function toOutcome(error: unknown): AccessRecord['outcome'] {
  if (!(error instanceof MemoryError)) return 'error';
  if (error.code === 'READ_ONLY_SCOPE') return 'denied';
  return error.code === 'FILE_NOT_FOUND' ? 'not_found' : 'error';
}

function fileNotFound(key: FileKey, path = toVirtualPath(key)): MemoryError {
  return new MemoryError('FILE_NOT_FOUND', `${path} does not exist.`, { details: { path } });
}
