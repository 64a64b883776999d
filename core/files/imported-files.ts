import { type AuditEntry, toAuditRecord } from '../audit.ts';
import type { FileKey, FileState, NewRevision, PrunedRevision } from '../contracts/records.ts';
import type { ImportOutcome, OnExisting } from '../schemas/archive.ts';
import { noTrace } from '../telemetry/tracer.ts';
import type { Commit, CommitDependencies } from './commit.ts';
import { checkContent } from './content.ts';
import type { AdoptedChain, Draft, DraftCaller } from './draft.ts';
import { toPhysicalPath } from './paths.ts';

/** The parts of a file that an import compares; `null` for a file that there never was. */
export type ExistingFile = Pick<
  FileState,
  'version' | 'hash' | 'deletedAt' | 'latestRevisionId' | 'revisions'
> | null;

/** A file as another database held it, with its newest revisions first. */
export interface RestoredFile {
  state: Omit<FileState, 'fileNo'>;
  revisions: readonly Omit<NewRevision, 'fileNo'>[];
}

/** A file to import. */
export interface FileToImport {
  key: FileKey;
  /** `null` for a deleted file, which only a restore imports. */
  content: string | null;
  /** Its state and history to restore; `null` to write a new version as the actor `import`. */
  restored: RestoredFile | null;
  onExisting: OnExisting;
  /**
   * Set for the first restored file of a scope: the archive's chain. Where the scope has another
   * one, the file is written as a new version.
   */
  chain: AdoptedChain | null;
}

/** Options of one write of an import. */
export interface ImportOptions {
  traceId: string | null;
  /** Set for the first write of an import: its audit row is in the same transaction. */
  audit: AuditEntry | null;
}

/** The writes of an import. */
export interface ImportedFiles {
  /** Imports a file in one transaction, and returns what {@link planImport} says of it. */
  importFile(file: FileToImport, options: ImportOptions): Promise<ImportOutcome>;
  /** Adds what an archive has of the pruned revisions of a scope in which `key` was restored. */
  importPruned(
    key: FileKey,
    pruned: readonly Omit<PrunedRevision, 'scope'>[],
    options: ImportOptions,
  ): Promise<void>;
  /** Restores the revisions of a file that are older than all that it has; returns how many. */
  importOlder(
    key: FileKey,
    revisions: readonly Omit<NewRevision, 'fileNo'>[],
    options: ImportOptions,
  ): Promise<number>;
}

/**
 * Decides what becomes of a file. A file with the archive's newest revision gets the older
 * revisions that it lacks: that completes an import that was interrupted.
 */
export function planImport(
  { content, restored, onExisting }: Pick<FileToImport, 'content' | 'restored' | 'onExisting'>,
  { existing, hash }: { existing: ExistingFile; hash: string },
): ImportOutcome | 'older' {
  if (restored !== null) {
    if (existing === null) return 'restored';
    if (isSameRevision(existing, restored.state)) {
      return olderThan(existing, restored.revisions).length > 0 ? 'older' : 'unchanged';
    }
  }
  if (content === null) return 'skipped';
  if (existing === null || existing.deletedAt !== null) return 'created';
  if (existing.hash === hash) return 'unchanged';
  return onExisting === 'new_versions' ? 'updated' : 'skipped';
}

/** Whether a file has the newest revision of an archived one. */
export function isSameRevision(
  one: Pick<FileState, 'version' | 'latestRevisionId'>,
  other: Pick<FileState, 'version' | 'latestRevisionId'>,
): boolean {
  return one.version === other.version && one.latestRevisionId === other.latestRevisionId;
}

/** Creates the writes of imports, through the one write path. */
export function createImportedFiles(
  commit: Commit,
  { limits, ids }: Pick<CommitDependencies, 'limits' | 'ids'>,
): ImportedFiles {
  async function write<R>(
    key: FileKey,
    { traceId, audit }: ImportOptions,
    plan: (draft: Draft) => R,
  ): Promise<R> {
    const caller: DraftCaller = {
      userId: null,
      actor: 'import',
      tool: null,
      toolCallId: null,
      traceId,
      runId: null,
      triggersDream: true,
      toPath: toPhysicalPath,
    };
    const trace = noTrace(traceId ?? undefined);
    const row = audit === null ? {} : { audit: () => toAuditRecord(ids, audit) };
    const { result } = await commit({ keys: [key], caller, trace, ...row }, (draft) => ({
      result: plan(draft),
    }));
    return result;
  }

  return {
    async importFile(file, options) {
      const { key, content, chain } = file;
      const facts = content === null ? null : checkContent(content, limits.maxFileBytes);
      return await write(key, options, (draft) => {
        const existing = draft.file(key);
        const isAdopted = chain === null || draft.adoptChain(key.scope, chain);
        const restored = isAdopted ? file.restored : null;
        const outcome = planImport({ ...file, restored }, { existing, hash: facts?.hash ?? '' });
        if (restored !== null && outcome === 'restored') {
          draft.restore(restored.state, restored.revisions);
        } else if (restored !== null && existing !== null && outcome === 'older') {
          draft.restoreOlder(existing, olderThan(existing, restored.revisions));
        } else if (facts !== null && (outcome === 'created' || outcome === 'updated')) {
          const action = outcome === 'created' ? 'create' : 'update';
          draft.put(key, { content, facts, action, reason: 'Imported.' });
        }
        return outcome === 'older' ? 'restored' : outcome;
      });
    },

    async importPruned(key, pruned, options) {
      await write(key, options, (draft) => draft.addPruned(key.scope, pruned));
    },

    importOlder: (key, revisions, options) =>
      write(key, options, (draft) => {
        const existing = draft.file(key);
        const older = existing === null ? [] : olderThan(existing, revisions);
        if (existing !== null && older.length > 0) draft.restoreOlder(existing, older);
        return older.length;
      }),
  };
}

/** The revisions that a file lacks, if they join on to its oldest one. */
function olderThan<Revision extends Pick<NewRevision, 'version'>>(
  { version, revisions: kept }: Pick<FileState, 'version' | 'revisions'>,
  revisions: readonly Revision[],
): readonly Revision[] {
  const oldest = version - kept + 1;
  const older = revisions.filter((revision) => revision.version < oldest);
  return older[0]?.version === oldest - 1 ? older : [];
}
