import { type AuditEntry, toAuditRecord } from '../telemetry/audit.ts';
import type { FileKey, FileState, NewRevision, PrunedRevision } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ImportedFile, ImportOutcome, OnExisting } from '../schemas/archive.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { IMPORT_ACTOR } from './service-actors.ts';
import type { Commit, CommitDependencies } from './commit.ts';
import { checkContent } from './content.ts';
import { type AdoptedChain, deletion, type Draft, NO_TOOL_CALL } from './draft.ts';
import { moveFile } from './move-file.ts';
import { toPhysicalPath } from './paths.ts';

/** The parts of a file that an import compares; `null` for a file that there never was. */
export type ExistingFile = Pick<
  FileState,
  'version' | 'hash' | 'deletedAt' | 'latestRevisionId' | 'revisions'
> | null;

/**
 * Where older revisions join on to a file: its oldest revision, and whether the content before that
 * one was taken out.
 */
export interface Seam {
  version: number;
  redactedBefore: boolean;
}

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

/** A version of a hosted memory to import. */
export interface VersionToImport {
  key: FileKey;
  /** Where the memory was before; `key` where it stays. */
  from: FileKey;
  /** `null` for its deletion. */
  content: string | null;
  reason: string;
  /** The newest revision that the file must have; `null`: it must not exist. */
  expected: string | null;
}

/** Options of one write of an import. */
export interface ImportOptions {
  traceId: string | null;
  /**
   * The last erasure that was known when the import began: it writes nothing of a user who was erased
   * since.
   */
  knownErasure: number;
  /** Set for the first write of an import: its audit row is in the same transaction. */
  audit: AuditEntry | null;
  /** Whether this service exported it: what it holds was in memory already. */
  isOwnExport: boolean;
}

/** What an archive has of a pruned revision, or of what a prune added for a file: its base. */
export interface PrunedToImport extends Pick<
  PrunedRevision,
  'id' | 'rowHash' | 'chainHash' | 'contentSalt' | 'shown'
> {
  base: { path: string; version: number; contentHash: string } | null;
}

/** The writes of an import. */
export interface ImportedFiles {
  /**
   * Imports a file in one transaction, and returns what {@link planImport} says of it, and what
   * screening masked.
   */
  importFile(
    file: FileToImport,
    options: ImportOptions,
  ): Promise<Pick<ImportedFile, 'outcome' | 'masked'>>;
  /**
   * Imports a version of a hosted memory in one transaction; `null` where somebody else has changed the file,
   * or stands at its path. Returns the newest revision of the file, `null` if it does not exist.
   */
  importVersion(
    version: VersionToImport,
    options: ImportOptions,
  ): Promise<(Pick<ImportedFile, 'masked'> & { revisionId: string | null }) | null>;
  /** Adds what an archive has of the pruned revisions of a scope in which `key` was restored. */
  importPruned(
    key: FileKey,
    pruned: readonly PrunedToImport[],
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
  { existing, seam, hash }: { existing: ExistingFile; seam: Seam | null; hash: string },
): ImportOutcome | 'older' {
  if (restored !== null) {
    if (existing === null) return 'restored';
    if (isSameRevision(existing, restored.state)) {
      return olderThan(existing, seam, restored.revisions).length > 0 ? 'older' : 'unchanged';
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

/** Reads where older revisions join on to a file; `null` for a file that there never was. */
export async function readSeam(
  { revisions }: Pick<Storage, 'revisions'>,
  file: (FileKey & Pick<FileState, 'version' | 'revisions'>) | null,
): Promise<Seam | null> {
  if (file === null) return null;
  const version = oldestOf(file);
  const oldest = await revisions.ofVersion(file, version);
  return { version, redactedBefore: oldest?.redactedBefore ?? false };
}

/** Creates the writes of imports, through the one write path. */
export function createImportedFiles(
  commit: Commit,
  { storage, limits, ids }: Pick<CommitDependencies, 'storage' | 'limits' | 'ids'>,
): ImportedFiles {
  async function write<R>(
    keys: readonly FileKey[],
    { traceId, audit, knownErasure }: ImportOptions,
    plan: (draft: Draft) => R,
  ): Promise<R> {
    const caller = { ...NO_TOOL_CALL, actor: IMPORT_ACTOR, trace: noTrace(traceId, knownErasure) };
    const row = audit === null ? {} : { audit: () => toAuditRecord(ids, audit) };
    const { result } = await commit({ keys, caller, toPath: toPhysicalPath, ...row }, (draft) => ({
      result: plan(draft),
    }));
    return result;
  }

  const seamOf = async (key: FileKey) => await readSeam(storage, await storage.files.get(key));

  return {
    async importFile(file, options) {
      const { key, content, chain } = file;
      const facts = content === null ? null : checkContent(content, limits.maxFileBytes);
      const seam = file.restored === null ? null : await seamOf(key);
      return await write([key], options, (draft) => {
        const existing = draft.file(key);
        const isAdopted = chain === null || draft.adoptChain(key.scope, chain);
        const restored = isAdopted ? file.restored : null;
        const outcome = planImport(
          { ...file, restored },
          { existing, seam, hash: facts?.hash ?? '' },
        );
        if (restored !== null && outcome === 'restored') {
          draft.restore(restored.state, restored.revisions);
        } else if (restored !== null && existing !== null && outcome === 'older') {
          draft.restoreOlder(existing, olderThan(existing, seam, restored.revisions));
        } else if (facts !== null && (outcome === 'created' || outcome === 'updated')) {
          const { isOwnExport } = options;
          const change = { content, facts, action: 'write', reason: 'Imported.' } as const;
          const { masked } = draft.put(key, { ...change, isOwnExport });
          if (masked !== undefined) return { outcome, masked };
        }
        return { outcome: outcome === 'older' ? 'restored' : outcome };
      });
    },

    async importVersion({ key, from, content, reason, expected }, options) {
      const isMove = from.path !== key.path;
      const facts = content === null ? null : checkContent(content, limits.maxFileBytes);
      return await write(isMove ? [from, key] : [key], options, (draft) => {
        const present = draft.existing(from);
        if ((present?.latestRevisionId ?? null) !== expected) return null;
        if (content === null || facts === null) {
          if (present !== null) draft.put(from, deletion('delete', reason));
          return { revisionId: null };
        }
        if (isMove && draft.existing(key) !== null) return null;
        const { revisionId, masked } =
          isMove && present !== null
            ? moveFile(draft, { from, to: key, content: { text: content, facts }, reason })
            : draft.put(key, { content, facts, action: 'write', reason });
        return masked === undefined ? { revisionId } : { revisionId, masked };
      });
    },

    async importPruned(key, pruned, options) {
      const { scope } = key;
      const paths = pruned.flatMap(({ base }) => base?.path ?? []);
      const keys = [
        key,
        ...paths.filter((path) => path !== key.path).map((path) => ({ scope, path })),
      ];
      await write(keys, options, (draft) => {
        const rows = pruned.map(({ base, contentSalt, ...hashes }) => {
          // The numbers of files belong to the database that the archive is of.
          const file = base === null ? null : draft.file({ scope, path: base.path });
          if (base === null || file === null) {
            return { ...hashes, fileNo: 0, version: 0, contentHash: null, contentSalt: null };
          }
          const { version, contentHash } = base;
          return { ...hashes, fileNo: file.fileNo, version, contentHash, contentSalt };
        });
        draft.addPruned(scope, rows);
      });
    },

    async importOlder(key, revisions, options) {
      const seam = await seamOf(key);
      return await write([key], options, (draft) => {
        const existing = draft.file(key);
        const older = existing === null ? [] : olderThan(existing, seam, revisions);
        if (existing !== null && older.length > 0) draft.restoreOlder(existing, older);
        return older.length;
      });
    },
  };
}

/**
 * The revisions that a file lacks, if they join on to its oldest one. After a redaction on one side
 * alone they don't: the step back from the oldest one leads to another text, or to the secret.
 */
function olderThan<Revision extends Pick<NewRevision, 'version' | 'redacted'>>(
  file: Pick<FileState, 'version' | 'revisions'>,
  seam: Seam | null,
  revisions: readonly Revision[],
): readonly Revision[] {
  const oldest = oldestOf(file);
  const older = revisions.filter(({ version }) => version < oldest);
  const [newest] = older;
  // The oldest one was pruned since the seam was read: a repeated import joins on to the next.
  if (seam?.version !== oldest || newest?.version !== oldest - 1) return [];
  return newest.redacted === seam.redactedBefore ? older : [];
}

function oldestOf({ version, revisions }: Pick<FileState, 'version' | 'revisions'>): number {
  return version - revisions + 1;
}
