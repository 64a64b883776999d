import type {
  AccessAction,
  AccessCount,
  AccessRecord,
  AuditRecord,
  CallRecord,
  EventRecord,
  FileContent,
  FileKey,
  FileListing,
  FileRecord,
  FileState,
  FolderListing,
  HoldRecord,
  IdempotencyRecord,
  LeaseRecord,
  NewRevision,
  PrunedRevision,
  RevisionRecord,
  RevisionStep,
  RollupCount,
  RollupGrain,
  RollupRecord,
  ScopeKey,
  ScopeState,
  SpaceListing,
  SpaceRecord,
  UserListing,
} from './records.ts';
import type { KeyRecord } from './access.ts';
import type { CheckResultRecord, CheckRunRecord, CheckStore } from './checks.ts';
import type { MemoryError } from '../errors.ts';
import type { RunKeys, RunRowChanges, RunRows, RunStores } from './runs.ts';
import type { ErasureStore, RowCounts } from './erasure.ts';
import type { InspectionStore } from './inspection.ts';
import type { Logger } from './logger.ts';
import type { PageRequest, PageResult } from './page.ts';
import type { FileListQuery } from '../schemas/files.ts';
import type { StorageDescription } from '../schemas/status.ts';
import type { KnownVectors, ModelKey, ScopeVectors, VectorStore } from './vectors.ts';

export type { PageRequest, PageResult } from './page.ts';
export type { StorageDescription } from '../schemas/status.ts';

/**
 * Where memory is kept: the stores of core/storage on a database. It throws nothing but `MemoryError`: `STORAGE_UNAVAILABLE` when the
 * database can't be reached or stays locked, `STORAGE_FULL` when it can't be written, and
 * `STORAGE_DAMAGED` when it does not hold what was written, and still does not some seconds later: a
 * content that a method returns, or that `decide` asks for, has the hash that was stored with it.
 *
 * All text is compared byte for byte. No method reaches a row of a scope that was not named, except
 * those of the admin's lists, which say so.
 */
export interface Storage {
  /** `sqlite`, `mysql`, `postgres`, or a third party's name. */
  readonly name: string;
  /** The database file, as it was given; absent when there is no file. */
  readonly filename?: string;
  /** The package that speaks to the database, by its name or as a module; absent when not known. */
  readonly driver?: unknown;
  /** Opens the database, checks its version and runs its migrations. Called once. */
  init(options: StorageOptions): Promise<void>;
  /** Waits for calls under way, then frees every handle. Further calls reject. */
  close(): Promise<void>;
  /** Resolves when the database answers. Rejects once damage was found, until it is lifted. */
  ping(): Promise<void>;
  /**
   * Called when core finds `STORAGE_DAMAGED` in what the storage returned, also at a later look: `ping`
   * rejects from then on.
   */
  noteDamage?(error: MemoryError): void;
  /**
   * How long, in milliseconds, something must look damaged before it counts: 0 once damage was found.
   * Default 3,000.
   */
  doubtMs?(): number;
  /**
   * Called when core has checked the whole memory and found no damage: what was noted before the start
   * of the check, a point of `performance.now()`, is not there.
   */
  liftDamage?(before: number): void;
  /** Versions and settings for the operator: no secrets, no paths of the machine. */
  describe(): Promise<StorageDescription>;

  /**
   * THE write: locks the scopes in the order given, reads what `request` names, calls `decide`
   * with it, and applies what `decide` returns, all in one transaction; resolves after the commit.
   *
   * `decide` is synchronous and pure. It may be called again when the transaction is replayed, and
   * what it throws (a `MemoryError`) rejects this call alone: nothing of it is written.
   */
  mutate<R>(request: MutateRequest, decide: (current: Current) => Decision<R>): Promise<R>;

  readonly files: FileStore;
  readonly revisions: RevisionStore;
  readonly log: LogStore;
  /** Optional: without it there is no dashboard. */
  readonly observations?: ObservationStore;
  readonly audit: AuditStore;
  readonly config: ConfigStore;
  readonly checks: CheckStore;
  readonly keys: KeyStore;
  readonly leases: LeaseStore;
  readonly index: IndexStore;
  /** Optional: without it memory is searched by its words alone. */
  readonly vectors?: VectorStore;
  /** Optional: without it a restore that takes several transactions is refused. */
  readonly holds?: HoldStore;
  /** Optional: without it nothing can be redacted or erased. */
  readonly erasure?: ErasureStore;
  /** Optional: without it `verify` checks only what the other stores show. */
  readonly inspection?: InspectionStore;
  /**
   * Writes a copy of the database as it is at one moment into a file that does not exist yet, while
   * the service goes on. Absent where the database has tools of its own for that.
   */
  backUp?(target: string): Promise<void>;
  /** What `init` would do to the schema; called before it, and changes nothing. */
  planMigration(): Promise<MigrationPlan>;
  /**
   * What `memory-service doctor` says of the database; called before `init`, and changes nothing.
   * `null` while there is no database yet.
   */
  examine(): Promise<StorageExamination | null>;
  /** Optional: without it dreaming is disabled. */
  readonly runs?: RunStores;
}

/** What a driver gets from the service. */
export interface StorageOptions {
  log: Logger;
  /** The service's clock, milliseconds. Leases go by the database's clock instead. */
  now: () => number;
}

/** A database as it answers before it is opened. */
export interface StorageExamination {
  /** As the database says it: `10.11.6-MariaDB`. */
  version: string;
  /** Its clock in milliseconds. */
  now: number;
}

/** The steps from the present schema to the one that this version of the service needs. */
export interface MigrationPlan {
  /** 0 for a database that is empty or missing. */
  from: number;
  to: number;
  /**
   * A line each, in order: `0002 search: create table svc_posting`. Empty when the schema is up to
   * date.
   */
  steps: readonly string[];
}

/** What a mutation locks and reads; `decide` can reach nothing else. */
export interface MutateRequest {
  /** Locked in this order: a user's scope before the shared one. Created when absent. */
  scopes: readonly ScopeKey[];
  /** Read with content, deleted ones too. Their scopes are among `scopes`. */
  files: readonly FileKey[];
  idempotency?: { scope: ScopeKey; keyHash: string };
  guards?: readonly Guard[];
  /** Runs of one plugin and one user, whose scope is among `scopes`. */
  runs?: RunKeys;
  /** Leases, by their names; also those that are over. */
  leases?: readonly string[];
  /** Keys of settings. */
  settings?: readonly string[];
  /** Ids of named keys. */
  keys?: readonly string[];
  /** Spaces whose settings are read. They are among `scopes`. */
  spaces?: readonly ScopeKey[];
  /** Ids of audit rows that are to be replaced. */
  audit?: readonly string[];
  /** Past versions of a file, read with their steps. The file is among `files`. */
  past?: { key: FileKey; versions: readonly number[] };
  /** Rows to remove. Their scope is among `scopes`. The mutation has a transaction of its own. */
  range?: RowRange;
  /** Whether the number of the last erasure is locked, for {@link Current.nextErasure}. */
  numbersErasure?: boolean;
}

/**
 * Rows that are found by what they have in common. At most `limit` are found at once; rows of tables
 * with contents count as several.
 *
 * `user`: all that a user has, in the user's scope, and the user's access rows in shared memory, whose
 * scope the mutation names, too. `revisions`: the rows of files below a version each.
 */
export type RowRange =
  | { kind: 'user'; scope: ScopeKey; limit: number }
  | {
      kind: 'revisions';
      scope: ScopeKey;
      limit: number;
      files: readonly { fileNo: number; below: number }[];
    };

/** The rows of a {@link RowRange}, as they are under the lock. */
export interface FoundRows {
  /** By table. */
  counts: RowCounts;
  /** Whether these are all rows of the range. */
  isAll: boolean;
  /** Of a range of revisions: ascending by version for each file, and the bytes of their steps. */
  revisions: readonly RevisionRecord[];
  bytes: number;
}

/**
 * A condition that is checked, and counted, in the transaction of the write that it rides on.
 * A lost lease rejects with `RUN_STATE` (`details.reason: 'lease_lost'`), a spent budget with
 * `QUOTA_EXCEEDED` (`details.limit` is the budget's name).
 */
export type Guard =
  { kind: 'lease'; name: string; fence: number } | { kind: 'budget'; name: string; max: number };

/** What `decide` sees: the rows as they are under the lock. */
export interface Current {
  scope(scope: ScopeKey): ScopeState;
  file(key: FileKey): FileState | null;
  readonly idempotency: IdempotencyRecord | null;
  /** The rows of {@link MutateRequest.runs}. */
  runs(): RunRows;
  lease(name: string): LeaseRecord | null;
  /** The value is `undefined` where it is not JSON. */
  setting(key: string): { value: unknown } | null;
  key(id: string): KeyRecord | null;
  audit(id: string): AuditRecord | null;
  /** The settings of a space; `null` if it was neither created nor written. */
  space(scope: ScopeKey): SpaceRecord | null;
  /**
   * Files that exist above and below the path of a file of the request, in a space of it that has
   * `exclusivePaths`: all above, and as many below as the request names files, and one more.
   */
  overlaps(key: FileKey): readonly FileKey[];
  /**
   * The database's clock in milliseconds, when the leases of the request were read. Throws `INTERNAL`
   * for a request that names none.
   */
  now(): number;
  /** Why the writes of a scope wait; `null` when they don't. */
  hold(scope: ScopeKey): HoldRecord | null;
  /** The rows of {@link MutateRequest.past}, ascending; pruned ones are missing. */
  past(): readonly NewRevision[];
  /** The rows of {@link MutateRequest.range}. */
  range(): FoundRows;
  /** The number that the next erasure gets; see {@link MutateRequest.numbersErasure}. */
  nextErasure(): number;
}

/** The outcome of `decide`. */
export interface Decision<R> {
  result: R;
  /** How many writes a budget guard counts. */
  writes: number;
  changes: Changes;
}

/** Whole new rows: the driver computes nothing. An absent member changes nothing. */
export interface Changes {
  scopes?: readonly ScopeState[];
  /** Also marks the search index of these files as stale. */
  files?: readonly FileState[];
  revisions?: readonly NewRevision[];
  /** For {@link InspectionStore.pruned}, of an imported history. Those that exist are left as they are. */
  pruned?: readonly PrunedRevision[];
  access?: readonly AccessRecord[];
  idempotency?: IdempotencyRecord;
  /** New rows, and whole new states of those that the request names. */
  audit?: readonly AuditRecord[];
  runs?: RunRowChanges;
  /** Whole new settings of spaces. Those of a space that the request does not name are added if it has none. */
  spaces?: readonly SpaceRecord[];
  /** Leases to write, and to remove (`null`). */
  leases?: readonly { name: string; lease: LeaseRecord | null }[];
  /** Settings to write, and to remove (`null`). */
  settings?: readonly { key: string; setting: { value: unknown } | null }[];
  /** Named keys to write, and to remove (`null`). */
  keys?: readonly { id: string; key: KeyRecord | null }[];
  /** Holds to set, and to remove (`null`). */
  holds?: readonly { scope: ScopeKey; hold: HoldRecord | null }[];
  /** Rows to replace of {@link MutateRequest.past}: what a redaction changes of them. */
  past?: readonly NewRevision[];
  /** Versions whose texts are gone: what prunes left of their hashes goes, too. */
  uncovered?: readonly { scope: ScopeKey; fileNo: number; from: number; upTo: number }[];
  /** Removes the rows of {@link MutateRequest.range}. */
  removesRange?: boolean;
}

/** What the admin’s list of files can be ordered by. */
export type FileSort = NonNullable<FileListQuery['sort']>;

/** Filters of paths. They combine with AND; `null` or absent means any. */
interface PathFilter {
  /** Text that the physical path starts with. */
  prefix?: string | null;
  /** Text that the physical path contains, without regard to ASCII case. */
  contains?: string | null;
}

/** Filters combine with AND; `null` or absent means any. */
export interface FileFilter extends PathFilter {
  scope?: ScopeKey | null;
}

/** Memory files: the reads of agents, which name one scope, and the lists of the admin. */
export interface FileStore {
  /** THE read: a file that exists. Calls that come together may be answered together. */
  read(key: FileKey): Promise<FileContent | null>;
  /** A file with its content, a deleted one too. */
  get(key: FileKey): Promise<FileState | null>;
  /** The file of a lineage that exists: see core/files/lineage.ts. */
  ofLineage(scope: ScopeKey, lineageId: string): Promise<FileState | null>;
  /** Files that exist, by path ascending, from the first path after `after` that starts with `prefix`. */
  list(
    scope: ScopeKey,
    options: { prefix: string; after: string | null; limit: number },
  ): Promise<readonly FileRecord[]>;
  /** Admin: across scopes, by scope and path or by another sort. */
  listAll(
    filter: FileFilter,
    page: PageRequest & { sort: FileSort },
  ): Promise<PageResult<FileListing>>;
  /** Admin: a file with its reads. */
  getListing(key: FileKey): Promise<FileListing | null>;
  /**
   * Admin: what stands directly below `folder` (physical, ends in `/`, or empty for the roots):
   * folders rolled up and files, in one list by name ascending.
   */
  listFolder(
    folder: string,
    page: PageRequest,
  ): Promise<PageResult<{ folder: FolderListing } | { file: FileListing }>>;
  /**
   * Admin: scopes of users that have files, by user id. With `notShownSince` those of which no agent
   * was shown anything at or after that time, with `existsSince` those with a file from before it.
   */
  listUsers(
    filter: {
      contains?: string | null;
      notShownSince?: number | null;
      existsSince?: number | null;
    },
    page: PageRequest,
  ): Promise<PageResult<UserListing>>;
  /** Admin: spaces that were created or written, by id, or the one of a scope. */
  listSpaces(
    filter: { contains?: string | null; scope?: ScopeKey | null },
    page: PageRequest,
  ): Promise<PageResult<SpaceListing>>;
  /** How many files have a stale search index. */
  countBehind(): Promise<number>;
}

/** Filters combine with AND; `null` or absent means any. */
type Filter<Fields> = { [Field in keyof Fields]?: Fields[Field] | null };

/** `since` is inclusive, `until` exclusive. */
type TimeFilter = Filter<{ since: number; until: number }>;

/** Which revisions are listed. */
export interface RevisionFilter extends TimeFilter, PathFilter, Filter<RevisionSource> {
  path?: FileKey | null;
  /** With a scope: what changed one memory, wherever it was. */
  lineageId?: string | null;
}

type RevisionSource = Pick<
  RevisionRecord,
  'scope' | 'actor' | 'action' | 'runId' | 'traceId' | 'toolCallId'
>;

/** The steps from a file's present content back to an earlier one, in one consistent snapshot. */
export interface RevisionChain {
  file: FileState;
  /** Rows after the version asked for, ascending, up to the first keyframe or the head. */
  steps: readonly RevisionStep[];
}

/** A file now, and the newest revision of it at or before a time. */
export interface FileAt {
  /** The file as it is now. */
  file: FileRecord;
  /** `null` when none is kept: the file did not exist yet, or its history is pruned. */
  revision: RevisionRecord | null;
}

/** Which rows a prune removes: those that meet both `olderThan` and `keepLast`. */
export interface PruneFilter {
  scope?: ScopeKey | null;
  path?: FileKey | null;
  /** Rows from before this time. */
  olderThan?: number | null;
  /** Rows beyond a file's newest n, at least 1. */
  keepLast: number;
}

/** How a prune runs. */
export interface PruneOptions {
  dryRun: boolean;
  audit: (count: PruneCount) => AuditRecord;
  /**
   * Called in each transaction with the locked scope and the rows that it removes, ascending by
   * version for each file. A storage with {@link Storage.inspection} stores what it returns, and takes
   * the contents' hashes from the older bases of these files.
   */
  seal: (scope: ScopeState, removed: readonly RevisionRecord[]) => SealedPrune;
  signal?: AbortSignal;
}

/** What stays of a prune: the scope with its new head, and the rows for {@link InspectionStore.pruned}. */
export interface SealedPrune {
  scope: ScopeState;
  pruned: readonly PrunedRevision[];
}

/** A file that was pruned before prunes left the hash of its oldest text. */
export interface UncoveredFile {
  /** With the steps back to the text before its oldest revision. */
  chain: RevisionChain;
  oldest: RevisionRecord;
}

/** How such files are covered. */
export interface CoverOptions {
  /** Files of one transaction. */
  limit: number;
  /** Called before the transaction, and again if the scope changed meanwhile. */
  seal: (scope: ScopeState, files: readonly UncoveredFile[]) => Promise<SealedPrune>;
  audit: (files: number) => AuditRecord;
}

/** Rows removed, and the bytes of their deltas and keyframes. */
export interface PruneCount {
  pruned: number;
  bytes: number;
}

/** The history of files. */
export interface RevisionStore {
  /** Admin: by id. */
  get(id: string): Promise<RevisionRecord | null>;
  /** Admin: by id, newest first unless `order` says otherwise. The page key is `[id]`. */
  list(filter: RevisionFilter, page: PageRequest): Promise<PageResult<RevisionRecord>>;
  /**
   * `null` when the file is absent. `steps` lacks pruned rows: core looks for gaps, and compares
   * what they lead to with its hash. The one read that gives a damaged content as it is.
   */
  chain(key: FileKey, version: number): Promise<RevisionChain | null>;
  /** The steps back of the versions after `after` up to `upTo`, ascending; pruned ones are missing. */
  steps(key: FileKey, range: { after: number; upTo: number }): Promise<readonly RevisionStep[]>;
  /** The rows of the versions after `after` up to `upTo`, ascending, with their steps; without pruned ones. */
  rows(key: FileKey, range: { after: number; upTo: number }): Promise<readonly NewRevision[]>;
  /** The revision that made a version; `null` when it is not kept. */
  ofVersion(key: FileKey, version: number): Promise<RevisionRecord | null>;
  /**
   * All revisions of the tool calls that made these; of those without a call, of their runs; without a
   * run either, of their transactions. In no order.
   */
  ofCalls(
    revisions: readonly Pick<RevisionRecord, 'toolCallId' | 'runId' | 'commitId'>[],
  ): Promise<readonly RevisionRecord[]>;
  /** The newest revision of a file at or before a time; `null` when none is kept. */
  at(key: FileKey, time: number): Promise<RevisionRecord | null>;
  /**
   * Every file that the scope ever had, deleted ones too, by path ascending, each with the revision
   * that {@link at} finds. Goes on after the path `after`, with paths that start with `prefix`.
   */
  listAt(
    scope: ScopeKey,
    options: { time: number; prefix: string; after: string | null; limit: number },
  ): Promise<readonly FileAt[]>;
  /**
   * Admin: removes the oldest rows of files, never a file's newest; in small transactions, each
   * with an audit row made by `audit`, and with what `seal` makes of the removed rows. `dryRun`
   * counts alone.
   */
  prune(filter: PruneFilter, options: PruneOptions): Promise<PruneCount>;
  /**
   * Adds the hashes of the oldest texts of files that were pruned without one, in one transaction for
   * some files of one scope. Returns how many there were; `null` when no scope is left. A driver that
   * never pruned without them lacks it.
   */
  cover?(options: CoverOptions): Promise<number | null>;
}

/** Which accesses are listed. */
export interface AccessFilter
  extends
    TimeFilter,
    PathFilter,
    Filter<Omit<AccessRecord, 'id' | 'at' | 'fileNo' | 'path' | 'rank'>> {
  /** What was done for a user: in that user's scope, in shared memory and in spaces. */
  userId?: string | null;
  /** With `userId`: leaves out the user's own memory. */
  isElsewhere?: boolean | null;
  path?: FileKey | null;
  /** One of these. */
  actions?: readonly AccessAction[] | null;
}

/** Records that may quote memory, and how a redaction changes them. */
export interface RecordTexts {
  /** Events of tool calls, answers kept for repeated calls, or runs of dreaming and plugins. */
  kind: 'events' | 'answers' | 'runs';
  /** Changes texts in the records of a scope, row by row. Returns how many rows change. */
  change(
    scope: ScopeKey,
    options: {
      inText(text: string): string;
      inJson(json: string): string;
      /** Counts alone. */
      dryRun: boolean;
      /** Gets the names in these rows, and in the access log; paths as the scope has them. */
      onName(kind: 'paths' | 'actors' | 'keys' | 'userIds', name: string): void;
    },
  ): Promise<Record<RecordTexts['kind'], number>>;
}

/** Access rows of reads, and events: written in batches behind the answers. */
export interface LogStore {
  /** Admin: for a redaction. */
  changeTexts: RecordTexts['change'];
  /** Writes a batch, and counts its reads in the files' statistics. */
  append(batch: LogBatch): Promise<void>;
  /**
   * Writes a run of the stored checks with what it found, but not what it found in memory that was erased
   * since it began; removes the oldest runs beyond the newest `keep`.
   */
  addCheckRun(
    run: CheckRunRecord,
    options: { results: readonly CheckResultRecord[]; knownErasure: number; keep: number },
  ): Promise<void>;
  /** Admin. The page key is `[id]`. */
  listAccess(filter: AccessFilter, page: PageRequest): Promise<PageResult<AccessRecord>>;
  /** Admin: the root events of a trace, oldest first, at most 200. */
  eventsOfTrace(traceId: string): Promise<readonly EventRecord[]>;
  /** Admin. */
  eventOfToolCall(toolCallId: string): Promise<EventRecord | null>;
  /** Removes at most `limit` of the oldest rows from before a time; returns how many. */
  expire(
    what: 'events' | 'access' | 'idempotency',
    before: number,
    limit: number,
    scope?: ScopeKey | null,
  ): Promise<number>;
  /**
   * Counts access rows, at most `limit`: all, and those since a time. And the bytes of the texts of a
   * row, on average of the newest ones.
   */
  measureAccess(options: {
    since: number;
    limit: number;
  }): Promise<{ rows: number; recent: number; textBytes: number }>;
  /** How many rows from before a time {@link expire} would remove in all. */
  countOlder(
    what: 'events' | 'access' | 'idempotency',
    before: number,
    scope?: ScopeKey | null,
  ): Promise<number>;
}

/**
 * Rows that are written together. Up to 512 access rows are written whole or not at all; of more, a
 * driver may write some before the others, so that a large batch keeps nobody waiting. The events
 * and their roll-ups stay together.
 */
export interface LogBatch {
  /** The batch, or a part of it, was sent before: rows that exist already are not written twice. */
  isRepeated?: boolean;
  access: readonly AccessRecord[];
  events: readonly EventRecord[];
  /** Which contents operators saw, each with the scope. */
  audit?: readonly (AuditRecord & { scope: ScopeKey })[];
  /** Updates the roll-ups of the written events, in their transaction. */
  rollUp?: RollUp;
}

/**
 * How events are counted. All of it is synchronous, as `decide` is. Batches with one come one after
 * the other from each instance, and no two instances have a row in common. A batch may be counted
 * again, when its transaction is: the last time counts.
 */
export interface RollUp {
  /** The counts of these events: one row a key, all of one instance. */
  count(events: readonly EventRecord[]): CountedEvents;
  /** The stored row with the added one. */
  merge(kept: RollupRecord, added: RollupRecord): RollupRecord;
}

/** The rows of counted events. */
export interface CountedEvents {
  /** Rows that hold the totals of their key: they replace the stored row. */
  whole: readonly RollupRecord[];
  /**
   * Rows that hold what these events add: they are merged with the stored row of their key, if
   * there is one.
   */
  added: readonly RollupRecord[];
}

/** Roll-ups whose buckets begin in a range of times. */
export interface RollupFilter {
  grain: RollupGrain;
  /** `null` for the rows of all scopes together. */
  scope: ScopeKey | null;
  /** Absent means any. */
  tool?: string | null;
  /** Inclusive. */
  since: number;
  /** Exclusive. */
  until: number;
}

/**
 * Which events are listed. The time of an event is the millisecond of its id: when it was recorded,
 * at the end of the call.
 */
export interface EventFilter
  extends TimeFilter, Filter<Pick<EventRecord, 'scope' | 'tool' | 'kind' | 'status' | 'actor'>> {
  errorCodes?: readonly string[] | null;
  /** Failed with another code than these, or without one. */
  exceptErrorCodes?: readonly string[] | null;
  /** Took at least this long. */
  minDurationMs?: number | null;
}

/** A range of times whose calls are counted from roll-ups of a grain, or one by one (`null`). */
export interface CountedRange {
  grain: RollupGrain | null;
  since: number;
  until: number;
}

/** What operators see of the events and the access log. For the admin only. */
export interface ObservationStore {
  rollups(filter: RollupFilter): Promise<readonly RollupRecord[]>;
  /**
   * Their calls without latencies, summed up by buckets of `length` milliseconds, ascending: a
   * whole number of the grain's. Buckets without any are left out.
   */
  countRollups(filter: RollupFilter & { length: number }): Promise<readonly RollupCount[]>;
  /** Removes at most `limit` roll-ups of a grain from before a time; returns how many. */
  expireRollups(grain: RollupGrain, before: number, limit: number): Promise<number>;
  /** How many scopes of users have calls in these ranges together. */
  countScopes(ranges: readonly CountedRange[], tool: string | null): Promise<number>;
  /** Tool calls in short, by id ascending, after `after`; at most `limit`. */
  calls(
    filter: Pick<EventFilter, 'scope' | 'tool'> & { since: number; until: number },
    page: { after: string | null; limit: number },
  ): Promise<readonly CallRecord[]>;
  /** Events with their spans. The page key is `[id]`. */
  listEvents(filter: EventFilter, page: PageRequest): Promise<PageResult<EventRecord>>;
  /**
   * Counts the accesses that went well, listings aside. Looks at the newest `limit` rows of the
   * range (for a user: as many in shared memory and spaces), or at those before the row `before`. Where older
   * ones were left out, `from` is the time of the oldest of them, and `next` its id, to go on
   * before; else both are `null`.
   */
  countAccesses(
    filter: Pick<AccessFilter, 'scope' | 'tool'> & {
      since: number;
      until: number;
      before?: string | null;
    },
    limit: number,
  ): Promise<{ counts: readonly AccessCount[]; from: number | null; next: string | null }>;
  /** Files that exist in a scope, by their numbers, whose present content a tool's call wrote. */
  filesWrittenBy(scope: ScopeKey, tool: string): Promise<readonly number[]>;
}

/** What operators changed. A row is written in the transaction of its change. */
export interface AuditStore {
  /** Admin. The page key is `[id]`. */
  list(
    filter: {
      action?: string | null;
      operator?: string | null;
      /** Text that the target contains, without regard to ASCII case. */
      contains?: string | null;
      since?: number | null;
      until?: number | null;
    },
    page: PageRequest,
  ): Promise<PageResult<AuditRecord>>;
}

/** Scopes whose writes wait. Holds are set and removed by `mutate`. */
export interface HoldStore {
  /** By scope, at most `limit`. */
  list(limit: number): Promise<readonly HoldRecord[]>;
}

/** Settings of `svc_config`: JSON values by key. */
export interface ConfigStore {
  /** Every entry whose key starts with `prefix`. A value that is not JSON is `undefined`. */
  entries(prefix: string): Promise<Record<string, unknown>>;
  /**
   * Sets all of them or none, with the audit row in the same transaction. A counter is a setting with the
   * number of these changes, from 1: it goes up by one, or the change is refused with `VERSION_CONFLICT`
   * if the number is not `expected`.
   */
  set(
    entries: Record<string, unknown>,
    audit: AuditRecord | null,
    counter?: SettingCounter,
  ): Promise<void>;
  /** Sets `value` unless the key has one; returns the value of the key. */
  setIfAbsent(key: string, value: unknown): Promise<unknown>;
}

/** A setting that counts the changes of others. */
export interface SettingCounter {
  key: string;
  expected?: number | undefined;
}

/** Named keys and tokens of operators. They are made, changed and removed by `mutate`. */
export interface KeyStore {
  /**
   * Reads, at one moment, the number of the last change and all keys by id; no keys if the number is
   * `known`.
   */
  look(known: number | null): Promise<{ generation: number; keys: readonly KeyRecord[] | null }>;
}

/**
 * Leases by the database's clock: one holder at a time, and a fence that only grows, also when the
 * lease of a name was removed meanwhile.
 */
export interface LeaseStore {
  /** The fence, or `null` while another holder's lease lasts. */
  claim(name: string, holder: string, ttlMs: number): Promise<number | null>;
  /** `false` when the lease was lost. */
  renew(name: string, fence: number, ttlMs: number): Promise<boolean>;
  /** Frees the lease if it is still this one. */
  release(name: string, fence: number): Promise<void>;
}

/**
 * The search index: segments of scopes, as core packs them, and the files whose index is stale. The
 * stores do not look into a segment.
 */
export interface IndexStore {
  /** Runs `read` on one consistent snapshot of the database. It writes nothing. */
  snapshot<T>(read: (view: IndexView) => Promise<T>): Promise<T>;
  /**
   * Lists files whose index is stale, grouped by scope. With `scopes`, only files of these scopes.
   * Without, of all scopes; then no scope waits for ever behind busier ones.
   */
  listStale(limit: number, scopes?: readonly ScopeKey[]): Promise<readonly StaleMark[]>;
  /**
   * Adds a segment of stale files in one transaction, under a lock on the scope's index. The files are
   * no longer stale afterwards. Adds nothing unless all of them are still stale with that version.
   */
  add(scope: ScopeKey, segment: AddedSegment): Promise<AddOutcome>;
  /**
   * Replaces segments by one, or by none, in one transaction under the same lock. `null` if one of them
   * is gone: then nothing is changed.
   */
  merge(
    scope: ScopeKey,
    inputs: readonly number[],
    segment: StoredSegment | null,
  ): Promise<IndexSize | null>;
  /**
   * Adds a segment that was made from old postings, of the files from `from` up to, but not including,
   * `to`. With `to` as `null`, none are left: from now on the segments are read. `false` if another
   * instance has done that.
   */
  copy(
    scope: ScopeKey,
    range: { from: number; to: number | null },
    segment: StoredSegment | null,
  ): Promise<boolean>;
  /** Removes some old postings of a scope that reads its segments. Returns whether none are left. */
  removeOld(scope: ScopeKey): Promise<boolean>;
  /**
   * Removes the index of a scope and marks its files as stale. Returns how many. It may take several
   * transactions, the first of which marks the files; until the last, the `format` is 0. The next
   * `add` to the scope continues a removal that was interrupted.
   */
  drop(scope: ScopeKey): Promise<number>;
  /** Admin: scopes that have files, ascending, after `after`. */
  listScopes(
    after: ScopeKey | null,
    limit: number,
  ): Promise<
    readonly ({ scope: ScopeKey; files: number } & Pick<IndexState, 'format' | 'copiedTo'>)[]
  >;
}

/** Reads of one snapshot. */
export interface IndexView {
  /**
   * Reads what a search starts with in one round trip: for each scope, in order, its state, its stale
   * files and its segments. `known`: for each scope, in order, the generation whose segments the caller
   * has. They are left out if it is still that one, else the heads of those that are not newer.
   */
  open(
    scopes: readonly ScopeKey[],
    known?: readonly (number | null)[],
  ): Promise<readonly IndexedScope[]>;
  /** The heads of segments, in any order. */
  readHeads(keys: readonly SegmentKey[]): Promise<readonly (SegmentKey & { head: Uint8Array })[]>;
  /** Blocks of segments, in any order. */
  readBlocks(keys: readonly BlockKey[]): Promise<readonly (BlockKey & { bytes: Uint8Array })[]>;
  /** All blocks of a segment, in their order. */
  readAllBlocks(key: SegmentKey): Promise<readonly Uint8Array[]>;
  /** Numbers and paths of the files that exist and whose path starts with `prefix`. */
  listFiles(scope: ScopeKey, prefix: string): Promise<readonly { fileNo: number; path: string }[]>;
  /** Files with their contents, in any order, deleted ones too. Unknown numbers are left out. */
  readFiles(keys: readonly IndexFileKey[]): Promise<readonly IndexText[]>;
  /** What an earlier version indexed of a scope; see {@link IndexState.copiedTo}. */
  old: OldPostings;
  /**
   * The vectors of one model in one scope, or what changed of them since `known`. Present where the
   * storage has vectors.
   */
  vectors?(
    scope: ScopeKey,
    options: {
      model: ModelKey;
      /** The generation that `open` returned for the scope. */
      indexGeneration: number;
      known: KnownVectors | null;
    },
  ): Promise<ScopeVectors>;
}

/** Postings as an earlier version stored them: of a term in a bucket of 64 files. */
export interface OldPosting {
  term: string;
  bucket: number;
  bytes: Uint8Array;
}

/** Reads old postings of one scope. */
export interface OldPostings {
  /** All rows of these terms. */
  ofTerms(scope: ScopeKey, terms: readonly string[]): Promise<readonly OldPosting[]>;
  /** The rows of terms in these buckets. */
  ofBuckets(
    scope: ScopeKey,
    keys: readonly Pick<OldPosting, 'term' | 'bucket'>[],
  ): Promise<readonly OldPosting[]>;
  /** Terms that start with a prefix, ascending by bytes. */
  listTerms(scope: ScopeKey, prefix: string, limit: number): Promise<readonly string[]>;
  /** The files from a number on, ascending: the version that was indexed, and its terms. */
  listFiles(
    scope: ScopeKey,
    from: number,
    limit: number,
  ): Promise<readonly { fileNo: number; version: number; terms: Uint8Array }[]>;
}

/** The state of one scope's index. */
export interface IndexState {
  /** Greater after every change of the scope's index; after a drop, never a value that it had before. */
  generation: number;
  /**
   * The number that `add` gave as `format`; `null` when nothing is indexed, 0 while the index is being
   * dropped.
   */
  format: number | null;
  /**
   * The number up to which files were copied from old postings, which are read until all are; -1 once
   * they only have to be removed; `null` when there are none.
   */
  copiedTo: number | null;
  /** How many files of the scope exist. */
  files: number;
  /** The scope's version: different after every write. */
  version: number;
}

/** A segment of a scope: its number is the generation that it made. */
export interface SegmentKey {
  scope: ScopeKey;
  segment: number;
}

/** A block of a segment, by its place. */
export interface BlockKey extends SegmentKey {
  block: number;
}

/** A segment to store. */
export interface StoredSegment {
  /** How many files it lists. */
  files: number;
  head: Uint8Array;
  blocks: readonly Uint8Array[];
}

/** A segment of stale files. */
export interface AddedSegment extends StoredSegment {
  format: number;
  marks: readonly StaleMark[];
  /**
   * Of the files that exist, where vectors are wanted: the hashes of the texts of their passages, 16
   * bytes each.
   */
  passages: readonly { fileNo: number; version: number; hashes: Uint8Array }[];
  /** Numbers of the files that were deleted. */
  removed: readonly number[];
}

/** How large the index of a scope is. */
export interface IndexSize {
  /** How many files of the scope exist. */
  files: number;
  segments: readonly { segment: number; files: number; bytes: number }[];
}

/**
 * What became of an added segment. `due`: the files of it that are still stale with that version; add
 * a segment of these alone. `unusable`: the index is of another format, and must be dropped. `old`: the
 * scope reads old postings, which have to be copied first. `dropping`: a removal goes on; try again.
 */
export type AddOutcome =
  | { outcome: 'added'; size: IndexSize }
  | { outcome: 'changed'; due: readonly StaleMark[] }
  | { outcome: 'unusable' | 'old' | 'dropping' };

/** What a search reads of one scope. */
export interface IndexedScope {
  state: IndexState;
  stale: readonly StaleFile[];
  /** `null` if they are those of the known generation; a `head` if it is not one of an earlier one. */
  segments: readonly { segment: number; head: Uint8Array | null }[] | null;
}

/** A file as it is now, whose index is stale. */
export interface StaleFile {
  fileNo: number;
  version: number;
  path: string;
  /** SHA-256 of the content, 64 hex digits. */
  hash: string;
  isDeleted: boolean;
}

/** A version of a file that is not indexed yet. */
export interface StaleMark {
  scope: ScopeKey;
  fileNo: number;
  version: number;
}

/** A file by its number, which is local to its scope. */
export interface IndexFileKey {
  scope: ScopeKey;
  fileNo: number;
}

/** What a search and the indexer read of a file. */
export interface IndexText extends IndexFileKey {
  path: string;
  version: number;
  updatedAt: number;
  latestRevisionId: string;
  /** SHA-256 of the content, 64 hex digits. */
  hash: string;
  /** `null` when deleted. */
  content: string | null;
}
