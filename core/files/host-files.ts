import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { HostWrite, HostWriteOptions, ReadFile } from '../contracts/plugin.ts';
import type { Trace, WriteResult } from '../contracts/tool.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { logAccess, toOutcome } from '../telemetry/access-rows.ts';
import { parseHostActor } from './actor.ts';
import type { Commit, CommitDependencies, WrittenRun } from './commit.ts';
import { checkContent, checkReason } from './content.ts';
import { type FileChange, NO_TOOL_CALL, revertTo } from './draft.ts';
import { isUuid } from '../ids/ids.ts';
import {
  assertScope,
  parseVirtualPath,
  type Reach,
  toOwner,
  toUserId,
  toVirtualPath,
} from './paths.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { formatLines } from '../telemetry/shown-lines.ts';

/** Plugins' access to memory files. */
export interface HostFiles {
  /** Writes files of one user or space for a plugin, in one transaction. */
  hostWrite(
    changes: readonly HostWrite[],
    options: HostWriteOptions & { plugin: string },
  ): Promise<readonly WriteResult[]>;
  /** Queues access rows for files that a plugin read in a run. */
  hostReads(
    files: readonly ReadFile[],
    options: { actor: string; runId: string; trace?: Trace },
  ): Promise<void>;
}

/** Plugins' reads and writes pass the same checks and leave the same rows as tool calls. */
export function createHostFiles(
  commit: Commit,
  deps: Pick<CommitDependencies, 'limits' | 'ids'> & {
    accessQueue: AccessQueue;
    /** Throws `READ_ONLY_SCOPE` for a file that the caller may not change. */
    checkWritable(key: FileKey, reach: Reach): void;
  },
): HostFiles {
  const { limits } = deps;
  return {
    async hostWrite(changes, options) {
      const [first] = changes;
      if (first === undefined) return [];
      const { scope } = first;
      if (changes.some((change) => change.scope !== scope)) {
        const message = 'Files of several users or spaces are written one by one.';
        throw new MemoryError('INVALID_REQUEST', message);
      }
      const reach = toReach(scope);
      const keys = changes.map(({ path }) => parseVirtualPath(path, reach));
      const actor = parseHostActor(options.actor);
      const caller = {
        userId: toUserId(scope),
        actor,
        tool: parseWriteTool(options.tool),
        toolCallId: null,
        trace: options.trace ?? noTrace(null),
        runId: options.runId === undefined ? null : parseRunId(options.runId),
      };
      try {
        keys.forEach((key) => deps.checkWritable(key, reach));
        const planned = changes.map((change) => parseHostChange(change, limits.maxFileBytes));
        const required = changes
          .flatMap(({ requires = [] }) => requires)
          .map(({ path, version }) => ({ key: parseVirtualPath(path, reach), version }));
        const locked = [...keys, ...required.map((other) => other.key)];
        const run = toWrittenRun(options, {
          scope,
          runId: caller.runId,
          ids: deps.ids,
        });
        const write = {
          keys: locked,
          caller,
          toPath: toVirtualPath,
          triggersDream:
            actor !== 'dream-agent' && changes.every(({ isRevert }) => isRevert !== true),
          guards: options.guards,
          isOperators:
            options.isOperators === true || changes.every(({ isRevert }) => isRevert === true),
          run,
        };
        return await commit<readonly WriteResult[]>(write, (draft) => {
          keys.forEach((key, at) => draft.expectVersion(key, changes[at]?.ifVersion));
          for (const other of required) draft.expectVersion(other.key, other.version);
          return keys.map((key, at) => ({
            path: toVirtualPath(key),
            ...draft.put(key, planned[at] as FileChange),
          }));
        });
      } catch (error) {
        const refused = keys.map((key) => ({
          ...key,
          action: 'write' as const,
          outcome: toOutcome(error),
        }));
        await logAccess(deps, { call: caller, rows: refused });
        throw error;
      }
    },

    async hostReads(read, { actor, runId, trace }) {
      const call = {
        ...NO_TOOL_CALL,
        actor: parseHostActor(actor),
        tool: 'memory_read',
        trace: trace ?? noTrace(null),
        runId: parseRunId(runId),
      };
      const rows = read.map(({ scope, path, fileNo, revisionId, version = null, lines }) => ({
        scope,
        userId: toUserId(scope),
        path,
        fileNo,
        revisionId,
        version,
        action: 'read' as const,
        lines: lines === undefined ? null : formatLines(lines),
      }));
      await logAccess(deps, { call, rows });
    },
  };
}

/** What a write for a user, or for a space, may change: that memory, and `shared/` where tools may. */
function toReach(scope: ScopeKey): Reach {
  assertScope(scope);
  const { userId, spaceId } = toOwner(scope);
  // No path starts with the memory of nobody.
  const spaces = spaceId === null ? [] : [{ id: spaceId, access: 'write' } as const];
  return { userId: userId ?? '', spaces };
}

/** The run that changes with a write; `undefined` where the write has no `with`. */
function toWrittenRun(
  options: HostWriteOptions & { plugin: string },
  { scope, runId, ids }: { scope: ScopeKey; runId: string | null; ids: CommitDependencies['ids'] },
): WrittenRun<readonly WriteResult[]> | undefined {
  if (options.with === undefined) return undefined;
  if (runId === null) throw invalidField('/runId', 'is needed where a write has a "with"', 'runId');
  return {
    key: { plugin: options.plugin, scope, id: runId },
    change(current, written) {
      const { audit, ...rows } = options.with?.(written, current) ?? {};
      if (audit === undefined) return rows;
      const { caller, ...facts } = audit;
      return { ...rows, audit: toAuditRecord(ids, { ...facts, ...caller }) };
    },
  };
}

/** Turns a plugin's write into a file change. */
function parseHostChange(
  { content, reason, isRevert = false }: HostWrite,
  maxFileBytes: number,
): FileChange {
  const words = checkReason(reason);
  if (isRevert) return revertTo(content, words);
  if (content === null) throw invalidField('/content', 'is null in a revert alone', 'content');
  const facts = checkContent(content, maxFileBytes);
  return { content, facts, action: 'write', reason: words };
}

/** Throws `INVALID_REQUEST` for an unknown tool: plugins in JavaScript may pass anything. */
function parseWriteTool(value: HostWriteOptions['tool']): string | null {
  if (value === undefined) return null;
  if (value === 'memory_patch' || value === 'memory_write') return value;
  throw invalidField('/tool', 'must be memory_patch or memory_write', 'tool');
}

/** Throws `INVALID_REQUEST` unless the run id is a UUID, since storage accepts nothing else. */
function parseRunId(value: string): string {
  if (isUuid(value)) return value;
  throw invalidField('/runId', 'must be a UUID in lower case', 'runId');
}
