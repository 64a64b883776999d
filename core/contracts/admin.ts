/**
 * What the admin API answers, as the console and other clients read it. Types only.
 *
 * Times are RFC 3339 in UTC with milliseconds; sizes are bytes of UTF-8; paths are physical unless
 * a field says otherwise. Absent is `null`.
 */

import type {
  AccessAction,
  AccessOutcome,
  AuditRecord,
  RevisionAction,
  SpanAttributes,
  SpanKind,
} from './records.ts';
import type { SpanCounters } from './trace-exporter.ts';
import type { StorageDescription } from './storage.ts';

/** A page of a list over HTTP. */
export interface ListAnswer<T> {
  items: T[];
  /** `null` alone is the end of the list. */
  nextCursor: string | null;
}

/** A memory file as the admin API shows it. */
export interface AdminFile {
  path: string;
  virtualPath: string;
  userId: string | null;
  size: number;
  lines: number;
  version: number;
  reads: number;
  writes: number;
  revisions: number;
  latestActor: string;
  latestRevisionId: string;
  createdAt: string;
  updatedAt: string;
  lastReadAt: string | null;
}

/** A folder of the admin's list: everything below `path`, rolled up. */
export interface AdminFolder {
  /** Physical, ends in `/`. */
  path: string;
  folder: true;
  files: number;
  size: number;
  updatedAt: string;
}

/** A file as it was; `null` where the revision that made it so is pruned. */
export interface EarlierContent {
  content: string;
  version: number;
  size: number;
  lines: number;
  updatedAt: string | null;
  latestActor: string | null;
  latestRevisionId: string | null;
}

/** A memory file with its content: the present one, or that of a version or a time. */
export type AdminFileContent =
  (AdminFile & { content: string }) | (Omit<AdminFile, keyof EarlierContent> & EarlierContent);

/** What a write of the admin's came to. */
export interface AdminPutAnswer {
  /** As it is right after the write; `null` when it was deleted in between. */
  file: AdminFile | null;
  version: number;
  revisionId: string;
  unchanged: boolean;
}

/** A user scope as the admin API shows it. */
export interface AdminUser {
  userId: string;
  files: number;
  bytes: number;
  revisions: number;
  lastReadAt: string | null;
  lastWriteAt: string | null;
}

/** A revision as the admin API lists it. */
export interface AdminRevision {
  id: string;
  path: string;
  userId: string | null;
  version: number;
  action: RevisionAction;
  actor: string;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  at: string;
  size: number;
  addedLines: number;
  removedLines: number;
  /** The other revision of a move. */
  peerId: string | null;
  redacted: boolean;
}

/** A file that was shown to the writer of a revision before it wrote. */
export interface AdminReadBefore {
  path: string;
  /** The revision whose content was shown. */
  revisionId: string | null;
  /** Not of the same trace: by the same actor for the same user, in the ten minutes before. */
  probably: boolean;
}

/** Neighbouring lines that one revision wrote; lines count from 1, both ends included. */
export interface AdminBlame {
  startLine: number;
  endLine: number;
  /** `null`, like all that follows from it, where the history does not reach back to it. */
  revisionId: string | null;
  version: number | null;
  actor: string | null;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  at: string | null;
  /** Where no revision is known: the lines are older than this. */
  before: string | null;
  /** `null` where it was not looked up: it is for the newest 50 revisions alone. */
  afterReading: AdminReadBefore[] | null;
}

/** A revision with what it changed. `null` is a file that did not exist. */
export interface AdminRevisionDetail extends AdminRevision {
  contentBefore: string | null;
  contentAfter: string | null;
  afterReading: AdminReadBefore[];
  /** Unified. */
  diff: string;
}

/** What became of a file whose writes were undone. */
export interface RevertedFile {
  path: string;
  /** `gone`: the content from before is not kept any more. */
  outcome: 'reverted' | 'unchanged' | 'changed_since' | 'gone';
  /** The version that was written; `null` where nothing was, and in a dry run. */
  version: number | null;
  revisionId: string | null;
  /** Why it was left, or which of its selected versions were. */
  why: string | null;
  /** Unified; empty where nothing is written. */
  diff: string;
}

/** What became of the writes of a run, a tool call or an actor, file by file. */
export interface RevertWritesAnswer {
  dryRun: boolean;
  files: RevertedFile[];
}

/** What a revert wrote, or would write. */
export interface RevertAnswer {
  dryRun: boolean;
  /** True when the memory holds that content already. */
  unchanged: boolean;
  /** One for each file: two for a move. */
  files: {
    path: string;
    /** Absent where the file does not exist after it, or nothing was written. */
    version: number | null;
    revisionId: string | null;
    unchanged: boolean;
    diff: string;
  }[];
}

/** How many revisions a prune removed, or would remove. */
export interface PruneAnswer {
  pruned: number;
  bytes: number;
  dryRun: boolean;
}

/** An access row as the admin API shows it. */
export interface AdminAccess {
  id: string;
  at: string;
  userId: string | null;
  /** Physical; the prefix for a listing. */
  path: string;
  actor: string;
  tool: string | null;
  action: AccessAction;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  revisionId: string | null;
  rank: number | null;
  outcome: AccessOutcome;
}

/** An audit row as the admin API shows it. */
export type AdminAudit = Omit<AuditRecord, 'at'> & { at: string };

/** An observation event as the admin API shows it: a root or one of its spans. */
export interface AdminEvent {
  id: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  toolCallId: string;
  callerToolCallId: string | null;
  kind: SpanKind;
  name: string;
  userId: string | null;
  tool: string | null;
  actor: string;
  status: 'ok' | 'error';
  errorCode: string | null;
  startedAt: string;
  durationMs: number;
  attributes: SpanAttributes;
}

/** A tool call with its spans, and the files that it touched. */
export interface AdminToolCall {
  traceId: string;
  toolCallId: string;
  root: AdminEvent;
  spans: AdminEvent[];
  accesses: AdminAccess[];
  revisions: AdminRevision[];
}

/** A trace: one tool call, or several of one caller's trace. */
export interface AdminTrace {
  traceId: string;
  calls: AdminToolCall[];
}

/** An event as lists and the live stream show it: the root, and its spans where they are asked for. */
export interface AdminListedEvent extends AdminEvent {
  spans?: AdminEvent[];
}

/** A call that failed or was slow, and which of the two. */
export interface AdminFailure extends AdminEvent {
  reasons: ('failed' | 'refused' | 'slow')[];
}

/** Whether the service keeps to its limits, and what is worst. */
export interface SlaWatch {
  state: 'ok' | 'watch' | 'breached';
  reason: string;
  limits: { p95Ms: number; errorRate: number; slowCallMs: number };
}

/** The figures at the top of the dashboard. */
export interface ObservabilitySummary {
  since: string;
  until: string;
  calls: number;
  /** 5xx, and what models, embeddings and storage failed with. */
  failed: number;
  /** 4xx: input that was not accepted. */
  refused: number;
  /** Failed calls as a share of all. */
  errorRate: number;
  /** Milliseconds; `null` without calls. Each is within `relativeError` of the exact one. */
  latency: { p50: number | null; p95: number | null; p99: number | null; relativeError: number };
  /** Users with calls. */
  activeScopes: number;
  /** Calls that went well, by what they did. */
  reads: number;
  writes: number;
  finds: number;
  /** `null` without writes. */
  readWriteRatio: number | null;
  sla: SlaWatch;
}

/** Tool calls of one bucket of time. */
export interface ActivityPoint {
  /** When the bucket begins. */
  at: string;
  calls: number;
  failed: number;
  refused: number;
  reads: number;
  writes: number;
  finds: number;
}

/** Tool calls over time. */
export interface ActivitySeries {
  since: string;
  until: string;
  bucket: '1m' | '5m' | '1h' | '1d';
  points: ActivityPoint[];
}

/** How long calls took over time, a line for each tool. */
export interface LatencySeries {
  since: string;
  until: string;
  bucket: '1m' | '5m' | '1h' | '1d';
  relativeError: number;
  tools: {
    tool: string | null;
    /** Buckets with calls alone. */
    points: { at: string; calls: number; p50: number; p95: number; p99: number }[];
  }[];
}

/** How often a file was touched. */
export interface TopFile {
  path: string;
  userId: string | null;
  accesses: number;
  reads: number;
  writes: number;
  finds: number;
  lastAt: string;
}

/** What the newest accesses of a range come to. */
export interface CountedAccesses {
  since: string;
  until: string;
  /** Accesses before this time were not counted any more; `null` when all were. */
  countedFrom: string | null;
}

/** The files that were touched most. */
export interface TopFiles extends CountedAccesses {
  items: TopFile[];
}

/** What is there to see of the memory at work: who touches what, by which tool. */
export interface Topology extends CountedAccesses {
  nodes: TopologyNode[];
  edges: { from: string; to: string; weight: number }[];
  /** Nodes that were left out, the least used first. */
  omitted: number;
}

/** A part of the topology. */
export interface TopologyNode {
  /** The kind and the name: `tool:memory_read`. */
  id: string;
  kind: 'scope' | 'actor' | 'tool' | 'file';
  label: string;
  weight: number;
}

/** Who was shown the content of a revision. */
export interface Influence {
  /** `null` where it is not kept any more. */
  revision: AdminRevision | null;
  items: AdminAccess[];
  nextCursor: string | null;
}

/** What may be wrong with a user's memory. */
export type HygieneKind =
  | 'stale_catalog'
  | 'missing_from_catalog'
  | 'broken_link'
  | 'duplicate_line'
  | 'similar_line'
  | 'contradiction'
  | 'oversized'
  | 'never_read'
  | 'secret';

/** One finding: where it is, and how to mend it. */
export interface HygieneFinding {
  kind: HygieneKind;
  severity: 'low' | 'medium' | 'high';
  message: string;
  /** Lines count from 1. A whole file has none. */
  places: { path: string; lines: number[] }[];
  mend: string;
}

/** The findings in one user's memory. */
export interface HygieneReport {
  userId: string;
  at: string;
  /** Files that were looked at, and all that there are. */
  filesChecked: number;
  files: number;
  counts: Partial<Record<HygieneKind, number>>;
  findings: HygieneFinding[];
  /** Findings beyond those that are listed. */
  omitted: number;
}

/** A part of the service that may be configured, and how to where it is not. */
export interface StatusPart {
  configured: boolean;
  name: string | null;
  hint: string | null;
}

/** How far the vectors of passages are. */
export interface EmbeddingProgress {
  /** `paused`: the embedder fails, and is left alone for a moment. */
  state: 'starting' | 'embedding' | 'paused' | 'idle';
  dimensions: number;
  /** Files whose passages are still to be looked at, and texts that wait for their vector. */
  filesWaiting: number;
  textsWaiting: number;
  /** By the instance that answers, since its start. */
  textsEmbedded: number;
  failures: number;
  /** The code of the last failure's reason; `null` once it went well again. */
  lastFailure: string | null;
  /** The same in words: `the provider answered 401; check the API key`. */
  lastFailureReason: string | null;
}

/** The status of the service. */
export interface AdminStatus {
  version: string;
  node: string;
  state: string;
  startedAt: string;
  uptimeMs: number;
  storage: StorageDescription;
  /** Whether the database takes writes, by the latest of them, and the code that they get if not. */
  writes: { status: 'ok' | 'failing'; code: string | null };
  model: StatusPart;
  embedder: StatusPart & { progress: EmbeddingProgress | null };
  exporters: {
    configured: boolean;
    names: string[];
    hint: string | null;
    /** `spans` counts since the start; `problem` says why an exporter does not run. */
    items: { name: string; problem: string | null; spans: SpanCounters | null }[];
  };
  scheduler: { configured: boolean; hint: string | null };
  toolsApi: { configured: boolean; hint: string | null };
  tools: { name: string; available: boolean }[];
  limits: { maxFileBytes: number; maxBodyBytes: number; maxFilesPerUser: number };
  sharedWrites: boolean;
  rateLimit: number;
  index: {
    filesBehind: number;
    reindex: { state: 'running' | 'completed' | 'failed'; done: number; files: number } | null;
  };
  queues: { accessQueued: number; eventsQueued: number; eventsDropped: number };
}
