/**
 * The records that cross the seams of the service. Types only.
 *
 * Times are integers, milliseconds since 1970 in UTC; sizes are bytes of UTF-8; ids are lower-case
 * UUIDv7 text; trace ids are 32 and span ids 16 lower-case hex digits. Absent is `null`.
 */

/** What a memory file belongs to: `u:<userId>` for a user's memory, `s` for the shared one. */
export type ScopeKey = 's' | `u:${string}`;

/** A memory file's place: its scope, and its path inside the scope (`profile.md`). */
export interface FileKey {
  scope: ScopeKey;
  path: string;
}

/** What a revision did; a move has one for each of its two paths. */
export type RevisionAction = 'create' | 'update' | 'delete' | 'move' | 'revert';
/** How a file was touched. Only `read` and `context` count as reads of it. */
export type AccessAction = 'read' | 'write' | 'list' | 'find' | 'context';
/** How an access ended: `denied` is a write of shared memory that is switched off. */
export type AccessOutcome = 'ok' | 'denied' | 'not_found' | 'error';

/** The state of a scope: what quota, ids and eligibility are decided on. */
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
}

/** A memory file without its content. A deleted file stays as a row, so that it goes on counting. */
export interface FileRecord extends FileKey {
  fileNo: number;
  version: number;
  /** Bytes and lines of the content; 0 when deleted. */
  size: number;
  lines: number;
  /** SHA-256 of the content, 64 hex digits; of nothing when deleted. */
  hash: string;
  deletedAt: number | null;
  createdAt: number;
  updatedAt: number;
  /** Revision rows kept, and writes ever (equal to `version`). */
  revisions: number;
  writes: number;
  latestActor: string;
  latestRevisionId: string;
  /** Revisions since the last keyframe, and the bytes of their deltas. */
  chainRows: number;
  chainBytes: number;
}

/** A memory file with its content; `null` when deleted. */
export interface FileState extends FileRecord {
  content: string | null;
}

/** What an agent reads of a memory file that exists. */
export interface FileContent {
  fileNo: number;
  version: number;
  /** Bytes and lines of the content. */
  size: number;
  lines: number;
  updatedAt: number;
  latestRevisionId: string;
  content: string;
}

/** A memory file as the admin lists it: with the reads, which are counted apart. */
export interface FileListing extends FileRecord {
  reads: number;
  lastReadAt: number | null;
}

/** A folder of the admin's list, rolled up: `path` is physical and ends in `/`. */
export interface FolderListing {
  path: string;
  files: number;
  bytes: number;
  updatedAt: number;
}

/** A user with memory files, and what they come to. */
export interface UserListing {
  userId: string;
  files: number;
  bytes: number;
  revisions: number;
  lastReadAt: number | null;
  lastWriteAt: number | null;
}

/** One write of one file, without content. */
export interface RevisionRecord extends FileKey {
  id: string;
  fileNo: number;
  version: number;
  action: RevisionAction;
  actor: string;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  at: number;
  /** Bytes of the content after this revision; 0 when it deleted. */
  size: number;
  addedLines: number;
  removedLines: number;
  /** The other revision of a move. */
  peerId: string | null;
  redacted: boolean;
  /** SHA-256 of the content after this revision. */
  hash: string;
  /** Whether the file existed before, and after. */
  existedBefore: boolean;
  existsAfter: boolean;
}

/** How the content before a revision is had: by `delta` from the content after it, or whole. */
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

/** One access of one file (or one listing of a prefix). */
export interface AccessRecord {
  id: string;
  at: number;
  scope: ScopeKey;
  /** Who it was done for: the scope's own user, or the one who used shared memory. */
  userId: string | null;
  /** `null` where no file was found, and for a listing. */
  fileNo: number | null;
  /** Path inside the scope; the prefix for a listing. */
  path: string;
  actor: string;
  tool: string | null;
  action: AccessAction;
  toolCallId: string | null;
  traceId: string | null;
  /** The dream run that it was done in. */
  runId: string | null;
  /** The revision that was written, or whose content was read. */
  revisionId: string | null;
  /** Place in a search result, from 1. */
  rank: number | null;
  outcome: AccessOutcome;
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
export interface AuditRecord {
  id: string;
  at: number;
  /** `files.write`, `revisions.prune`, `dream.config` … */
  action: string;
  /** What was changed: a physical path, a revision id, a user id, a key. */
  target: string;
  /** Counts, versions and settings: never content. */
  details: Record<string, unknown>;
  address: string | null;
  traceId: string | null;
}

/** Phases of a tool call; `tool` is the call itself. */
export type SpanKind =
  | 'tool'
  | 'db.read'
  | 'db.write'
  | 'search.bm25'
  | 'search.vector'
  | 'search.hybrid'
  | 'embedding'
  | 'llm'
  | 'revision.write'
  | 'access_log.write'
  | 'dream.run'
  | 'dream.check';

/** Counts, sizes, versions, model names and token counts: never content, queries or secrets. */
export type SpanAttributes = Record<string, string | number | boolean>;

/** A phase of a tool call. */
export interface SpanRecord {
  spanId: string;
  parentSpanId: string | null;
  kind: SpanKind;
  name: string;
  status: 'ok' | 'error';
  errorCode: string | null;
  startedAt: number;
  /** Milliseconds with fraction, by the monotonic clock. */
  durationMs: number;
  attributes: SpanAttributes;
}

/** A root event with its spans: one tool call, or one dream run. */
export interface EventRecord extends SpanRecord {
  id: string;
  scope: ScopeKey;
  traceId: string;
  toolCallId: string;
  callerToolCallId: string | null;
  userId: string | null;
  tool: string | null;
  actor: string;
  /** The caller's span, as exporters need it; of fresh events alone, and kept by no storage. */
  parent?: { isSampled: boolean; isRemote: boolean };
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
  /** `null` for calls of tools that there are not. */
  tool: string | null;
}

/** What the tool calls of one bucket came to, as one instance of the service counted them. */
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

/** A tool call in short, as roll-ups count it. */
export interface CallRecord {
  /** That of its event. */
  id: string;
  scope: ScopeKey;
  tool: string | null;
  status: 'ok' | 'error';
  errorCode: string | null;
  durationMs: number;
}

/** How often an actor touched a path by a tool. */
export interface AccessCount extends FileKey {
  actor: string;
  tool: string | null;
  action: AccessAction;
  count: number;
  lastAt: number;
}
