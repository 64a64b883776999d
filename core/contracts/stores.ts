import type { AdminSpace } from '../schemas/spaces.ts';
import type { ApiKey, AuditCaller, SpaceAccess } from './access.ts';
import type { FileRecord, FileState, FolderListing, RevisionRecord } from './records.ts';
import type { ToolCall, ToolResponse } from './tool.ts';

/** A call in one space, for nobody in particular: a tool call but for the user. */
export type SpaceCall = Omit<ToolCall, 'userId'> & { userId: null };

/** What is asked for in a space, as a call of one of the service's tools. */
export interface SpaceRequest {
  /** The tool that a key must be for, and that records name. */
  tool: 'memory_list' | 'memory_read' | 'memory_write' | 'memory_move' | 'memory_delete';
  /** `null` where all spaces are listed that the key is for. */
  space: { id: string; access: SpaceAccess } | null;
  apiKey?: ApiKey | undefined;
  idempotencyKey?: string | undefined;
  /** What a repeat under the same idempotency key has to ask for again. */
  arguments: unknown;
  traceparent?: string | undefined;
  arrivedAt?: number | undefined;
}

/** The spaces as stores of files with an identity. */
export interface HostStores {
  /** Spaces by id, after one. */
  list(page: { after: string | null; limit: number }): Promise<readonly AdminSpace[]>;
  /** An id that no space has. */
  newSpaceId(): string;
  /** Throws `SPACE_NOT_FOUND`. */
  get(spaceId: string): Promise<AdminSpace>;
  /** Makes a space with `exclusivePaths`; one alone for calls with the same idempotency key. */
  create(
    spaceId: string,
    settings: StoreSettings,
    { caller, call }: { caller: AuditCaller; call: SpaceCall },
  ): Promise<AdminSpace>;
  change(
    spaceId: string,
    settings: StoreSettings & { ifVersion?: number },
    caller: AuditCaller,
  ): Promise<AdminSpace>;
  archive(spaceId: string, caller: AuditCaller): Promise<AdminSpace>;
  erase(spaceId: string, caller: AuditCaller): Promise<void>;
  /** Takes the content of a version out of the history: see `Revisions.redact`. */
  redact(revisionId: string, caller: AuditCaller): Promise<void>;
  /** When a version was redacted, and by whom; `null` where that is not known. */
  redactionOf(revision: RevisionRecord): Promise<{ at: number; operator: string | null } | null>;
  readonly files: SpaceFiles;
  /**
   * Runs a request as a tool call: checked for the key, traced, counted, and refused while the space is
   * held. Writes are refused while they are frozen.
   */
  run<R>(
    request: SpaceRequest,
    work: (call: SpaceCall) => Promise<R>,
  ): Promise<Omit<ToolResponse, 'result'> & { result: R }>;
}

/** What a store says of itself. */
export interface StoreSettings {
  name?: string;
  description?: string;
  metadata?: Record<string, string>;
}

/** What a write left of a file: no content, so that it can be kept for a repeat. */
export type StoredFile = Pick<
  FileRecord,
  'path' | 'fileNo' | 'lineageId' | 'hash' | 'size' | 'createdAt' | 'updatedAt' | 'latestRevisionId'
>;

/** The files of spaces, each known by its lineage. Paths are those inside the space. */
export interface SpaceFiles {
  /** Throws `PATH_CONFLICT` if the path is taken. */
  create(
    spaceId: string,
    file: { path: string; content: string },
    call: SpaceCall,
  ): Promise<StoredFile>;
  /**
   * Changes the content, the path or both. With `expectedHash` only while the file has that content, or
   * is as asked for already; else throws `VERSION_CONFLICT`.
   */
  update(
    place: { spaceId: string; lineageId: string },
    change: {
      path?: string | undefined;
      content?: string | undefined;
      expectedHash?: string | undefined;
    },
    call: SpaceCall,
  ): Promise<StoredFile>;
  remove(
    place: { spaceId: string; lineageId: string },
    options: { expectedHash?: string | undefined },
    call: SpaceCall,
  ): Promise<StoredFile>;
  /** Throws `FILE_NOT_FOUND`. */
  read(place: { spaceId: string; lineageId: string }, call: SpaceCall): Promise<FileState>;
  /** The file at a path, for an error that names it. */
  at(spaceId: string, path: string): Promise<FileRecord | null>;
  /** By path, after one; with `isFlat` folders below the prefix are rolled up. */
  list(
    spaceId: string,
    options: {
      prefix: string;
      isFlat: boolean;
      hasContents: boolean;
      after: string | null;
      limit: number;
    },
    call: SpaceCall,
  ): Promise<{ items: readonly ListedEntry[]; next: string | null }>;
  /** Newest first, after the id of one; those of a lineage, or all. */
  versions(
    spaceId: string,
    options: {
      lineageId: string | null;
      since: number | null;
      until: number | null;
      after: string | null;
      limit: number;
    },
    call: SpaceCall,
  ): Promise<{ items: readonly RevisionRecord[]; next: string | null }>;
  /** Throws `REVISION_NOT_FOUND`, also for one of another space. */
  version(spaceId: string, revisionId: string, call: SpaceCall): Promise<RevisionRecord>;
  /** The content after a version; `null` where it is gone. */
  contentOf(revision: RevisionRecord, call: SpaceCall): Promise<string | null>;
}

/** An entry of a list: a file, or a folder that stands for those in it. */
export type ListedEntry =
  { file: FileRecord & { content: string | null } } | { folder: FolderListing };
