/**
 * The records that cross the seams of the service. Types only.
 *
 * Times are integers, milliseconds since 1970 in UTC; sizes are bytes of UTF-8; ids are lower-case
 * UUIDv7 text; trace ids are 32 and span ids 16 lower-case hex digits. Absent is `null`.
 */

import type { AccessAction, AdminAccess } from '../schemas/access.ts';
import type { AdminAudit } from '../schemas/audit.ts';
import type { AdminEvent } from '../schemas/events.ts';
import type { AdminFile } from '../schemas/files.ts';
import type { AdminRevision } from '../schemas/revisions.ts';
import type { AdminSpace } from '../schemas/spaces.ts';
import type { AdminUser } from '../schemas/users.ts';

export type { AccessAction, AccessOutcome } from '../schemas/access.ts';
export type { LineRange } from '../schemas/shapes.ts';
export type { SpanAttributes, SpanKind } from '../schemas/events.ts';
export type { RevisionAction } from '../schemas/revisions.ts';

/**
 * What a memory file belongs to: `u:<userId>` for a user's memory, `s:<spaceId>` for that of a space, `s` for
 * the shared one. Only core/files/paths.ts takes one apart.
 */
export type ScopeKey = 's' | `s:${string}` | `u:${string}`;

/** A memory file's place: its scope, and its path inside the scope (`profile.md`). */
export interface FileKey {
  scope: ScopeKey;
  path: string;
}

/**
 * The fields of an answer as the database holds them: times in milliseconds. Path and user are not
 * among them: a record has its path inside a {@link ScopeKey}.
 */
export type Stored<Answer> = {
  [Field in Exclude<keyof Answer, 'path' | 'virtualPath' | 'userId' | 'spaceId'>]: Field extends
    'at' | `${string}At`
    ? number | Extract<Answer[Field], null>
    : Answer[Field];
};

/** The state of a scope: quota, ids and eligibility depend on it. */
export interface ScopeState {
  scope: ScopeKey;
  /** +1 with every mutation of the scope; caches are checked against it. */
  version: number;
  /** The number that the next new file gets. Numbers are local to the scope and never used again. */
  nextFileNo: number;
  /** The greatest millisecond that an id of this scope was made of. */
  lastMs: number;
  /** How many ids were made of `lastMs`. */
  idCounter: number;
  /** Files that exist (deleted ones don't count), their bytes, and revision rows kept. */
  files: number;
  bytes: number;
  revisions: number;
  lastWriteAt: number | null;
  /** The last write that makes a user eligible for dreaming. */
  lastQualifyingAt: number | null;
  /** The chain hash of the newest revision (core/history/chain.ts); `null` while none has one. */
  chainHead: string | null;
  /** The newest revision from before the chain; `null` if the chain has all revisions. */
  chainAfter: string | null;
  /** When the memory was erased last, for people. `null` if never. */
  erasedAt: number | null;
  /**
   * The number of the scope's last erasure, or 0 if there was none. Numbers grow in the order of the
   * commits.
   */
  erasureNumber: number;
  /** How many redactions changed a past version of a file. */
  redactions: number;
  /** The hold of the scope: see {@link HoldRecord}. `null` if its writes don't wait. */
  holdId: string | null;
  holdKind: HoldRecord['kind'] | null;
  /** Whether files may lack the hash that `RevisionStore.cover` adds. */
  uncovered: boolean;
  /** Of a space: since when it is read-only, and the most files it may have; else `null`. */
  archivedAt: number | null;
  quota: number | null;
}

/** What operators say of a space, but for what {@link ScopeState} has of it. */
export interface SpaceRecord extends Pick<
  Stored<AdminSpace>,
  'name' | 'description' | 'metadata' | 'dream' | 'exclusivePaths' | 'createdAt' | 'version'
> {
  scope: ScopeKey;
  /** `null` in rows from before, and where nobody changed them. */
  updatedAt: number | null;
}

/** A space with the figures of its memory. */
export interface SpaceListing
  extends Omit<Stored<AdminSpace>, 'updatedAt'>, Pick<SpaceRecord, 'updatedAt'> {
  scope: ScopeKey;
}

/** Why the writes of a scope wait: work of an operator that takes several transactions. */
export interface HoldRecord {
  scope: ScopeKey;
  /** A UUID: writes that are part of the work name it. */
  id: string;
  kind: 'restore' | 'erase';
  /** When the work last went on, milliseconds. */
  progressAt: number;
  /** What the work needs to go on after a crash. */
  details: Record<string, unknown>;
}

/** Whose writes are stopped: of one user's memory and calls, of a space, of an actor, with a key, or all. */
export type FreezeTarget =
  { userId: string } | { spaceId: string } | { actor: string } | { keyId: string } | { all: true };

/** Writes that an operator has stopped for a while. */
export interface FreezeRecord {
  id: string;
  target: FreezeTarget;
  reason: string;
  at: number;
  /** When it ends by itself, by the database's clock where several instances may share it. */
  until: number;
  /** From where it was asked for. */
  address: string | null;
}

/**
 * A memory file without its content. A deleted file stays as a row, so that its versions go on
 * counting; its `size` and `lines` are 0. `writes` equals `version`.
 */
export interface FileRecord extends FileKey, Omit<Stored<AdminFile>, 'reads' | 'lastReadAt'> {
  fileNo: number;
  /** SHA-256 of the content, 64 hex digits; of nothing when deleted. */
  hash: string;
  /** See core/files/lineage.ts; `null` outside of spaces, and in rows from before. */
  lineageId: string | null;
  deletedAt: number | null;
  /** Revisions since the last keyframe, and the bytes of their deltas. */
  chainRows: number;
  chainBytes: number;
}

/** A memory file with its content; `null` when deleted. */
export interface FileState extends FileRecord {
  content: string | null;
}

/** What an agent reads of a memory file that exists. */
export interface FileContent extends Pick<
  FileRecord,
  'fileNo' | 'version' | 'size' | 'lines' | 'updatedAt' | 'latestRevisionId'
> {
  content: string;
}

/** A memory file as the admin lists it: with the reads, which are counted apart. */
export interface FileListing extends FileRecord, Pick<Stored<AdminFile>, 'reads' | 'lastReadAt'> {}

/** A folder of the admin's list, rolled up: `path` is physical and ends in `/`. */
export interface FolderListing {
  path: string;
  files: number;
  bytes: number;
  updatedAt: number;
}

/** A user with memory files, and their totals. */
export interface UserListing extends Stored<AdminUser> {
  userId: string;
}

/** One write of one file, without content. */
export interface RevisionRecord extends FileKey, Stored<Omit<AdminRevision, 'merged'>> {
  fileNo: number;
  /** Which memory of a space it changed, as in {@link FileRecord}; where the file moved away, turned. */
  lineageId: string | null;
  /** The named key that it was written with; `null` without one, and in rows from before. */
  keyId: string | null;
  /** The first revision of its transaction, where that wrote several; `null` for one alone, and in rows from before. */
  commitId: string | null;
  /** SHA-256 of the content after this revision; `null` when redacted. */
  hash: string | null;
  /** 32 hex digits; `null` when redacted, and for a revision without a chain hash. */
  contentSalt: string | null;
  /** What a redaction leaves of salt and hash; else `null`. */
  contentSeal: string | null;
  /** The chain hash of the revision before it in the scope, and its own; `null` before the chain. */
  previousHash: string | null;
  chainHash: string | null;
  /** Which fields its row hash covers, and how (core/history/chain.ts). */
  hashFormat: number;
  /** The row hash that is in the chain, where a redaction has changed the row since; else `null`. */
  rowHash: string | null;
  /** Whether the file existed before, and after. */
  existedBefore: boolean;
  existsAfter: boolean;
}

/** How to get the content before a revision: by `delta` from the content after it, or whole. */
export interface RevisionStep {
  version: number;
  existedBefore: boolean;
  /** Encoded hunks (core/history/delta/codec.ts); `null` where only the keyframe or nothing leads back. */
  delta: Uint8Array | null;
  /** The whole content before this revision, where the row is a keyframe. */
  keyframe: string | null;
}

/** A revision as it is written: its record and the step back. */
export type NewRevision = RevisionRecord & Omit<RevisionStep, 'version' | 'existedBefore'>;

/**
 * What is kept of a pruned revision, so that the chain of its scope can be recomputed. A prune also adds
 * one row for each file with the hash of its base: the text before the oldest revision that stays. A
 * redaction that replaces a text in past versions adds one, too. See core/history/chain.ts.
 */
export interface PrunedRevision extends Pick<
  RevisionRecord,
  'scope' | 'id' | 'fileNo' | 'version'
> {
  rowHash: string;
  chainHash: string;
  /**
   * The SHA-256 of the content at `version`, and the salt under which `rowHash` has it. `null` for a
   * pruned revision, and where a later prune or a redaction took the text away.
   */
  contentHash: string | null;
  contentSalt: string | null;
  /** Of a redaction: the rows that it changed, as they are shown since. `null` for other entries. */
  shown: readonly ShownRow[] | null;
}

/** A revision's row as a redaction left it. */
export type ShownRow = Pick<PrunedRevision, 'id' | 'rowHash'>;

/** One access of one file (or one listing of a prefix). */
export interface AccessRecord extends FileKey, Omit<Stored<AdminAccess>, 'lines'> {
  /** The lines shown, as `1-40,55`; empty for none, `null` where they are unknown. */
  lines: string | null;
  /** Who it was done for: the scope's own user, or the one who used shared memory. */
  userId: string | null;
  /** `null` where no file was found, and for a listing. */
  fileNo: number | null;
  /** As in {@link EventRecord}. */
  knownErasure?: number | undefined;
}

/** A lease, by the database's clock. */
export interface LeaseRecord {
  name: string;
  holder: string;
  /** Grows with each claim. */
  fence: number;
  expiresAt: number;
}

/** The first answer to an idempotency key. */
export interface IdempotencyRecord {
  scope: ScopeKey;
  /** SHA-256 over user, tool and key, 64 hex digits. */
  keyHash: string;
  /** SHA-256 over the arguments, 64 hex digits. */
  requestHash: string;
  /** The result as JSON: never with content. */
  result: string;
  toolCallId: string;
  traceId: string;
  createdAt: number;
}

/** A change made through the admin API. */
export type AuditRecord = Stored<AdminAudit>;

/** A phase of a tool call. `durationMs` has fractions, by the monotonic clock. */
export type SpanRecord = Pick<
  Stored<AdminEvent>,
  | 'spanId'
  | 'parentSpanId'
  | 'kind'
  | 'name'
  | 'status'
  | 'errorCode'
  | 'startedAt'
  | 'durationMs'
  | 'attributes'
>;

/** A root event with its spans: one tool call, or one dream run. */
export interface EventRecord extends Stored<AdminEvent> {
  scope: ScopeKey;
  userId: string | null;
  /** The caller's span, as exporters need it; of fresh events alone, and kept by no storage. */
  parent?: { isSampled: boolean; isRemote: boolean };
  /**
   * The last erasure that was known when the work began; of fresh events alone. Without it the event is
   * left out of no log.
   */
  knownErasure?: number;
  spans: readonly SpanRecord[];
}

/** How long a bucket of a roll-up lasts. */
export type RollupGrain = 'minute' | 'hour' | 'day';

/** Which tool calls a roll-up counts. */
export interface RollupKey {
  grain: RollupGrain;
  /** When the bucket begins, in UTC. */
  bucket: number;
  /** `null` for the calls of all scopes together. */
  scope: ScopeKey | null;
  /** `null` for calls of unknown tools. */
  tool: string | null;
}

/** The counts of the tool calls of one bucket, by one instance of the service. */
export interface RollupRecord extends RollupKey {
  /** UUIDv7 of the instance: each counts in rows of its own. */
  instanceId: string;
  calls: number;
  /** Calls that failed, and calls whose input was refused. */
  failed: number;
  refused: number;
  /** Calls that went well, by what they did. */
  reads: number;
  writes: number;
  finds: number;
  /** Packed by core: how long the calls took that were not refused. */
  latency: Uint8Array;
}

/** The calls of roll-ups, summed up from a time on for as long as was asked for. */
export interface RollupCount extends Pick<
  RollupRecord,
  'calls' | 'failed' | 'refused' | 'reads' | 'writes' | 'finds'
> {
  /** The start of the sum's bucket. */
  bucket: number;
}

/** A tool call in short, as roll-ups count it. `id` is that of its event. */
export type CallRecord = Pick<
  EventRecord,
  'id' | 'scope' | 'tool' | 'status' | 'errorCode' | 'durationMs'
>;

/** How often an actor touched a path by a tool. */
export interface AccessCount extends FileKey {
  actor: string;
  tool: string | null;
  action: AccessAction;
  count: number;
  lastAt: number;
}
