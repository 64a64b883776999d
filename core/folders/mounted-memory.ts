/** A memory file as the service lists it. Paths are those in the memory of one user or space. */
export interface ServiceFile {
  path: string;
  version: number;
  revisionId: string;
}

/** A memory file with its content. */
export interface ServiceText extends ServiceFile {
  content: string;
}

/** What became of a write. */
export type WriteOutcome =
  | {
      kind: 'written';
      version: number;
      revisionId: string;
      /** The service has the very text that was sent: screening masked nothing. */
      isAsSent: boolean;
    }
  /** The file is not at the version that was named. */
  | { kind: 'moved_on' }
  /** The service does not take this file. Where `isFinal`, it never takes this text. */
  | { kind: 'refused'; message: string; isFinal: boolean }
  /** The service takes no writes here for now. */
  | { kind: 'stopped'; message: string };

/** What happened to a memory since a mark. */
export interface ServiceNews {
  /** Names this state of the memory and of the audit. */
  mark: ServiceMark;
  /** A file may have changed. */
  isChanged: boolean;
  /** The memory was erased since the mark, or began to be. */
  isErased: boolean;
  /** Without a mark: when the memory was last erased, by the service's clock; else `null`. */
  erasedAt: number | null;
  /** Something was redacted, maybe elsewhere. */
  isRedacted: boolean;
}

/** The newest rows that a mount has seen. */
export interface ServiceMark {
  /** The ids of the newest revisions. */
  revisions: string;
  /** The ids of the newest rows of the audit. */
  audit: string;
  /** The ids of the newest rows of erasures, of anybody. */
  erasures: string;
  /** The memory is being erased. */
  isErasing: boolean;
  /** The ids of the newest rows of redactions. */
  redactions: string;
  /** The ids of the newest rows of imports, which write revisions with old ids. */
  imports: string;
}

/** A past version, as far as a mount needs it. */
export interface ServiceVersion {
  version: number;
  isRedacted: boolean;
  /** The file did not exist after it. */
  isDeletion: boolean;
}

/** The memory of one user or space, as a mounted folder sees it. All calls throw {@link ServiceAway}. */
export interface MountedMemory {
  /** What happened since `mark`; `null` for a mount that knows nothing yet. */
  news(mark: ServiceMark | null): Promise<ServiceNews>;
  list(): AsyncIterable<ServiceFile>;
  /** `null` for a file that does not exist. */
  read(path: string): Promise<ServiceText | null>;
  /** Writes while the file is at that version; 0: while it does not exist. */
  put(path: string, content: string, version: number): Promise<WriteOutcome>;
  remove(path: string, version: number): Promise<WriteOutcome>;
  /** The versions of a file, the newest first. */
  versions(path: string): AsyncIterable<ServiceVersion>;
}

/** The service does not answer, or not now. */
export class ServiceAway extends Error {
  override readonly name = 'ServiceAway';
}

/** The folder can't be kept in step, whatever is tried again. The message is one line for a person. */
export class MountFault extends Error {
  override readonly name = 'MountFault';
}
