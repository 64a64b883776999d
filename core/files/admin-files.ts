import { toAuditRecord } from '../telemetry/audit.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { FileKey } from '../contracts/records.ts';
import type { Guard } from '../contracts/storage.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { MemoryError } from '../errors.ts';
import { type FOLDER_ACTOR, OPERATOR_ACTOR } from './service-actors.ts';
import type { Commit, CommitDependencies, PastChange, WrittenRun } from './commit.ts';
import type { HeldWrite } from './hold.ts';
import { checkContent, checkReason } from './content.ts';
import {
  deletion,
  type Draft,
  type FileChange,
  NO_TOOL_CALL,
  revertTo,
  type Written,
} from './draft.ts';
import { parsePhysicalPath, toPhysicalPath } from './paths.ts';

/** The result of an admin's write. */
export interface AdminWritten extends Written {
  key: FileKey;
}

/** An earlier content to restore. */
export interface Restoration {
  key: FileKey;
  /** `null` if the file didn't exist. */
  content: string | null;
  /** The expected version, else `VERSION_CONFLICT`; 0: the file must not exist. */
  ifVersion?: number | undefined;
  /** How many redactions had changed the scope's past versions when the content was read. */
  redactions?: number | undefined;
  /** The versions that it takes back: see `RevisionRecord`. */
  reverts?: string | undefined;
}

/** What a change of one file says beside its content. */
interface AdminChange {
  reason?: string | undefined;
  ifVersion?: number | undefined;
  /** `folder` for a mounted folder, whose writes a freeze stops. Default: the operator. */
  actor?: typeof FOLDER_ACTOR | undefined;
}

/** The admin's changes of memory files. Each leaves an audit row. */
export interface AdminFiles {
  /** Writes a file. `ifVersion` 0: the file must not exist. */
  put(
    physicalPath: unknown,
    change: AdminChange & { content: string },
    caller: AuditCaller,
  ): Promise<AdminWritten>;
  /** Deletes a file. */
  delete(physicalPath: unknown, change: AdminChange, caller: AuditCaller): Promise<AdminWritten>;
  /** Restores earlier contents in one transaction, as revisions with the action `revert`. */
  restore(
    restorations: readonly Restoration[],
    options: RestoreOptions,
    caller: AuditCaller,
  ): Promise<AdminWritten[]>;
  /**
   * Replaces past versions of a file and, where `content` is given, its present content by a revision with
   * the action `redact`. Returns its version; `null` if the present content stays.
   */
  redact(key: FileKey, redaction: PresentRedaction, caller: AuditCaller): Promise<number | null>;
}

/** What a redaction does to a file. */
export interface PresentRedaction {
  /** What the file has instead; `null` if its present content stays. */
  content: string | null;
  reason: string;
  /** The version that the plan was made from, deleted or not. */
  version: number;
  past: PastChange;
}

/** How earlier contents are restored. */
export interface RestoreOptions {
  reason: string;
  /** What the audit row names; `action` is `revisions.revert` by default. */
  target: string;
  action?: string;
  details?: Record<string, unknown> | undefined;
  /** Whether it makes the user eligible for dreaming. */
  qualifies: boolean;
  /** Set for a part of work for which all other writes of the user wait. */
  held?: HeldWrite | undefined;
  /** A run that changes with the files, in the same transaction, and what must hold for it. */
  run?: WrittenRun<AdminWritten[]> | undefined;
  guards?: readonly Guard[] | undefined;
  /**
   * The last erasure that was known when the earlier contents began to be read. Not needed with `held`,
   * which keeps all others out.
   */
  knownErasure?: number | undefined;
}

/** Creates the admin's writes, by physical path, through the one write path. */
export function createAdminFiles(
  commit: Commit,
  { limits, ids }: Pick<CommitDependencies, 'limits' | 'ids'>,
): AdminFiles {
  return {
    async put(physicalPath, change, caller) {
      const key = parsePhysicalPath(physicalPath);
      const facts = checkContent(change.content, limits.maxFileBytes);
      const asked = { ...caller, ...toAction('write', key), actor: change.actor };
      return commit(adminWrite([key], asked), (draft) => {
        draft.expectVersion(key, change.ifVersion);
        const reason = checkReason(change.reason);
        const { content } = change;
        return { key, ...draft.put(key, { content, facts, action: 'write', reason }) };
      });
    },

    async delete(physicalPath, change, caller) {
      const key = parsePhysicalPath(physicalPath);
      const asked = { ...caller, ...toAction('delete', key), actor: change.actor };
      return commit(adminWrite([key], asked), (draft) => {
        draft.required(key);
        draft.expectVersion(key, change.ifVersion);
        return { key, ...draft.put(key, deletion('delete', checkReason(change.reason))) };
      });
    },

    async redact(key, { content, reason, version, past }, { operator, traceId }) {
      const trace = noTrace(traceId, undefined);
      const caller = { ...NO_TOOL_CALL, actor: OPERATOR_ACTOR, operator, trace };
      const write = {
        keys: [key],
        caller,
        toPath: toPhysicalPath,
        triggersDream: false,
        isOperators: true,
        past,
      };
      const { written } = await commit<{ written: number | null }>(write, (draft) => {
        if ((draft.file(key)?.version ?? 0) !== version) throw pastHasMoved();
        if (content === null) return { written: null };
        // A replacement may be longer than the text: an operator's redaction is refused for no quota.
        const facts = checkContent(content, Infinity);
        const change = { content, facts, action: 'redact', reason, before: content } as const;
        return { written: draft.put(key, change).version };
      });
      return written;
    },

    async restore(restorations, options, caller) {
      const { reason, target, qualifies, held, knownErasure } = options;
      const { action = 'revisions.revert', details, run, guards } = options;
      const prepared = restorations.map(({ key, content, ifVersion, redactions, reverts }) => ({
        key,
        ifVersion,
        redactions,
        change: revertTo(content, reason, reverts),
      }));
      const keys = prepared.map(({ key }) => key);
      const facts = { ...caller, action, target, details, knownErasure };
      const write = {
        ...adminWrite<AdminWritten[]>(keys, facts),
        held,
        run,
        guards,
        triggersDream: qualifies,
      };
      return commit(write, (draft) => {
        const written = restoreAll(draft, prepared);
        return keys.map((key) => written.get(key) as AdminWritten);
      });
    },
  };

  function adminWrite<R extends object>(
    keys: readonly FileKey[],
    {
      operator,
      address,
      traceId,
      action,
      target,
      details: given,
      knownErasure,
      actor,
    }: AuditCaller & {
      action: string;
      target: string;
      actor?: AdminChange['actor'];
      details?: object | undefined;
      knownErasure?: number | undefined;
    },
  ) {
    const trace = noTrace(traceId, knownErasure);
    const caller = { ...NO_TOOL_CALL, actor: actor ?? OPERATOR_ACTOR, operator, trace };
    const more = { ...given, ...(actor !== undefined && { actor }) };
    const audit = (result: R) => {
      const details = { ...more, written: toAuditDetails(result) };
      return toAuditRecord(ids, { action, target, details, operator, address, traceId });
    };
    // Nobody decides on each change of a folder.
    return { keys, caller, toPath: toPhysicalPath, audit, isOperators: actor === undefined };
  }
}

/** Restores each file, deletes first: reverting a move inside a full scope stays within its quota. */
function restoreAll(
  draft: Draft,
  prepared: readonly {
    key: FileKey;
    ifVersion: Restoration['ifVersion'];
    redactions: Restoration['redactions'];
    change: ReturnType<typeof revertTo>;
  }[],
): Map<FileKey, AdminWritten> {
  const order = [...prepared].sort(
    (a, b) => Number(a.change.content !== null) - Number(b.change.content !== null),
  );
  return new Map(
    order.map(({ key, ifVersion, redactions, change }) => {
      draft.expectRedactions(key.scope, redactions);
      draft.expectVersion(key, ifVersion);
      return [key, restoreOne(draft, key, change)] as const;
    }),
  );
}

/** The error of a change of past versions whose rows are no longer those that it was made from. */
export function pastHasMoved(): MemoryError {
  return new MemoryError('RUN_STATE', 'The history has changed meanwhile.', {
    details: { reason: 'past_moved' },
  });
}

function toAction(verb: 'write' | 'delete', key: FileKey) {
  return { action: `files.${verb}`, target: toPhysicalPath(key) };
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
