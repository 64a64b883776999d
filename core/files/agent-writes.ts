import type { FileKey } from '../contracts/records.ts';
import type { FileService, ToolCall, WriteResult } from '../contracts/tool.ts';
import { invalidField, MemoryError } from '../errors.ts';
import type { Attempt } from './agent-attempt.ts';
import type { Commit, CommitDependencies } from './commit.ts';
import { checkContent, checkReason } from './content.ts';
import { moveFile } from './move-file.ts';
import { deletion } from './draft.ts';
import { applyPatch } from './patch.ts';
import { toOwner, toVirtualPath } from './paths.ts';

/** A file's whole new content, based on a version that its writer has read. */
interface VersionedContent {
  /** A virtual path. */
  path: string;
  content: string;
  /** The file's current version; 0: the file must not exist. */
  version: number;
}

/** Agents' changes of memory files. */
export interface AgentWrites extends Pick<FileService, 'write' | 'patch' | 'remove' | 'move'> {
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

/** Changes by agents, through the one write path. */
export function createAgentWrites(
  commit: Commit,
  attempt: Attempt,
  { limits }: Pick<CommitDependencies, 'limits'>,
): AgentWrites {
  return {
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
          const { version, revisionId, unchanged, masked } = written;
          const patched = { version, revisionId, replacements, unchanged };
          return { path: toVirtualPath(key), ...patched, ...(masked !== undefined && { masked }) };
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
        const isInSpace = [from, to].some(({ scope }) => toOwner(scope).spaceId !== null);
        if (isInSpace && from.scope !== to.scope) {
          throw invalidField('/to', 'must be in the same space as from', 'to');
        }
        return commit(writeOf(call, [from, to]), (draft) => {
          const { version, revisionId } = moveFile(draft, { ...args, from, to });
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

function writeOf(call: ToolCall, keys: readonly FileKey[]) {
  return { keys, caller: call, toPath: toVirtualPath, call };
}
