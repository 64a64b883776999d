import type { FileKey } from '../contracts/records.ts';
import type { FileService, ListedFile, ToolCall, WriteResult } from '../contracts/tool.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { logAccess, toOutcome } from '../telemetry/access-rows.ts';
import { type AdminFiles, createAdminFiles } from './admin-files.ts';
import { type CommitDependencies, createCommit } from './commit.ts';
import { checkContent, checkLineRange, checkReason, sliceLines } from './content.ts';
import { deletion, type DraftCaller } from './draft.ts';
import { createHostFiles, type HostFiles } from './host-files.ts';
import { createImportedFiles, type ImportedFiles } from './imported-files.ts';
import { answerList } from '../lists/page.ts';
import { applyPatch } from './patch.ts';
import {
  fileNotFound,
  parseUserId,
  parseVirtualPath,
  parseVirtualPrefix,
  type PathPrefix,
  toVirtualPath,
} from './paths.ts';
import { toTime } from '../time/time.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { formatLines } from '../telemetry/shown-lines.ts';

/** A file's whole new content, based on a version that its writer has read. */
interface VersionedContent {
  /** A virtual path. */
  path: string;
  content: string;
  /** The file's current version; 0: the file must not exist. */
  version: number;
}

/** Memory files: everything that reads one for an agent, and everything that changes one. */
export interface Files extends FileService, AdminFiles, HostFiles, ImportedFiles {
  /**
   * Writes all files of one tool call in one transaction, or none if a file is not at its `version`.
   * `toResult` makes the answer, which is stored under the call's idempotency key even when `files`
   * is empty.
   */
  writeAll<R extends object>(
    change: { files: readonly VersionedContent[]; reason: string | undefined },
    toResult: (written: readonly WriteResult[]) => R,
    call: ToolCall,
  ): Promise<R>;
}

interface FilesDependencies extends CommitDependencies {
  /** Whether tools may write `shared/`. */
  sharedWrites: boolean;
  accessQueue: AccessQueue;
}

/** Memory files for agents, plugins and the admin. All writes go through `commit`. */
export function createFiles(deps: FilesDependencies): Files {
  const { storage, limits } = deps;
  const commit = createCommit(deps);

  function checkWritable(key: FileKey): void {
    if (key.scope !== 's' || deps.sharedWrites) return;
    throw new MemoryError('READ_ONLY_SCOPE', undefined, { details: { path: toVirtualPath(key) } });
  }

  /** Parses the paths of a call and runs it; a refusal leaves an access row of the refused file. */
  async function attempt<R>(
    {
      paths,
      action,
      call,
    }: { paths: readonly unknown[]; action: 'read' | 'write'; call: ToolCall },
    run: (...keys: FileKey[]) => Promise<R>,
  ): Promise<R> {
    const keys: FileKey[] = [];
    try {
      for (const path of paths) keys.push(parseVirtualPath(path, parseUserId(call.userId)));
      if (action === 'write') keys.forEach(checkWritable);
      return await run(...keys);
    } catch (error) {
      const named = error instanceof MemoryError ? error.details?.['path'] : undefined;
      const key = keys.find((one) => toVirtualPath(one) === named) ?? keys[0];
      if (key !== undefined) {
        await logAccess(deps, { call, rows: [{ ...key, action, outcome: toOutcome(error) }] });
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
    ...createAdminFiles(commit, deps),
    ...createHostFiles(commit, { ...deps, checkWritable }),
    ...createImportedFiles(commit, deps),

    async list(args, call) {
      const userId = parseUserId(call.userId);
      // In path order: shared/ comes before user/.
      const roots = parseVirtualPrefix(args.path, userId).sort((a, b) =>
        a.scope < b.scope ? -1 : 1,
      );
      const { items: files, nextCursor } = await answerList(args, {
        list: 'memory_list',
        sort: 'path',
        defaultOrder: 'asc',
        filters: { userId, path: args.path },
        async read({ limit, after }) {
          if (after !== null && !isRootKey(after)) throw new MemoryError('INVALID_CURSOR');
          const span = call.trace.start('db.read', 'list files');
          const found = await listRoots(storage, { roots, limit, after });
          span.end({ files: found.items.length });
          return found;
        },
        toItem: (file): ListedFile => file,
      });
      const [root] = args.path === undefined || args.path === '' ? [roots.at(-1)] : roots;
      const { scope, prefix } = root as PathPrefix;
      await logAccess(deps, { call, rows: [{ scope, path: prefix, action: 'list' }] });
      return { files, nextCursor };
    },

    read: (args, call) =>
      attempt({ paths: [args.path], action: 'read', call }, async (key) => {
        const { startLine = 1, endLine = Number.MAX_SAFE_INTEGER } = args;
        checkLineRange(startLine, endLine);
        const span = call.trace.start('db.read', 'read file');
        const file = await storage.files.read(key);
        span.end({ bytes: file?.size ?? 0 });
        if (file === null) throw fileNotFound(toVirtualPath(key));
        const { fileNo, latestRevisionId: revisionId, version } = file;
        const lines = formatLines([{ startLine, endLine: Math.min(endLine, file.lines) }]);
        const row = { ...key, action: 'read', fileNo, revisionId, version, lines } as const;
        const waiting = logAccess(deps, { call, rows: [row] });
        if (waiting !== undefined) await waiting;
        const isWhole = args.startLine === undefined && args.endLine === undefined;
        return {
          path: toVirtualPath(key),
          content: isWhole ? file.content : sliceLines(file.content, startLine, endLine),
          version,
          updatedAt: toTime(file.updatedAt),
          totalLines: file.lines,
        };
      }),

    write: (args, call) =>
      attempt({ paths: [args.path], action: 'write', call }, (key) => {
        const facts = checkContent(args.content, limits.maxFileBytes);
        return commit(writeOf(call, [key]), (draft): WriteResult => {
          draft.expectVersion(key, args.ifVersion);
          const { content } = args;
          const reason = checkReason(args.reason);
          const written = draft.put(key, { content, facts, action: 'write', reason });
          return { path: toVirtualPath(key), ...written };
        });
      }),

    patch: (args, call) =>
      attempt({ paths: [args.path], action: 'write', call }, (key) => {
        if ((args.edits?.length ?? 0) === 0 && args.append === undefined) {
          throw invalidField('', 'needs edits, append or both', 'A patch');
        }
        return commit(writeOf(call, [key]), (draft) => {
          const file = draft.required(key);
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
      attempt({ paths: [args.path], action: 'write', call }, (key) =>
        commit(writeOf(call, [key]), (draft) => {
          draft.required(key);
          draft.expectVersion(key, args.ifVersion);
          const { version, revisionId } = draft.put(
            key,
            deletion('delete', checkReason(args.reason)),
          );
          return { path: toVirtualPath(key), version, revisionId };
        }),
      ),

    move: (args, call) =>
      attempt({ paths: [args.from, args.to], action: 'write', call }, (from, to) => {
        if (from.scope === to.scope && from.path === to.path) {
          throw new MemoryError('INVALID_REQUEST', 'from and to are the same path.', {
            details: { issues: [{ path: '/to', message: 'must differ from from' }] },
          });
        }
        return commit(writeOf(call, [from, to]), (draft) => {
          const file = draft.required(from);
          draft.expectVersion(from, args.ifVersion);
          draft.expectVersion(to, 0);
          const reason = checkReason(args.reason);
          const { content, size, lines, hash } = file;
          // Removes the source first, so that a move inside a full scope stays within its quota.
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

    async writeAll(change, toResult, call) {
      const paths = change.files.map(({ path }) => path);
      if (paths.length === 0 && call.idempotency === undefined) return toResult([]);
      return attempt({ paths, action: 'write', call }, (...keys) => {
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
            prepared.map(({ key, content, facts }) => ({
              path: toVirtualPath(key),
              ...draft.put(key, { content, facts, action: 'write', reason }),
            })),
          );
        });
      });
    },
  };
}

/** The key of a list of roots: scope and path. */
function isRootKey(key: readonly (string | number)[]): boolean {
  return key.length === 2 && key.every((part) => typeof part === 'string');
}

/** Lists the files of one or two roots in path order. */
async function listRoots(
  storage: Storage,
  {
    roots,
    limit,
    after,
  }: { roots: readonly PathPrefix[]; limit: number; after: PageRequest['after'] },
): Promise<PageResult<ListedFile>> {
  const [afterScope, afterPath] = (after ?? ['', null]) as [string, string | null];
  const files: { scope: string; listed: ListedFile; path: string }[] = [];
  for (const { scope, prefix } of roots) {
    if (scope < afterScope) continue;
    const found = await storage.files.list(scope, {
      prefix,
      after: scope === afterScope ? afterPath : null,
      // Reads one file more than the page holds, to know whether there is a next page.
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
    items: page.map(({ listed }) => listed),
    next: isMore ? [last.scope, last.path] : null,
  };
}

function toDraftCaller(call: ToolCall): DraftCaller {
  return {
    userId: call.userId,
    actor: call.actor,
    tool: call.tool,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
    runId: call.runId ?? null,
    triggersDream: true,
    toPath: toVirtualPath,
  };
}
