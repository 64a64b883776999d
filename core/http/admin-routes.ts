// Made by `npm run docs` from the routes of the admin API.

import type { Readable } from 'node:stream';

/** What each route of the admin API takes and answers. */
export interface AdminRoutes {
  /** Delete a memory file. */
  'DELETE /v1/admin/files/*path': {
    request: { params: { path: string }; query?: DELETEFilesPathQuery };
    result: AdminDeleteAnswer;
  };
  /** Allow writes again. */
  'DELETE /v1/admin/freezes/:id': {
    request: { params: { id: string } };
    result: AdminStatusFreeze;
  };
  /** Revoke a key. */
  'DELETE /v1/admin/keys/:id': {
    request: { params: { id: string } };
    result: DELETEKeysIdAnswer;
  };
  /** Remove an operator. */
  'DELETE /v1/admin/operators/:id': {
    request: { params: { id: string } };
    result: DELETEOperatorsIdAnswer;
  };
  /** Read the metrics of this instance. */
  'GET /metrics': {
    request: object;
    result: Readable;
  };
  /** List access rows. */
  'GET /v1/admin/access-logs': {
    request: { query?: AccessListQuery };
    result: GETAccessLogsAnswer;
  };
  /** Count the values that access rows can be filtered by. */
  'GET /v1/admin/access-logs/values': {
    request: { query?: AccessValuesQuery };
    result: GETAccessLogsValuesAnswer;
  };
  /** List changes made through the admin API. */
  'GET /v1/admin/audit': {
    request: { query?: AuditListQuery };
    result: GETAuditAnswer;
  };
  /** Count the values that changes can be filtered by. */
  'GET /v1/admin/audit/values': {
    request: { query?: AuditValuesQuery };
    result: GETAccessLogsValuesAnswer;
  };
  /** Read how far the copy is. */
  'GET /v1/admin/backup': {
    request: object;
    result: GETBackupAnswer | null;
  };
  /** Read the stored checks. */
  'GET /v1/admin/checks': {
    request: object;
    result: GETChecksAnswer;
  };
  /** Read how far a run of checks is. */
  'GET /v1/admin/checks/progress/:id': {
    request: { params: { id: string } };
    result: GETChecksProgressIdAnswer | null;
  };
  /** List the runs of the stored checks. */
  'GET /v1/admin/checks/runs': {
    request: object;
    result: GETChecksRunsAnswer;
  };
  /** Read a run of the stored checks. */
  'GET /v1/admin/checks/runs/:id': {
    request: { params: { id: string } };
    result: GETChecksRunsIdAnswer;
  };
  /** Read the configuration. */
  'GET /v1/admin/configuration': {
    request: object;
    result: GETConfigurationAnswer;
  };
  /** Compare a user’s memory at two times. */
  'GET /v1/admin/diff': {
    request: { query: DiffQuery };
    result: GETDiffAnswer;
  };
  /** Read the settings of dreaming. */
  'GET /v1/admin/dream/config': {
    request: object;
    result: GETDreamConfigAnswer;
  };
  /** List dream runs. */
  'GET /v1/admin/dream/runs': {
    request: { query?: GETDreamRunsQuery };
    result: GETDreamRunsAnswer;
  };
  /** Read a dream run. */
  'GET /v1/admin/dream/runs/:id': {
    request: { params: { id: string } };
    result: AdminDreamRunDetail;
  };
  /** Count the values that dream runs can be filtered by. */
  'GET /v1/admin/dream/runs/values': {
    request: { query?: GETDreamRunsValuesQuery };
    result: GETAccessLogsValuesAnswer;
  };
  /** List spaces with the state of their dreaming. */
  'GET /v1/admin/dream/spaces': {
    request: { query?: GETDreamSpacesQuery };
    result: GETDreamSpacesAnswer;
  };
  /** List users with the state of their dreaming. */
  'GET /v1/admin/dream/users': {
    request: { query?: GETDreamUsersQuery };
    result: GETDreamSpacesAnswer;
  };
  /** Export memory. */
  'GET /v1/admin/export': {
    request: { query?: GETExportQuery };
    result: Readable;
  };
  /** List memory files. */
  'GET /v1/admin/files': {
    request: { query?: FileListQuery };
    result: GETFilesAnswer;
  };
  /** Read a memory file. */
  'GET /v1/admin/files/*path': {
    request: { params: { path: string }; query?: FileQuery };
    result: AdminFileAnswer;
  };
  /** List the freezes in force. */
  'GET /v1/admin/freezes': {
    request: object;
    result: GETFreezesAnswer;
  };
  /** List the keys. */
  'GET /v1/admin/keys': {
    request: object;
    result: GETKeysAnswer;
  };
  /** Read who you are. */
  'GET /v1/admin/me': {
    request: object;
    result: GETMeAnswer;
  };
  /** Read what you may do. */
  'GET /v1/admin/me/rights': {
    request: object;
    result: GETMeRightsAnswer;
  };
  /** Read what the exam says of the models. */
  'GET /v1/admin/model/exam': {
    request: object;
    result: GETModelExamAnswer;
  };
  /** Read the activity over time. */
  'GET /v1/admin/observability/activity': {
    request: { query?: SeriesQuery };
    result: ActivitySeries;
  };
  /** List observation events. */
  'GET /v1/admin/observability/events': {
    request: { query?: EventListQuery };
    result: GETObservabilityEventsAnswer;
  };
  /** Watch observation events. */
  'GET /v1/admin/observability/events/stream': {
    request: { query?: HygieneQuery };
    result: Readable;
  };
  /** Count the values that events can be filtered by. */
  'GET /v1/admin/observability/events/values': {
    request: { query?: EventValuesQuery };
    result: GETAccessLogsValuesAnswer;
  };
  /** List failed and slow calls. */
  'GET /v1/admin/observability/failures': {
    request: { query?: FailureListQuery };
    result: GETObservabilityFailuresAnswer;
  };
  /** Check the memory of a user or a space. */
  'GET /v1/admin/observability/hygiene': {
    request: { query?: HygieneQuery };
    result: HygieneReport;
  };
  /** Count the findings in the memory of each space. */
  'GET /v1/admin/observability/hygiene/spaces': {
    request: { query?: UserHygieneQuery };
    result: GETObservabilityHygieneSpacesAnswer;
  };
  /** Count the findings in the memory of each user. */
  'GET /v1/admin/observability/hygiene/users': {
    request: { query?: UserHygieneQuery };
    result: GETObservabilityHygieneSpacesAnswer;
  };
  /** List who read a content. */
  'GET /v1/admin/observability/influence': {
    request: { query?: InfluenceQuery };
    result: Influence;
  };
  /** Read the latency over time. */
  'GET /v1/admin/observability/latency': {
    request: { query?: SeriesQuery };
    result: LatencySeries;
  };
  /** Read the summary of tool calls. */
  'GET /v1/admin/observability/summary': {
    request: { query?: HygieneQuery };
    result: ObservabilitySummary;
  };
  /** Read a tool call. */
  'GET /v1/admin/observability/tool-calls/:toolCallId': {
    request: { params: { toolCallId: string } };
    result: AdminToolCallDetail;
  };
  /** List the most accessed files. */
  'GET /v1/admin/observability/top-files': {
    request: { query?: TopFilesQuery };
    result: TopFiles;
  };
  /** Read the topology of memory. */
  'GET /v1/admin/observability/topology': {
    request: { query?: CountedQuery };
    result: Topology;
  };
  /** Read a trace. */
  'GET /v1/admin/observability/traces/:traceId': {
    request: { params: { traceId: string } };
    result: AdminTrace;
  };
  /** Count who used memory, and the tokens that it took. */
  'GET /v1/admin/observability/usage': {
    request: { query?: GETObservabilityUsageQuery };
    result: GETObservabilityUsageAnswer;
  };
  /** List the operators. */
  'GET /v1/admin/operators': {
    request: object;
    result: GETOperatorsAnswer;
  };
  /** List the tools of the Playground. */
  'GET /v1/admin/playground': {
    request: object;
    result: GETPlaygroundAnswer;
  };
  /** Read what the last round removed. */
  'GET /v1/admin/retention': {
    request: object;
    result: GETRetentionAnswer | null;
  };
  /** List revisions. */
  'GET /v1/admin/revisions': {
    request: { query?: RevisionListQuery };
    result: GETRevisionsAnswer;
  };
  /** Read a revision. */
  'GET /v1/admin/revisions/:id': {
    request: { params: { id: string } };
    result: AdminRevisionDetail;
  };
  /** Count the values that revisions can be filtered by. */
  'GET /v1/admin/revisions/values': {
    request: { query?: RevisionValuesQuery };
    result: GETAccessLogsValuesAnswer;
  };
  /** Search the contents of memory files. */
  'GET /v1/admin/search': {
    request: { query: GETSearchQuery };
    result: GETSearchAnswer;
  };
  /** List spaces. */
  'GET /v1/admin/spaces': {
    request: { query?: GETSpacesQuery };
    result: GETSpacesAnswer;
  };
  /** Show a space. */
  'GET /v1/admin/spaces/:id': {
    request: { params: { id: string } };
    result: GETSpacesAnswerItem;
  };
  /** Read the status of the service. */
  'GET /v1/admin/status': {
    request: object;
    result: AdminStatus;
  };
  /** List user scopes. */
  'GET /v1/admin/users': {
    request: { query?: UserListQuery };
    result: GETUsersAnswer;
  };
  /** Read how far the rewriting is. */
  'GET /v1/admin/vacuum': {
    request: object;
    result: GETVacuumAnswer | null;
  };
  /** Read how far the verification is, and what it found. */
  'GET /v1/admin/verify': {
    request: object;
    result: GETVerifyAnswer | null;
  };
  /** Copy the database beside itself. */
  'POST /v1/admin/backup': {
    request: object;
    result: GETBackupAnswer;
  };
  /** Ask questions to measure what finds give. */
  'POST /v1/admin/checks/ask': {
    request: { body: POSTChecksAskBody };
    result: POSTChecksAskAnswer;
  };
  /** Find the write that made a check fail. */
  'POST /v1/admin/checks/bisect': {
    request: { body?: POSTChecksBisectBody };
    result: POSTChecksBisectAnswer;
  };
  /** Run checks on memory. */
  'POST /v1/admin/checks/run': {
    request: { body?: POSTChecksRunBody };
    result: POSTChecksRunAnswer | GETChecksRunsIdAnswer;
  };
  /** Apply operations of a dream run. */
  'POST /v1/admin/dream/runs/:id/apply': {
    request: { params: { id: string }; body?: DreamDecisionBody };
    result: AdminDreamDecision;
  };
  /** Cancel a dream run. */
  'POST /v1/admin/dream/runs/:id/cancel': {
    request: { params: { id: string }; body?: POSTDreamRunsIdCancelBody };
    result: AdminDreamRunDetail;
  };
  /** Reject operations of a dream run. */
  'POST /v1/admin/dream/runs/:id/reject': {
    request: { params: { id: string }; body?: DreamDecisionBody };
    result: AdminDreamDecision;
  };
  /** Undo a dream run. */
  'POST /v1/admin/dream/runs/:id/revert': {
    request: { params: { id: string }; body?: ConflictOptions };
    result: AdminDreamRevert;
  };
  /** Dream of a space now. */
  'POST /v1/admin/dream/spaces/:spaceId/run': {
    request: { params: { spaceId: string }; body?: POSTDreamSpacesSpaceIdRunBody };
    result: AdminDreamRunDetail;
  };
  /** Dream of a user now. */
  'POST /v1/admin/dream/users/:userId/run': {
    request: { params: { userId: string }; body?: POSTDreamSpacesSpaceIdRunBody };
    result: AdminDreamRunDetail;
  };
  /** Erase the users and spaces whose ids start alike. */
  'POST /v1/admin/erase': {
    request: { body: POSTEraseBody };
    result: POSTEraseAnswer;
  };
  /** Explain why a find has a file or not. */
  'POST /v1/admin/find/why': {
    request: { body: POSTFindWhyBody };
    result: POSTFindWhyAnswer;
  };
  /** Stop writes for a while. */
  'POST /v1/admin/freeze': {
    request: { body: POSTFreezeBody };
    result: AdminStatusFreeze;
  };
  /** Import memory. */
  'POST /v1/admin/import': {
    request: { query?: POSTImportQuery; stream: AsyncIterable<Uint8Array> };
    result: Readable;
  };
  /** Make a key. */
  'POST /v1/admin/keys': {
    request: { body: POSTKeysBody };
    result: POSTKeysAnswer;
  };
  /** Rotate a key. */
  'POST /v1/admin/keys/:id/rotate': {
    request: { params: { id: string }; body?: POSTKeysIdRotateBody };
    result: POSTKeysAnswer;
  };
  /** Examine the models. */
  'POST /v1/admin/model/exam': {
    request: object;
    result: GETModelExamAnswerJob;
  };
  /** Make an operator. */
  'POST /v1/admin/operators': {
    request: { body: POSTOperatorsBody };
    result: POSTOperatorsAnswer;
  };
  /** Rotate the token of an operator. */
  'POST /v1/admin/operators/:id/rotate': {
    request: { params: { id: string }; body?: POSTKeysIdRotateBody };
    result: POSTOperatorsAnswer;
  };
  /** Run a tool from the Playground. */
  'POST /v1/admin/playground/:name': {
    request: { params: { name: string }; body?: CheckKey | PlaygroundCall };
    result: ToolAnswer | KeyChecked;
  };
  /** Redact a text everywhere. */
  'POST /v1/admin/redact': {
    request: { body: RedactTextRequest };
    result: RedactTextAnswer;
  };
  /** Make the vectors of all passages anew. */
  'POST /v1/admin/reembed': {
    request: object;
    result: EmbeddingProgress;
  };
  /** Make the search index anew. */
  'POST /v1/admin/reindex': {
    request: object;
    result: Reindexing;
  };
  /** Remove what is past its retention. */
  'POST /v1/admin/retention': {
    request: { query?: POSTRetentionQuery; body?: POSTDreamSpacesSpaceIdRunBody };
    result: GETRetentionAnswer;
  };
  /** Revert writes, or lines. */
  'POST /v1/admin/revert': {
    request: { body?: RevertSelection };
    result: RevertWritesAnswer;
  };
  /** Redact a revision. */
  'POST /v1/admin/revisions/:id/redact': {
    request: { params: { id: string }; body: RedactRequest };
    result: RedactAnswer;
  };
  /** Revert a revision. */
  'POST /v1/admin/revisions/:id/revert': {
    request: { params: { id: string }; body?: RevertRequest };
    result: RevertAnswer;
  };
  /** Prune old revisions. */
  'POST /v1/admin/revisions/prune': {
    request: { body?: PruneRequest };
    result: PruneAnswer;
  };
  /** Search for an exact text, also in the history. */
  'POST /v1/admin/search': {
    request: { body: POSTSearchBody };
    result: POSTSearchAnswer;
  };
  /** End a restore of shared memory that cannot go on. */
  'POST /v1/admin/shared/release': {
    request: object;
    result: POSTSharedReleaseAnswer;
  };
  /** Restore shared memory to an earlier time. */
  'POST /v1/admin/shared/restore': {
    request: { body: RestoreRequest };
    result: RestoreAnswer;
  };
  /** Create a space. */
  'POST /v1/admin/spaces': {
    request: { body: POSTSpacesBody };
    result: GETSpacesAnswerItem;
  };
  /** Make a space read-only. */
  'POST /v1/admin/spaces/:id/archive': {
    request: { params: { id: string }; body?: POSTSpacesIdArchiveBody };
    result: GETSpacesAnswerItem;
  };
  /** Erase a space. */
  'POST /v1/admin/spaces/:id/erase': {
    request: { params: { id: string }; body: POSTSpacesIdEraseBody };
    result: POSTEraseAnswerReceipt;
  };
  /** End a restore of a space that cannot go on. */
  'POST /v1/admin/spaces/:id/release': {
    request: { params: { id: string } };
    result: POSTSharedReleaseAnswer;
  };
  /** Restore a space’s memory to an earlier time. */
  'POST /v1/admin/spaces/:id/restore': {
    request: { params: { id: string }; body: RestoreRequest };
    result: RestoreAnswer;
  };
  /** Erase a user. */
  'POST /v1/admin/users/:userId/erase': {
    request: { params: { userId: string }; body: POSTSpacesIdEraseBody };
    result: POSTEraseAnswerReceipt;
  };
  /** End a restore that cannot go on. */
  'POST /v1/admin/users/:userId/release': {
    request: { params: { userId: string } };
    result: POSTSharedReleaseAnswer;
  };
  /** Restore a user’s memory to an earlier time. */
  'POST /v1/admin/users/:userId/restore': {
    request: { params: { userId: string }; body: RestoreRequest };
    result: RestoreAnswer;
  };
  /** Rewrite the database file. */
  'POST /v1/admin/vacuum': {
    request: object;
    result: GETVacuumAnswer;
  };
  /** Verify the memory. */
  'POST /v1/admin/verify': {
    request: object;
    result: GETVerifyAnswer;
  };
  /** Replace the stored checks. */
  'PUT /v1/admin/checks': {
    request: { body?: PUTChecksBody };
    result: GETChecksAnswer;
  };
  /** Change settings of dreaming. */
  'PUT /v1/admin/dream/config': {
    request: { body?: PUTDreamConfigBody };
    result: GETDreamConfigAnswer;
  };
  /** Pause or resume a space. */
  'PUT /v1/admin/dream/spaces/:spaceId/paused': {
    request: { params: { spaceId: string }; body: PUTDreamSpacesSpaceIdPausedBody };
    result: GETDreamSpacesAnswerItem;
  };
  /** Pause or resume a user. */
  'PUT /v1/admin/dream/users/:userId/paused': {
    request: { params: { userId: string }; body: PUTDreamSpacesSpaceIdPausedBody };
    result: GETDreamSpacesAnswerItem;
  };
  /** Write a memory file. */
  'PUT /v1/admin/files/*path': {
    request: { params: { path: string }; body: PUTFilesPathBody };
    result: AdminPutAnswer;
  };
  /** Change a space. */
  'PUT /v1/admin/spaces/:id': {
    request: { params: { id: string }; body?: PUTSpacesIdBody };
    result: GETSpacesAnswerItem;
  };
}

type AccessAction = "read" | "write" | "list" | "find" | "context";
type AccessListQuery = {
  path?: string;
  prefix?: string;
  q?: string;
  userId?: string;
  spaceId?: string;
  actor?: string;
  key?: string;
  tool?: string;
  action?: AccessAction;
  outcome?: AccessOutcome;
  traceId?: string;
  runId?: string;
  toolCallId?: string;
  revisionId?: string;
  since?: string;
  until?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type AccessListQueryOrder = "asc" | "desc";
type AccessLogSize = {
  days: number;
  recommendedDays: number;
  rows: number;
  bytes: number;
  bytesAMonth: number;
};
type AccessOutcome = "ok" | "denied" | "not_found" | "error";
type AccessValuesQuery = {
  path?: string;
  prefix?: string;
  q?: string;
  userId?: string;
  spaceId?: string;
  actor?: string;
  key?: string;
  tool?: string;
  action?: AccessAction;
  outcome?: AccessOutcome;
  traceId?: string;
  runId?: string;
  toolCallId?: string;
  revisionId?: string;
  since?: string;
  until?: string;
};
type ActivitySeries = {
  since: string;
  until: string;
  bucket: Bucket;
  points: readonly (ActivitySeriesPoint)[];
};
type ActivitySeriesPoint = {
  at: string;
  calls: number;
  failed: number;
  refused: number;
  reads: number;
  writes: number;
  finds: number;
};
type AdminAccess = {
  id: string;
  at: string;
  userId: string | null;
  spaceId: string | null;
  path: string;
  actor: string;
  key: string | null;
  tool: string | null;
  action: AccessAction;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  revisionId: string | null;
  version: number | null;
  lines: readonly (AdminAccessLine)[] | null;
  rank: number | null;
  outcome: AccessOutcome;
};
type AdminAccessLine = {
  startLine: number;
  endLine: number;
};
type AdminAudit = {
  id: string;
  at: string;
  action: string;
  target: string;
  details: Record<string, unknown>;
  operator: string | null;
  address: string | null;
  traceId: string | null;
};
type AdminDeleteAnswer = {
  path: string;
  version: number;
  revisionId: string;
};
type AdminDreamDecision = {
  id: string;
  userId: string | null;
  spaceId: string | null;
  origin: AdminDreamRunOrigin;
  dryRun: boolean;
  mode: GETDreamConfigAnswerDreamMode;
  state: DreamState;
  outcome: DreamOutcome | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  filesRead: number;
  filesTouched: number;
  writes: number;
  operationsApplied: number;
  operationsWaiting: number;
  operationsDropped: number;
  inputTokens: number;
  outputTokens: number;
  model: string | null;
  promptVersion: string | null;
  error: AdminDreamDecisionError | null;
  operations: readonly (AdminDreamOperation)[];
  malformedOperations: number;
  repeatedOperations: number;
  verifier: string | null;
  traceId: string | null;
  files: readonly (AdminDreamDecisionFile)[];
  leftOut: readonly (string)[];
  shownInParts: readonly (AdminDreamDecisionShownInPart)[];
  revisions: readonly (AdminDreamDecisionRevision)[];
  decided: readonly (AdminDreamDecisionDecided)[];
};
type AdminDreamDecisionDecided = {
  number: number;
  status: AdminDreamOperationStatus;
  why: string | null;
};
type AdminDreamDecisionError = {
  code: string;
  message: string;
};
type AdminDreamDecisionFile = {
  path: string;
  status: AdminDreamRunDetailFileStatus;
  version: number;
  diff: string | null;
};
type AdminDreamDecisionRevision = {
  id: string;
  path: string;
  version: number;
  action: string;
  at: string;
};
type AdminDreamDecisionShownInPart = {
  path: string;
  fromLine: number;
  toLine: number;
};
type AdminDreamOperation = {
  number: number;
  kind: AdminDreamOperationKind;
  reason: string;
  paths: readonly (string)[];
  remove: readonly (AdminDreamOperationRemove)[];
  add: AdminDreamOperationAdd | null;
  sources: readonly (AdminDreamOperationRemove)[];
  class: AdminDreamOperationClass;
  signals: readonly (AdminDreamOperationSignal)[];
  repaired: readonly (AdminDreamOperationRepaired)[];
  verdict: AdminDreamOperationVerdict | null;
  status: AdminDreamOperationStatus;
  guard: string | null;
  why: string | null;
  checks: readonly (string)[];
  preselected: boolean;
  applicable: boolean;
};
type AdminDreamOperationAdd = {
  path: string;
  heading: string | null;
  lines: readonly (string)[];
};
type AdminDreamOperationClass = "certain" | "meaning";
type AdminDreamOperationKind = "merge" | "supersede" | "reword" | "move" | "index";
type AdminDreamOperationRemove = {
  path: string;
  line: number | null;
  heading: string | null;
  text: string;
  at: string | null;
};
type AdminDreamOperationRepaired = "fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside";
type AdminDreamOperationSignal = "specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source";
type AdminDreamOperationStatus = "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
type AdminDreamOperationVerdict = "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure";
type AdminDreamRevert = {
  id: string;
  userId: string | null;
  spaceId: string | null;
  origin: AdminDreamRunOrigin;
  dryRun: boolean;
  mode: GETDreamConfigAnswerDreamMode;
  state: DreamState;
  outcome: DreamOutcome | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  filesRead: number;
  filesTouched: number;
  writes: number;
  operationsApplied: number;
  operationsWaiting: number;
  operationsDropped: number;
  inputTokens: number;
  outputTokens: number;
  model: string | null;
  promptVersion: string | null;
  error: AdminDreamDecisionError | null;
  operations: readonly (AdminDreamOperation)[];
  malformedOperations: number;
  repeatedOperations: number;
  verifier: string | null;
  traceId: string | null;
  files: readonly (AdminDreamDecisionFile)[];
  leftOut: readonly (string)[];
  shownInParts: readonly (AdminDreamDecisionShownInPart)[];
  revisions: readonly (AdminDreamDecisionRevision)[];
  reverted: readonly (AdminDreamRevertReverted)[];
  left: readonly (AdminDreamRevertLeft)[];
};
type AdminDreamRevertLeft = {
  path: string;
  outcome: AdminDreamRevertLeftOutcome;
  why: string;
};
type AdminDreamRevertLeftOutcome = "reverted" | "merged" | "conflict" | "unchanged" | "gone" | "refused" | "changed_since";
type AdminDreamRevertReverted = {
  path: string;
  version: number;
  revisionId: string | null;
  why: string | null;
};
type AdminDreamRun = {
  id: string;
  userId: string | null;
  spaceId: string | null;
  origin: AdminDreamRunOrigin;
  dryRun: boolean;
  mode: GETDreamConfigAnswerDreamMode;
  state: DreamState;
  outcome: DreamOutcome | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  filesRead: number;
  filesTouched: number;
  writes: number;
  operationsApplied: number;
  operationsWaiting: number;
  operationsDropped: number;
  inputTokens: number;
  outputTokens: number;
  model: string | null;
  promptVersion: string | null;
  error: AdminDreamDecisionError | null;
};
type AdminDreamRunDetail = {
  id: string;
  userId: string | null;
  spaceId: string | null;
  origin: AdminDreamRunOrigin;
  dryRun: boolean;
  mode: GETDreamConfigAnswerDreamMode;
  state: DreamState;
  outcome: DreamOutcome | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  filesRead: number;
  filesTouched: number;
  writes: number;
  operationsApplied: number;
  operationsWaiting: number;
  operationsDropped: number;
  inputTokens: number;
  outputTokens: number;
  model: string | null;
  promptVersion: string | null;
  error: AdminDreamDecisionError | null;
  operations: readonly (AdminDreamOperation)[];
  malformedOperations: number;
  repeatedOperations: number;
  verifier: string | null;
  traceId: string | null;
  files: readonly (AdminDreamDecisionFile)[];
  leftOut: readonly (string)[];
  shownInParts: readonly (AdminDreamDecisionShownInPart)[];
  revisions: readonly (AdminDreamDecisionRevision)[];
};
type AdminDreamRunDetailFileStatus = "applied" | "reverted";
type AdminDreamRunOrigin = "schedule" | "manual";
type AdminEvent = {
  id: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  toolCallId: string;
  callerToolCallId: string | null;
  kind: AdminListedEventKind;
  name: string;
  userId: string | null;
  spaceId: string | null;
  tool: string | null;
  actor: string;
  key: string | null;
  status: EventListQueryStatus;
  errorCode: string | null;
  startedAt: string;
  durationMs: number;
  attributes: Record<string, string | number | boolean>;
};
type AdminFailure = {
  id: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  toolCallId: string;
  callerToolCallId: string | null;
  kind: AdminListedEventKind;
  name: string;
  userId: string | null;
  spaceId: string | null;
  tool: string | null;
  actor: string;
  key: string | null;
  status: EventListQueryStatus;
  errorCode: string | null;
  startedAt: string;
  durationMs: number;
  attributes: Record<string, string | number | boolean>;
  reasons: readonly (FailureListQueryReason)[];
};
type AdminFile = {
  path: string;
  virtualPath: string;
  userId: string | null;
  spaceId: string | null;
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
};
type AdminFileAnswer = {
  file: AdminFileContent;
  blame?: readonly (BlamedLines)[];
  expired?: readonly (AdminFileAnswerExpired)[];
  blameEnd?: number | null;
};
type AdminFileAnswerExpired = {
  startLine: number;
  endLine: number;
  validUntil: string;
};
type AdminFileContent = {
  path: string;
  virtualPath: string;
  userId: string | null;
  spaceId: string | null;
  size: number;
  lines: number;
  version: number;
  reads: number;
  writes: number;
  revisions: number;
  latestActor: string | null;
  latestRevisionId: string | null;
  createdAt: string;
  updatedAt: string | null;
  lastReadAt: string | null;
  content: string;
};
type AdminFolder = {
  path: string;
  folder: true;
  files: number;
  size: number;
  updatedAt: string;
};
type AdminListedEvent = {
  id: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  toolCallId: string;
  callerToolCallId: string | null;
  kind: AdminListedEventKind;
  name: string;
  userId: string | null;
  spaceId: string | null;
  tool: string | null;
  actor: string;
  key: string | null;
  status: EventListQueryStatus;
  errorCode: string | null;
  startedAt: string;
  durationMs: number;
  attributes: Record<string, string | number | boolean>;
  spans?: readonly (AdminEvent)[];
};
type AdminListedEventKind = "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
type AdminPutAnswer = {
  file: AdminFile | null;
  version: number;
  revisionId: string;
  unchanged: boolean;
  masked?: readonly (AdminPutAnswerMasked)[];
};
type AdminPutAnswerMasked = {
  line: number;
  kind: string;
};
type AdminRevision = {
  id: string;
  path: string;
  userId: string | null;
  spaceId: string | null;
  version: number;
  action: RevisionAction;
  actor: string;
  operator: string | null;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  at: string;
  size: number;
  addedLines: number;
  removedLines: number;
  peerId: string | null;
  reverts: string | null;
  merged: boolean;
  redacted: boolean;
  redactedBefore: boolean;
  redactionId: string | null;
};
type AdminRevisionDetail = {
  id: string;
  path: string;
  userId: string | null;
  spaceId: string | null;
  version: number;
  action: RevisionAction;
  actor: string;
  operator: string | null;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  at: string;
  size: number;
  addedLines: number;
  removedLines: number;
  peerId: string | null;
  reverts: string | null;
  merged: boolean;
  redacted: boolean;
  redactedBefore: boolean;
  redactionId: string | null;
  contentBefore: string | null;
  contentAfter: string | null;
  afterReading: readonly (ReadBefore)[];
  diff: string;
  hash: string | null;
  previousHash: string | null;
};
type AdminStatus = {
  version: string;
  node: string;
  state: string;
  startedAt: string;
  uptimeMs: number;
  storage: StorageDescription;
  writes: AdminStatusWrites;
  model: AdminStatusModel;
  verifier: AdminStatusModel;
  modelExam: AdminStatusModelExam;
  embedder: AdminStatusEmbedder;
  exporters: AdminStatusExporters;
  scheduler: AdminStatusScheduler;
  dreaming: AdminStatusDreaming;
  holds: readonly (AdminStatusHold)[];
  freezes: readonly (AdminStatusFreeze)[];
  redactions: readonly (UnfinishedRedaction)[];
  databaseFile: AdminStatusDatabaseFile | null;
  toolsApi: AdminStatusScheduler;
  tools: readonly (AdminStatusTool)[];
  limits: AdminStatusLimits;
  sharedWrites: boolean;
  rateLimit: number;
  index: AdminStatusIndex;
  accessLog: AccessLogSize;
  queues: AdminStatusQueues;
};
type AdminStatusDatabaseFile = {
  state: AdminStatusDatabaseFileState;
  receipts: number;
  since: string | null;
  until: string | null;
  bytes: number;
  rewrittenBytes: number;
  lastFailure: string | null;
  rewrittenAt: string | null;
  copies: readonly (AdminStatusDatabaseFileCopie)[];
};
type AdminStatusDatabaseFileCopie = {
  name: string;
  bytes: number;
  removed: boolean;
};
type AdminStatusDatabaseFileState = "clean" | "pending" | "rewriting";
type AdminStatusDreaming = {
  operationsWaiting: number;
  tokensToday: number;
};
type AdminStatusEmbedder = {
  configured: boolean;
  name: string | null;
  hint: string | null;
  answers: boolean | null;
  problem: string | null;
  at: string | null;
  progress: EmbeddingProgress | null;
};
type AdminStatusExporters = {
  configured: boolean;
  names: readonly (string)[];
  hint: string | null;
  items: readonly (AdminStatusExportersItem)[];
};
type AdminStatusExportersItem = {
  name: string;
  problem: string | null;
  spans: SpanCounters | null;
};
type AdminStatusFreeze = {
  id: string;
  userId: string | null;
  spaceId: string | null;
  actor: string | null;
  keyId: string | null;
  all: boolean;
  reason: string;
  at: string;
  until: string;
  address: string | null;
};
type AdminStatusHold = {
  userId: string | null;
  spaceId: string | null;
  kind: AdminStatusHoldKind;
  progressAt: string;
  isStalled: boolean;
};
type AdminStatusHoldKind = "restore" | "erase";
type AdminStatusIndex = {
  filesBehind: number;
  reindex: Reindexing | null;
};
type AdminStatusLimits = {
  maxFileBytes: number;
  maxBodyBytes: number;
  maxFilesPerUser: number;
};
type AdminStatusModel = {
  configured: boolean;
  name: string | null;
  hint: string | null;
  answers: boolean | null;
  problem: string | null;
  at: string | null;
};
type AdminStatusModelExam = {
  files: boolean | null;
  judges: boolean | null;
  text: string | null;
};
type AdminStatusQueues = {
  accessQueued: number;
  eventsQueued: number;
  eventsDropped: number;
};
type AdminStatusScheduler = {
  configured: boolean;
  hint: string | null;
};
type AdminStatusTool = {
  name: string;
  available: boolean;
};
type AdminStatusWrites = {
  status: AdminStatusWritesStatus;
  code: string | null;
};
type AdminStatusWritesStatus = "ok" | "failing";
type AdminToolCall = {
  traceId: string;
  toolCallId: string;
  root: AdminEvent;
  spans: readonly (AdminEvent)[];
  accesses: readonly (AdminAccess)[];
  revisions: readonly (AdminRevision)[];
};
type AdminToolCallDetail = {
  traceId: string;
  toolCallId: string;
  root: AdminEvent;
  spans: readonly (AdminEvent)[];
  accesses: readonly (AdminAccess)[];
  revisions: readonly (AdminRevision)[];
  shown: readonly (ShownContent)[];
};
type AdminTrace = {
  traceId: string;
  calls: readonly (AdminToolCall)[];
};
type AdminUser = {
  userId: string;
  files: number;
  bytes: number;
  revisions: number;
  reads: number;
  lastReadAt: string | null;
  lastShownAt: string | null;
  lastWriteAt: string | null;
  historyHash: string | null;
};
type AuditListQuery = {
  action?: string;
  operator?: string;
  q?: string;
  since?: string;
  until?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type AuditValuesQuery = {
  action?: string;
  operator?: string;
  q?: string;
  since?: string;
  until?: string;
};
type BackupFile = {
  file: string;
  bytes: number;
};
type BlamedLines = {
  startLine: number;
  endLine: number;
  revisionId: string | null;
  version: number | null;
  actor: string | null;
  reason: string | null;
  tool: string | null;
  toolCallId: string | null;
  at: string | null;
  redacted?: boolean;
  putBackBy?: BlamedLinesPutBackBy;
  before: string | null;
  afterReading?: readonly (ReadBefore)[] | null;
};
type BlamedLinesPutBackBy = {
  revisionId: string;
  version: number;
  actor: string;
  at: string;
};
type Bucket = "1m" | "5m" | "1h" | "1d";
type ChangedFile = {
  path: string;
  change: ChangedFileChange;
  fromVersion: number | null;
  toVersion: number | null;
  diff: string;
};
type ChangedFileChange = "created" | "updated" | "deleted" | "unknown";
type CheckKey = {
  checkKey: string;
};
type ConflictOptions = {
  onConflict?: ConflictOptionsOnConflict;
  resolutions?: readonly (ConflictResolution)[];
};
type ConflictOptionsOnConflict = "skip" | "leave" | "force";
type ConflictResolution = {
  path: string;
  version: number;
  startLine: number;
  take: ConflictResolutionTake;
};
type ConflictResolutionTake = "restored" | "theirs" | "both";
type CountedQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  complete?: boolean;
};
type DELETEFilesPathQuery = {
  actor?: "folder";
};
type DELETEKeysIdAnswer = {
  id: string;
  name: string;
  createdAt: string;
  createdBy: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  previousUntil: string | null;
  users: readonly (string)[] | null;
  spaces: readonly (string)[];
  tools: readonly (string)[] | null;
  rateLimit: number | null;
  actor: string | null;
  manage: boolean;
};
type DELETEOperatorsIdAnswer = {
  id: string;
  name: string;
  createdAt: string;
  createdBy: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  previousUntil: string | null;
  role: DELETEOperatorsIdAnswerRole;
  contents: boolean;
};
type DELETEOperatorsIdAnswerRole = "viewer" | "operator" | "admin";
type DiffQuery = {
  userId?: string;
  spaceId?: string;
  shared?: boolean;
  from: string;
  to?: string;
  limit?: number;
  cursor?: string;
};
type DreamDecisionBody = {
  operations?: readonly (number)[];
  paths?: readonly (string)[];
};
type DreamOutcome = "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted";
type DreamState = "queued" | "running" | "completed" | "failed" | "canceled";
type EarlierFile = {
  path: string;
  virtualPath: string;
  userId: string | null;
  spaceId: string | null;
  at: string;
  isKnown: boolean;
  version: number | null;
  size: number | null;
  latestActor: string | null;
  latestRevisionId: string | null;
  updatedAt: string | null;
};
type EmbeddingProgress = {
  state: EmbeddingProgressState;
  dimensions: number;
  filesWaiting: number;
  textsWaiting: number;
  textsEmbedded: number;
  failures: number;
  lastFailure: string | null;
  lastFailureReason: string | null;
};
type EmbeddingProgressState = "starting" | "embedding" | "paused" | "idle";
type EventListQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  kind?: EventListQueryKind;
  status?: EventListQueryStatus;
  actor?: string;
  errorCode?: string;
  spans?: boolean;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type EventListQueryKind = "tool" | "dream.run" | "check.run";
type EventListQueryStatus = "ok" | "error";
type EventValuesQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  kind?: EventListQueryKind;
  status?: EventListQueryStatus;
  actor?: string;
  errorCode?: string;
};
type FailureListQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  reason?: FailureListQueryReason;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type FailureListQueryReason = "failed" | "refused" | "slow";
type FileListQuery = {
  prefix?: string;
  userId?: string;
  spaceId?: string;
  q?: string;
  depth?: 1;
  sort?: FileListQuerySort;
  at?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type FileListQuerySort = "path" | "updatedAt" | "size" | "reads" | "writes";
type FileQuery = {
  version?: number;
  at?: string;
  blame?: boolean;
};
type Finding = {
  invariant: FindingInvariant;
  path: string | null;
  message: string;
};
type FindingInvariant = "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I8" | "chain" | "whole" | "storage";
type GETAccessLogsAnswer = {
  items: readonly (AdminAccess)[];
  nextCursor: string | null;
};
type GETAccessLogsValuesAnswer = {
  rows: number;
  from: string | null;
  fields: readonly (GETAccessLogsValuesAnswerField)[];
  without: readonly (GETAccessLogsValuesAnswerWithout)[];
};
type GETAccessLogsValuesAnswerField = {
  field: string;
  values: readonly (GETAccessLogsValuesAnswerFieldValue)[];
  others: number;
};
type GETAccessLogsValuesAnswerFieldValue = {
  value: string;
  count: number;
};
type GETAccessLogsValuesAnswerWithout = {
  filter: string;
  rows: number;
  isMore: boolean;
};
type GETAuditAnswer = {
  items: readonly (AdminAudit)[];
  nextCursor: string | null;
};
type GETBackupAnswer = {
  state: GETBackupAnswerState;
  done: number;
  total: number;
  result: BackupFile | null;
  error: string | null;
};
type GETBackupAnswerState = "running" | "completed" | "failed";
type GETChecksAnswer = {
  version: number;
  text: string;
  checks: readonly (GETChecksAnswerCheck)[];
  mistakes: readonly (GETChecksAnswerMistake)[];
};
type GETChecksAnswerCheck = {
  name: string;
  line: number;
  about: GETChecksAnswerCheckAbout;
  kind: GETChecksAnswerCheckKind;
};
type GETChecksAnswerCheckAbout = "user" | "space" | "path" | "each_user" | "everywhere";
type GETChecksAnswerCheckKind = "ask" | "contains" | "absent" | "at_most_one_line" | "exists" | "max_bytes" | "hygiene";
type GETChecksAnswerMistake = {
  line: number;
  message: string;
};
type GETChecksProgressIdAnswer = {
  files: number;
  done: number;
  total: number;
};
type GETChecksRunsAnswer = {
  items: readonly (GETChecksRunsAnswerItem)[];
  checks: readonly (GETChecksRunsAnswerCheck)[];
};
type GETChecksRunsAnswerCheck = {
  name: string;
  outcomes: readonly (GETChecksRunsAnswerCheckOutcome)[];
};
type GETChecksRunsAnswerCheckOutcome = {
  runId: string;
  passed: boolean;
  rank?: number | null;
};
type GETChecksRunsAnswerItem = {
  id: string;
  origin: GETChecksRunsAnswerItemOrigin;
  at: string;
  tookMs: number;
  version: number;
  passed: number;
  failed: number;
  embedder: string | null;
};
type GETChecksRunsAnswerItemOrigin = "hand" | "nightly" | "embedder";
type GETChecksRunsIdAnswer = {
  id: string;
  origin: GETChecksRunsAnswerItemOrigin;
  at: string;
  tookMs: number;
  version: number;
  passed: number;
  failed: number;
  embedder: string | null;
  results: readonly (GETChecksRunsIdAnswerResult)[];
  against: string | null;
  changes: readonly (GETChecksRunsIdAnswerChange)[];
};
type GETChecksRunsIdAnswerChange = {
  name: string;
  isBetter: boolean;
  turned: GETChecksRunsIdAnswerChangeTurned | null;
  what: string;
};
type GETChecksRunsIdAnswerChangeTurned = "red" | "green";
type GETChecksRunsIdAnswerResult = {
  name: string;
  passed: boolean;
  why?: string;
  near?: string;
  rank?: number | null;
  places?: readonly (GETChecksRunsIdAnswerResultPlace)[];
  more?: number;
};
type GETChecksRunsIdAnswerResultPlace = {
  path: string;
  lines: readonly (number)[];
};
type GETConfigurationAnswer = {
  file: string | null;
  settings: readonly (GETConfigurationAnswerSetting)[];
  warnings: readonly (string)[];
};
type GETConfigurationAnswerSetting = {
  key: string;
  value: string | null;
  source: GETConfigurationAnswerSettingSource;
  origin: string | null;
  description: string | null;
  default: string | null;
  allowed: string | null;
  env: string | null;
  flag: string | null;
};
type GETConfigurationAnswerSettingSource = "default" | "file" | ".env" | "environment" | "flag" | "code";
type GETDiffAnswer = {
  items: readonly (ChangedFile)[];
  nextCursor: string | null;
};
type GETDreamConfigAnswer = {
  dream_enabled: boolean;
  dream_interval_minutes: number;
  dream_grace_period_minutes: number;
  dream_max_writes: number;
  dream_concurrency: number;
  dream_mode: GETDreamConfigAnswerDreamMode;
  dream_window: string | null;
  dream_waiting_days: number;
  dream_max_tokens_per_user_day: number;
  dream_max_tokens_per_day: number;
  dream_max_reply_tokens: number;
  dream_run_timeout_seconds: number;
  dream_require_exam: boolean;
  schedulerStarted: boolean;
  invalidKeys?: readonly (GETDreamConfigAnswerInvalidKey)[];
};
type GETDreamConfigAnswerDreamMode = "auto" | "review";
type GETDreamConfigAnswerInvalidKey = "dream_enabled" | "dream_interval_minutes" | "dream_grace_period_minutes" | "dream_max_writes" | "dream_concurrency" | "dream_mode" | "dream_window" | "dream_waiting_days" | "dream_max_tokens_per_user_day" | "dream_max_tokens_per_day" | "dream_max_reply_tokens" | "dream_run_timeout_seconds" | "dream_require_exam";
type GETDreamRunsAnswer = {
  items: readonly (AdminDreamRun)[];
  nextCursor: string | null;
};
type GETDreamRunsQuery = {
  userId?: string;
  spaceId?: string;
  state?: DreamState;
  waiting?: GETDreamRunsQueryWaiting;
  outcome?: DreamOutcome;
  wrote?: GETDreamRunsQueryWaiting;
  since?: string;
  until?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type GETDreamRunsQueryWaiting = "true";
type GETDreamRunsValuesQuery = {
  userId?: string;
  spaceId?: string;
  state?: DreamState;
  waiting?: GETDreamRunsQueryWaiting;
  outcome?: DreamOutcome;
  wrote?: GETDreamRunsQueryWaiting;
  since?: string;
  until?: string;
};
type GETDreamSpacesAnswer = {
  items: readonly (GETDreamSpacesAnswerItem)[];
  nextCursor: string | null;
};
type GETDreamSpacesAnswerItem = {
  userId: string | null;
  spaceId: string | null;
  status: DreamState | null;
  paused: boolean;
  eligible: boolean;
  skipReason: GETDreamSpacesAnswerItemSkipReason | null;
  lastRunId: string | null;
  lastRunAt: string | null;
  lastWriteAt: string | null;
  lastQualifyingWriteAt: string | null;
  filesTouched: number;
  operationsWaiting: number;
  error: string | null;
  runs: number;
  failures: number;
  retryAt: string | null;
};
type GETDreamSpacesAnswerItemSkipReason = "disabled" | "archived" | "paused" | "frozen" | "no_change" | "excluded_only" | "grace" | "backoff" | "budget" | "window" | "in_flight" | "model_not_configured";
type GETDreamSpacesQuery = {
  q?: string;
  spaceIds?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type GETDreamUsersQuery = {
  q?: string;
  userIds?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type GETExportQuery = {
  userId?: string;
  spaceId?: string;
  prefix?: string;
  format?: GETExportQueryFormat;
  history?: boolean;
};
type GETExportQueryFormat = "archive" | "git";
type GETFilesAnswer = {
  items: readonly (AdminFile | AdminFolder | EarlierFile)[];
  nextCursor: string | null;
};
type GETFreezesAnswer = {
  items: readonly (AdminStatusFreeze)[];
};
type GETKeysAnswer = {
  items: readonly (DELETEKeysIdAnswer)[];
};
type GETMeAnswer = {
  name: string;
  role: DELETEOperatorsIdAnswerRole;
  contents: boolean;
};
type GETMeRightsAnswer = {
  operator: GETMeAnswer;
  routes: readonly (GETMeRightsAnswerRoute)[];
};
type GETMeRightsAnswerRoute = {
  method: string;
  path: string;
  summary: string;
  role: GETMeRightsAnswerRouteRole;
  allowed: boolean;
};
type GETMeRightsAnswerRouteRole = "viewer" | "contents" | "operator" | "admin";
type GETModelExamAnswer = {
  exam: GETModelExamAnswerExam;
  job: GETModelExamAnswerJob | null;
};
type GETModelExamAnswerExam = {
  parts: readonly (GETModelExamAnswerExamPart)[];
  expect: readonly (string)[];
};
type GETModelExamAnswerExamPart = {
  part: GETModelExamAnswerExamPartPart;
  provider: string;
  address: string | null;
  model: string;
  promptsVersion: string;
  form: GETModelExamAnswerExamPartForm;
  passed: boolean;
  score: number;
  of: number;
  failed: readonly (string)[];
  seconds: number;
  inputTokens: number;
  outputTokens: number;
  at: string;
};
type GETModelExamAnswerExamPartForm = "full" | "short";
type GETModelExamAnswerExamPartPart = "files" | "judges";
type GETModelExamAnswerJob = {
  state: GETBackupAnswerState;
  done: number;
  total: number;
  result: GETModelExamAnswerExam | null;
  error: string | null;
};
type GETObservabilityEventsAnswer = {
  items: readonly (AdminListedEvent)[];
  nextCursor: string | null;
};
type GETObservabilityFailuresAnswer = {
  items: readonly (AdminFailure)[];
  nextCursor: string | null;
};
type GETObservabilityHygieneSpacesAnswer = {
  items: readonly (UserHygiene)[];
  nextCursor: string | null;
};
type GETObservabilityUsageAnswer = {
  since: string;
  until: string;
  countedFrom: string | null;
  totals: GETObservabilityUsageAnswerTotals;
  owners: readonly (GETObservabilityUsageAnswerOwner)[];
  keys: readonly (GETObservabilityUsageAnswerKey)[];
  actors: readonly (GETObservabilityUsageAnswerActor)[];
  models: readonly (GETObservabilityUsageAnswerModel)[];
  others: number;
};
type GETObservabilityUsageAnswerActor = {
  actor: string;
  calls: number;
  writes: number;
  reads: number;
  finds: number;
  inputTokens: number;
  outputTokens: number;
};
type GETObservabilityUsageAnswerKey = {
  key: string | null;
  calls: number;
  writes: number;
  reads: number;
  finds: number;
  inputTokens: number;
  outputTokens: number;
};
type GETObservabilityUsageAnswerModel = {
  provider: string;
  model: string;
  kind: GETObservabilityUsageAnswerModelKind;
  calls: number;
  inputTokens: number;
  outputTokens: number;
};
type GETObservabilityUsageAnswerModelKind = "llm" | "embedding";
type GETObservabilityUsageAnswerOwner = {
  userId: string | null;
  spaceId: string | null;
  calls: number;
  writes: number;
  reads: number;
  finds: number;
  inputTokens: number;
  outputTokens: number;
};
type GETObservabilityUsageAnswerTotals = {
  calls: number;
  writes: number;
  reads: number;
  finds: number;
  inputTokens: number;
  outputTokens: number;
};
type GETObservabilityUsageQuery = {
  since?: string;
  until?: string;
  complete?: boolean;
};
type GETOperatorsAnswer = {
  items: readonly (DELETEOperatorsIdAnswer)[];
  proxy: GETOperatorsAnswerProxy | null;
};
type GETOperatorsAnswerProxy = {
  header: string;
  roles: readonly (GETOperatorsAnswerProxyRole)[];
};
type GETOperatorsAnswerProxyRole = {
  pattern: string;
  role: DELETEOperatorsIdAnswerRole;
  contents: boolean;
};
type GETPlaygroundAnswer = {
  tools: readonly (ListedTool)[];
};
type GETRetentionAnswer = {
  state: GETBackupAnswerState;
  done: number;
  total: number;
  result: GETRetentionAnswerResult | null;
  error: string | null;
};
type GETRetentionAnswerResult = {
  dryRun: boolean;
  prefix: string | null;
  counts: RetentionCounts | null;
};
type GETRevisionsAnswer = {
  items: readonly (AdminRevision)[];
  nextCursor: string | null;
};
type GETSearchAnswer = {
  items: readonly (GETSearchAnswerItem)[];
  nextCursor: string | null;
  searched: GETSearchAnswerSearched;
};
type GETSearchAnswerItem = {
  path: string;
  userId: string | null;
  spaceId: string | null;
  version: number;
  updatedAt: string;
  matches: number;
  lines: readonly (GETSearchAnswerItemLine)[];
  score: number;
  words: readonly (string)[];
};
type GETSearchAnswerItemLine = {
  line: number;
  text: string;
};
type GETSearchAnswerSearched = {
  files: number;
  bytes: number;
};
type GETSearchQuery = {
  q: string;
  userId?: string;
  spaceId?: string;
  limit?: number;
  cursor?: string;
};
type GETSpacesAnswer = {
  items: readonly (GETSpacesAnswerItem)[];
  nextCursor: string | null;
};
type GETSpacesAnswerItem = {
  spaceId: string;
  name: string | null;
  description: string | null;
  metadata: Record<string, string>;
  quota: number | null;
  dream: boolean;
  exclusivePaths: boolean;
  createdAt: string;
  updatedAt: string;
  archivedAt: string | null;
  version: number;
  files: number;
  bytes: number;
  revisions: number;
  reads: number;
  lastReadAt: string | null;
  lastShownAt: string | null;
  lastWriteAt: string | null;
  historyHash: string | null;
};
type GETSpacesQuery = {
  q?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type GETUsersAnswer = {
  items: readonly (AdminUser)[];
  nextCursor: string | null;
};
type GETVacuumAnswer = {
  state: GETBackupAnswerState;
  done: number;
  total: number;
  result: GETVacuumAnswerResult | null;
  error: string | null;
};
type GETVacuumAnswerResult = {
  before: number;
  bytes: number;
};
type GETVerifyAnswer = {
  state: GETBackupAnswerState;
  done: number;
  total: number;
  result: Verification | null;
  error: string | null;
};
type HygieneKind = "stale_catalog" | "missing_from_catalog" | "broken_link" | "duplicate_line" | "similar_line" | "contradiction" | "oversized" | "never_read" | "secret" | "personal" | "forget_requested" | "expired" | "unreadable_end";
type HygieneQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
};
type HygieneReport = {
  userId: string | null;
  spaceId: string | null;
  at: string;
  filesChecked: number;
  files: number;
  counts: Record<string, number>;
  severities: HygieneReportSeverities;
  findings: readonly (HygieneReportFinding)[];
  omitted: number;
};
type HygieneReportFinding = {
  kind: HygieneKind;
  severity: HygieneReportFindingSeverity;
  message: string;
  places: readonly (GETChecksRunsIdAnswerResultPlace)[];
  mend: string;
  request?: HygieneReportFindingRequest;
};
type HygieneReportFindingRequest = {
  toolCallId: string;
  revisions: readonly (HygieneReportFindingRequestRevision)[];
};
type HygieneReportFindingRequestRevision = {
  id: string;
  lines: readonly (number)[];
};
type HygieneReportFindingSeverity = "low" | "medium" | "high";
type HygieneReportSeverities = {
  high: number;
  medium: number;
  low: number;
};
type Influence = {
  revision: AdminRevision | null;
  line: InfluenceLine | null;
  items: readonly (InfluenceItem)[];
  nextCursor: string | null;
};
type InfluenceItem = {
  id: string;
  at: string;
  userId: string | null;
  spaceId: string | null;
  path: string;
  actor: string;
  key: string | null;
  tool: string | null;
  action: AccessAction;
  toolCallId: string | null;
  traceId: string | null;
  runId: string | null;
  revisionId: string | null;
  version: number | null;
  lines: readonly (AdminAccessLine)[] | null;
  rank: number | null;
  outcome: AccessOutcome;
  line: number | null;
};
type InfluenceLine = {
  path: string;
  version: number;
  line: number;
  text: string;
  complete: boolean;
};
type InfluenceQuery = {
  revisionId?: string;
  path?: string;
  version?: number;
  line?: number;
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type KeyChecked = {
  valid: boolean;
};
type LatencySeries = {
  since: string;
  until: string;
  bucket: Bucket;
  relativeError: number;
  tools: readonly (LatencySeriesTool)[];
};
type LatencySeriesTool = {
  tool: string | null;
  points: readonly (LatencySeriesToolPoint)[];
};
type LatencySeriesToolPoint = {
  at: string;
  calls: number;
  p50: number;
  p95: number;
  p99: number;
};
type ListedTool = {
  name: string;
  title: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown>;
  requiresModel: boolean;
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  available: boolean;
};
type NamedSpace = {
  id: string;
  access: NamedSpaceAccess;
};
type NamedSpaceAccess = "read" | "write";
type ObservabilitySummary = {
  since: string;
  until: string;
  calls: number;
  failed: number;
  refused: number;
  errorRate: number;
  latency: ObservabilitySummaryLatency;
  activeScopes: number;
  reads: number;
  writes: number;
  finds: number;
  readWriteRatio: number | null;
  sla: ObservabilitySummarySla;
};
type ObservabilitySummaryLatency = {
  p50: number | null;
  p95: number | null;
  p99: number | null;
  relativeError: number;
};
type ObservabilitySummarySla = {
  state: ObservabilitySummarySlaState;
  reason: string;
  limits: ObservabilitySummarySlaLimits;
};
type ObservabilitySummarySlaLimits = {
  p95Ms: number;
  errorRate: number;
  slowCallMs: number;
  minCalls: number;
};
type ObservabilitySummarySlaState = "ok" | "watch" | "breached";
type POSTChecksAskAnswer = {
  answers: readonly (readonly (string)[])[];
};
type POSTChecksAskBody = {
  questions: readonly (POSTChecksAskBodyQuestion)[];
};
type POSTChecksAskBodyQuestion = {
  user: string;
  query: string;
};
type POSTChecksBisectAnswer = {
  name: string;
  outcome: POSTChecksBisectAnswerOutcome;
  why: string;
  path: string | null;
  at: string | null;
  before: string | null;
  revisions: readonly (AdminRevision)[];
  tries: number;
};
type POSTChecksBisectAnswerOutcome = "found" | "passes" | "time" | "unknown";
type POSTChecksBisectBody = {
  name?: string;
  check?: Record<string, unknown>;
};
type POSTChecksRunAnswer = {
  at: string;
  passed: number;
  failed: number;
  results: readonly (GETChecksRunsIdAnswerResult)[];
};
type POSTChecksRunBody = {
  checks?: readonly (Record<string, unknown>)[];
  progressId?: string;
};
type POSTDreamRunsIdCancelBody = {
  paths?: readonly (string)[];
};
type POSTDreamSpacesSpaceIdRunBody = {
  dryRun?: boolean;
};
type POSTEraseAnswer = {
  prefix: string;
  dryRun: boolean;
  users: number;
  spaces: number;
  matches: readonly (POSTEraseAnswerMatche)[];
  receipts: readonly (POSTEraseAnswerReceipt)[];
  progress: POSTEraseAnswerProgress;
  nextCursor: string | null;
};
type POSTEraseAnswerMatche = {
  userId: string | null;
  spaceId: string | null;
  tables: Record<string, number>;
};
type POSTEraseAnswerProgress = {
  done: number;
};
type POSTEraseAnswerReceipt = {
  dryRun: boolean;
  userId: string | null;
  spaceId: string | null;
  erasedAt: string | null;
  erasedBefore: string | null;
  tables: Record<string, number>;
  auditRows: number;
  left: Record<string, number>;
  chainHead: string | null;
  readers: readonly (POSTEraseAnswerReceiptReader)[];
  readersComplete: boolean;
  spaces: readonly (string)[];
  keeps: readonly (string)[];
  pending: readonly (string)[];
  copies: readonly (AdminStatusDatabaseFileCopie)[];
  mayRemain: readonly (string)[];
};
type POSTEraseAnswerReceiptReader = {
  path: string;
  revisionId: string;
  probably: boolean;
};
type POSTEraseBody = {
  prefix: string;
  dryRun?: boolean;
  confirm?: POSTEraseBodyConfirm;
  removeCopies?: boolean;
  limit?: number;
  cursor?: string;
};
type POSTEraseBodyConfirm = {
  prefix: string;
  users: number;
  spaces: number;
};
type POSTFindWhyAnswer = {
  path: string;
  found: boolean;
  reason: POSTFindWhyAnswerReason | null;
  rank: number | null;
  limit: number;
  score: number | null;
  leastScore: number | null;
  mode: POSTFindWhyAnswerMode | null;
  signals: Record<string, number> | null;
  words: readonly (POSTFindWhyAnswerWord)[];
  waitsForIndex: boolean;
  expired: readonly (AdminFileAnswerExpired)[];
};
type POSTFindWhyAnswerMode = "text" | "hybrid";
type POSTFindWhyAnswerReason = "absent" | "other_memory" | "path" | "words" | "expired" | "time" | "limit" | "depth";
type POSTFindWhyAnswerWord = {
  word: string;
  inFile: boolean;
};
type POSTFindWhyBody = {
  context: ToolContext;
  arguments: POSTFindWhyBodyArguments;
  path: string;
};
type POSTFindWhyBodyArguments = {
  query: string;
  path?: string;
  limit?: number;
  group?: POSTFindWhyBodyArgumentsGroup;
  mode?: POSTFindWhyBodyArgumentsMode;
  since?: string;
  until?: string;
  sort?: POSTFindWhyBodyArgumentsSort;
  asOf?: string;
  includeExpired?: boolean;
  explain?: boolean;
};
type POSTFindWhyBodyArgumentsGroup = "file" | "passage";
type POSTFindWhyBodyArgumentsMode = "auto" | "text" | "hybrid";
type POSTFindWhyBodyArgumentsSort = "relevance" | "newest";
type POSTFreezeBody = {
  userId?: string;
  spaceId?: string;
  actor?: string;
  keyId?: string;
  all?: true;
  reason: string;
  minutes: number;
};
type POSTImportQuery = {
  from?: POSTImportQueryFrom;
  userId?: string;
  onExisting?: POSTImportQueryOnExisting;
  dryRun?: boolean;
};
type POSTImportQueryFrom = "archive" | "markdown" | "mem0" | "letta" | "server-memory" | "basic-memory" | "memory-stores";
type POSTImportQueryOnExisting = "refuse" | "skip" | "new_versions";
type POSTKeysAnswer = {
  id: string;
  name: string;
  createdAt: string;
  createdBy: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  previousUntil: string | null;
  users: readonly (string)[] | null;
  spaces: readonly (string)[];
  tools: readonly (string)[] | null;
  rateLimit: number | null;
  actor: string | null;
  manage: boolean;
  key: string;
};
type POSTKeysBody = {
  name: string;
  users?: readonly (string)[] | null;
  spaces?: readonly (string)[] | null;
  tools?: readonly (string)[] | null;
  rateLimit?: number | null;
  actor?: string | null;
  manage?: boolean | null;
  expiresAt?: string | null;
};
type POSTKeysIdRotateBody = {
  overlapMinutes?: number;
};
type POSTOperatorsAnswer = {
  id: string;
  name: string;
  createdAt: string;
  createdBy: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  previousUntil: string | null;
  role: DELETEOperatorsIdAnswerRole;
  contents: boolean;
  token: string;
};
type POSTOperatorsBody = {
  name: string;
  role: DELETEOperatorsIdAnswerRole;
  contents?: boolean;
};
type POSTRetentionQuery = {
  prefix?: string;
};
type POSTSearchAnswer = {
  items: readonly (POSTSearchAnswerItem)[];
  nextCursor: string | null;
  searched: POSTSearchAnswerSearched;
};
type POSTSearchAnswerItem = {
  path: string;
  userId: string | null;
  spaceId: string | null;
  fromVersion: number;
  toVersion: number;
  toRevisionId: string | null;
  current: boolean;
  matches: number;
  lines: readonly (GETSearchAnswerItemLine)[];
};
type POSTSearchAnswerSearched = {
  files: number;
  versions: number;
  bytes: number;
};
type POSTSearchBody = {
  text: string;
  history?: boolean;
  userId?: string;
  spaceId?: string;
  path?: string;
  limit?: number;
  cursor?: string;
};
type POSTSharedReleaseAnswer = {
  userId: string | null;
  spaceId: string | null;
  released: true;
};
type POSTSpacesBody = {
  id: string;
  name?: string | null;
  description?: string | null;
  metadata?: Record<string, string>;
  quota?: number | null;
  dream?: boolean;
  exclusivePaths?: boolean;
};
type POSTSpacesIdArchiveBody = {
  archived?: boolean;
};
type POSTSpacesIdEraseBody = {
  confirm: string;
  dryRun?: boolean;
  removeCopies?: boolean;
};
type PUTChecksBody = {
  text?: string;
  checks?: readonly (Record<string, unknown>)[];
};
type PUTDreamConfigBody = {
  dream_enabled?: boolean;
  dream_interval_minutes?: number;
  dream_grace_period_minutes?: number;
  dream_max_writes?: number;
  dream_concurrency?: number;
  dream_mode?: GETDreamConfigAnswerDreamMode;
  dream_window?: string | null;
  dream_waiting_days?: number;
  dream_max_tokens_per_user_day?: number;
  dream_max_tokens_per_day?: number;
  dream_max_reply_tokens?: number;
  dream_run_timeout_seconds?: number;
  dream_require_exam?: boolean;
};
type PUTDreamSpacesSpaceIdPausedBody = {
  paused: boolean;
};
type PUTFilesPathBody = {
  content: string;
  reason?: string;
  actor?: "folder";
};
type PUTSpacesIdBody = {
  name?: string | null;
  description?: string | null;
  metadata?: Record<string, string>;
  quota?: number | null;
  dream?: boolean;
  exclusivePaths?: boolean;
};
type PlaygroundCall = {
  context: ToolContext;
  arguments?: Record<string, unknown> | null;
};
type PruneAnswer = {
  pruned: number;
  bytes: number;
  dryRun: boolean;
};
type PruneRequest = {
  olderThan?: string;
  keepLast?: number;
  userId?: string;
  spaceId?: string;
  path?: string;
  dryRun?: boolean;
};
type ReadBefore = {
  path: string;
  revisionId: string | null;
  probably: boolean;
};
type RedactAnswer = {
  dryRun: boolean;
  unchanged: boolean;
  path: string;
  revisions: readonly (RedactAnswerRevision)[];
  alsoIn: number;
  peers: readonly (string)[];
  pending: readonly (string)[];
  copies: readonly (AdminStatusDatabaseFileCopie)[];
  mayRemain: readonly (string)[];
};
type RedactAnswerRevision = {
  id: string;
  version: number;
  loses: RedactAnswerRevisionLoses;
};
type RedactAnswerRevisionLoses = "after" | "before" | "both";
type RedactRequest = {
  reason: string;
  before?: boolean;
  dryRun?: boolean;
  removeCopies?: boolean;
};
type RedactTextAnswer = {
  dryRun: boolean;
  id: string | null;
  files: readonly (RedactedFile)[];
  records: RedactTextAnswerRecords;
  left: RedactTextAnswerLeft;
  readers: readonly (POSTEraseAnswerReceiptReader)[];
  readersComplete: boolean;
  pending: readonly (string)[];
  copies: readonly (AdminStatusDatabaseFileCopie)[];
  mayRemain: readonly (string)[];
  progress: RedactTextAnswerProgress;
  nextCursor: string | null;
};
type RedactTextAnswerLeft = {
  paths: readonly (string)[];
  userIds: readonly (string)[];
  spaces: readonly (string)[];
  actors: readonly (string)[];
  operators: readonly (string)[];
  keys: readonly (string)[];
  settings: readonly (string)[];
  audit: readonly (string)[];
};
type RedactTextAnswerProgress = {
  files: number;
};
type RedactTextAnswerRecords = {
  reasons: number;
  runs: number;
  events: number;
  answers: number;
  audit: number;
  notes: number;
};
type RedactTextRequest = {
  text?: string;
  revisionId?: string;
  lines?: string;
  in?: UnfinishedRedactionIn;
  path?: string;
  userId?: string;
  spaceId?: string;
  replacement?: string;
  reason: string;
  dryRun?: boolean;
  removeCopies?: boolean;
  cursor?: string;
};
type RedactedFile = {
  path: string;
  userId: string | null;
  spaceId: string | null;
  versions: number;
  fromVersion: number;
  toVersion: number;
  current: boolean;
  version: number | null;
  lines: readonly (RedactedFileLine)[];
};
type RedactedFileLine = {
  version: number;
  line: number;
  text: string;
};
type Reindexing = {
  state: GETBackupAnswerState;
  done: number;
  files: number;
};
type RestoreAnswer = {
  dryRun: boolean;
  at: string;
  restored: number;
  deleted: number;
  unchanged: number;
  left: number;
  files: readonly (RestoredFile)[];
  filesOmitted: number;
};
type RestoreRequest = {
  at: string;
  path?: string;
  dryRun?: boolean;
};
type RestoredFile = {
  path: string;
  outcome: RestoredFileOutcome;
  version: number | null;
  revisionId: string | null;
  why: string | null;
  diff: string;
  diffOmitted: boolean;
};
type RestoredFileOutcome = "restored" | "deleted" | "gone" | "refused";
type RetentionCounts = {
  events: number;
  access: number;
  idempotency: number;
  revisions: number;
  bytes: number;
  dreams: number;
};
type RevertAnswer = {
  dryRun: boolean;
  unchanged: boolean;
  files: readonly (RevertAnswerFile)[];
};
type RevertAnswerFile = {
  path: string;
  outcome: AdminDreamRevertLeftOutcome;
  version: number | null;
  revisionId: string | null;
  fromVersion: number | null;
  conflicts: readonly (RevertConflict)[];
  blanked: number;
  why: string | null;
  writers?: readonly (RevertAnswerFileWriter)[];
  diff: string;
  diffOmitted: boolean;
  unchanged: boolean;
};
type RevertAnswerFileWriter = {
  revisionId: string;
  version: number;
  actor: string;
  at: string;
  lines: number;
};
type RevertConflict = {
  startLine: number;
  endLine: number;
  theirs: string;
  restored: string;
  writer: BlamedLinesPutBackBy | null;
};
type RevertRequest = {
  dryRun?: boolean;
  onConflict?: ConflictOptionsOnConflict;
  resolutions?: readonly (ConflictResolution)[];
};
type RevertSelection = {
  runId?: string;
  toolCallId?: string;
  actor?: string;
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  revisionIds?: readonly (string)[];
  path?: string;
  lines?: string;
  version?: number;
  text?: string;
  in?: UnfinishedRedactionIn;
  cursor?: string;
  dryRun?: boolean;
  onConflict?: ConflictOptionsOnConflict;
  resolutions?: readonly (ConflictResolution)[];
};
type RevertWritesAnswer = {
  dryRun: boolean;
  files: readonly (RevertedFile)[];
  counts?: RevertWritesAnswerCounts;
  progress?: RedactTextAnswerProgress;
  nextCursor?: string | null;
};
type RevertWritesAnswerCounts = {
  users: readonly (RevertWritesAnswerCountsUser)[];
  writers: readonly (RevertWritesAnswerCountsWriter)[];
};
type RevertWritesAnswerCountsUser = {
  userId: string | null;
  spaceId: string | null;
  files: number;
  lines: number;
};
type RevertWritesAnswerCountsWriter = {
  actor: string;
  files: number;
  lines: number;
};
type RevertedFile = {
  path: string;
  outcome: AdminDreamRevertLeftOutcome;
  version: number | null;
  revisionId: string | null;
  fromVersion: number | null;
  conflicts: readonly (RevertConflict)[];
  blanked: number;
  why: string | null;
  writers?: readonly (RevertAnswerFileWriter)[];
  diff: string;
  diffOmitted: boolean;
};
type RevisionAction = "create" | "update" | "delete" | "move" | "revert" | "redact";
type RevisionListQuery = {
  path?: string;
  prefix?: string;
  q?: string;
  userId?: string;
  spaceId?: string;
  shared?: boolean;
  actor?: string;
  action?: RevisionAction;
  runId?: string;
  traceId?: string;
  toolCallId?: string;
  since?: string;
  until?: string;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type RevisionValuesQuery = {
  path?: string;
  prefix?: string;
  q?: string;
  userId?: string;
  spaceId?: string;
  shared?: boolean;
  actor?: string;
  action?: RevisionAction;
  runId?: string;
  traceId?: string;
  toolCallId?: string;
  since?: string;
  until?: string;
};
type SeriesQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  bucket?: Bucket;
  timeZone?: string;
};
type ShownContent = {
  accessId: string;
  path: string;
  action: AccessAction;
  revisionId: string | null;
  version: number | null;
  lines: readonly (ShownContentLine)[] | null;
};
type ShownContentLine = {
  startLine: number;
  endLine: number;
  content: string | null;
};
type SpanCounters = {
  queued: number;
  exported: number;
  dropped: number;
  failed: number;
};
type StorageDescription = {
  name: string;
  driver: string;
  version: string;
  schemaVersion: number;
  settings: Record<string, string | number | boolean>;
};
type ToolAnswer = {
  result: unknown;
  traceId: string;
  toolCallId: string;
  durationMs: number;
};
type ToolContext = {
  userId: string;
  actor?: string | null;
  spaces?: readonly (NamedSpace)[] | null;
  toolCallId?: string | null;
  timeZone?: string | null;
};
type TopFiles = {
  since: string;
  until: string;
  countedFrom: string | null;
  items: readonly (TopFilesItem)[];
};
type TopFilesItem = {
  path: string;
  userId: string | null;
  spaceId: string | null;
  accesses: number;
  reads: number;
  writes: number;
  finds: number;
  lastAt: string;
};
type TopFilesQuery = {
  since?: string;
  until?: string;
  userId?: string;
  spaceId?: string;
  tool?: string;
  complete?: boolean;
  limit?: number;
};
type Topology = {
  since: string;
  until: string;
  countedFrom: string | null;
  nodes: readonly (TopologyNode)[];
  edges: readonly (TopologyEdge)[];
  omitted: number;
};
type TopologyEdge = {
  from: string;
  to: string;
  weight: number;
};
type TopologyNode = {
  id: string;
  kind: TopologyNodeKind;
  label: string;
  weight: number;
};
type TopologyNodeKind = "scope" | "actor" | "tool" | "file";
type UnfinishedRedaction = {
  id: string;
  in: UnfinishedRedactionIn;
  path: string | null;
  userId: string | null;
  spaceId: string | null;
  startedAt: string;
  reason: string;
};
type UnfinishedRedactionIn = "file" | "user" | "everywhere";
type UserHygiene = {
  userId: string | null;
  spaceId: string | null;
  filesChecked: number;
  files: number;
  counts: Record<string, number>;
  severities: HygieneReportSeverities;
};
type UserHygieneQuery = {
  q?: string;
  limit?: number;
  cursor?: string;
};
type UserListQuery = {
  q?: string;
  userId?: string;
  notShownSince?: string;
  existsSince?: string;
  sort?: UserSort;
  limit?: number;
  cursor?: string;
  order?: AccessListQueryOrder;
};
type UserSort = "userId" | "files" | "bytes" | "lastReadAt" | "lastShownAt" | "lastWriteAt" | "readsPerWrite";
type Verification = {
  scopes: number;
  files: number;
  revisions: number;
  unchained: number;
  chainedSince: string | null;
  uncovered: number;
  coveredSince: string | null;
  findings: readonly (Finding)[];
  found: number;
};
