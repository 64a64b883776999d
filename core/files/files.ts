import type { FileKey } from '../contracts/records.ts';
import type { SpaceFiles } from '../contracts/stores.ts';
import type { FileService } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { createTexts } from '../history/texts.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { type AdminFiles, createAdminFiles } from './admin-files.ts';
import { createAttempt } from './agent-attempt.ts';
import { createAgentReads } from './agent-reads.ts';
import { type AgentWrites, createAgentWrites } from './agent-writes.ts';
import { type CommitDependencies, createCommit } from './commit.ts';
import type { FrozenWrite } from './freeze.ts';
import { createHostFiles, type HostFiles } from './host-files.ts';
import type { Idempotency } from './idempotency.ts';
import { createImportedFiles, type ImportedFiles } from './imported-files.ts';
import { type Reach, toOwner, toVirtualPath } from './paths.ts';
import { createSpaceFiles } from './space-files.ts';

/** Memory files: everything that reads one for an agent, and everything that changes one. */
export interface Files extends FileService, AgentWrites, AdminFiles, HostFiles, ImportedFiles {
  /**
   * Throws `WRITES_FROZEN` while an operator has stopped such writes, before work that would be in vain.
   * The write path checks it again.
   */
  checkWrites(write: FrozenWrite): void;
  /** The files of spaces by their lineages. */
  readonly inSpaces: SpaceFiles;
}

interface FilesDependencies extends CommitDependencies {
  /** Whether tools may write `shared/`. */
  sharedWrites: boolean;
  accessQueue: AccessQueue;
  /** In which the days of memory end. */
  timeZone: string;
  idempotency: Pick<Idempotency, 'replay'>;
}

/** Memory files for agents, plugins and the admin. All writes go through `commit`. */
export function createFiles(deps: FilesDependencies): Files {
  const commit = createCommit(deps);

  function checkWritable(key: FileKey, { spaces = [] }: Reach): void {
    const { userId, spaceId } = toOwner(key.scope);
    if (userId !== null) return;
    if (spaceId === null && deps.sharedWrites) return;
    if (spaces.some(({ id, access }) => id === spaceId && access === 'write')) return;
    const message =
      spaceId === null
        ? 'Shared memory is read-only for tools.'
        : `This call may only read the space ${spaceId}.`;
    throw new MemoryError('READ_ONLY_SCOPE', message, { details: { path: toVirtualPath(key) } });
  }
  const attempt = createAttempt({ ...deps, checkWritable });

  return {
    ...createAdminFiles(commit, deps),
    ...createHostFiles(commit, { ...deps, checkWritable }),
    ...createImportedFiles(commit, deps),
    ...createAgentReads(attempt, deps),
    ...createAgentWrites(commit, attempt, deps),
    inSpaces: createSpaceFiles(commit, { ...deps, texts: createTexts(deps.storage) }),
    checkWrites: (write) => deps.erasures.checkWrites(write),
  };
}
