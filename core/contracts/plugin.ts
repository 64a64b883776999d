import type { RunCurrent, RunDecision, RunRecord, RunStore, RunUpdateRequest } from './runs.ts';
import type { AuditCaller } from './access.ts';
import type { Embedder } from './embedder.ts';
import type { Logger } from './logger.ts';
import type { ModelProvider } from './model-provider.ts';
import type {
  FileState,
  LineRange,
  RevisionRecord,
  ScopeKey,
  SpanAttributes,
  UserListing,
} from './records.ts';
import type { RevertedFile, RevertRequest } from './admin.ts';
import type { RouteDefinition } from './route.ts';
import type { Screener } from './screener.ts';
import type { HostStores } from './stores.ts';
import type { Guard, SettingCounter } from './storage.ts';
import type { JsonSchema, ToolDefinition, ToolRunner, Trace, WriteResult } from './tool.ts';
import type { TraceExporter } from './trace-exporter.ts';

export type { AuditCaller } from './access.ts';
export type { Logger } from './logger.ts';

/**
 * An extension of the service. Plugins are trusted code: they run in the process, and write only
 * through `host.write`, by the rules that hold for everyone.
 *
 * @example
 * export const greeter = (): Plugin => ({
 *   name: 'greeter',
 *   apiVersion: 2,
 *   setup: (host) => ({ start: () => host.log.info({}, 'hello') }),
 * });
 */
export interface Plugin {
  name: string;
  apiVersion: 2;
  /** Validated against `optionsSchema` before `setup`. */
  options?: unknown;
  optionsSchema?: JsonSchema;
  /**
   * Called once, before anything is served, and returns what the plugin adds. Throwing stops the
   * start.
   */
  setup(host: Host): PluginParts | void | Promise<PluginParts | void>;
}

/** What a plugin adds to the service. */
export interface PluginParts {
  tools?: readonly ToolDefinition[];
  routes?: readonly RouteDefinition[];
  exporters?: readonly TraceExporter[];
  /** Detectors of what must not be stored. */
  screeners?: readonly Screener[];
  /** Runs at `service.start()`, at most 10 s; a failure is logged and leaves the service running. */
  start?(): void | Promise<void>;
  /** Runs at `service.close()`, at most 10 s. */
  close?(): void | Promise<void>;
}

/** What a plugin receives. */
export interface Host {
  readonly log: Logger;
  /** The service's clock, milliseconds. */
  now(): number;
  readonly settings: HostSettings;
  readonly models: HostModels;
  /** Reads that leave no access row; a plugin that reads for an agent uses `tools`. */
  readonly memory: HostMemory;
  /**
   * Writes files of one user or space by the one write path, in one transaction: all of them or none.
   * `guards` are checked and counted in that transaction. The actor may be a reserved one.
   */
  write(changes: readonly HostWrite[], options: HostWriteOptions): Promise<readonly WriteResult[]>;
  /** The tools, traced and logged as for any caller. */
  readonly tools: ToolRunner;
  /** The spaces as stores of files with an identity. */
  readonly stores: HostStores;
  /** The store of runs; `null` when the storage has none. */
  readonly runs: PluginRuns | null;
  /**
   * Begins the record of a run. When it is finished, it becomes an observation event with its
   * spans, as a tool call does.
   */
  trace(run: TracedRun): RunTrace;
  readonly config: PluginConfig;
  /** Claims a lease by the database's clock; `null` while another holder has it. */
  lease(name: string, options: { ttlMs: number }): Promise<Lease | null>;
}

/** The models of the service, each `null` where none is configured. */
export interface HostModels {
  /** Its replies are checked, and a signal ends each call. */
  readonly model: ModelProvider | null;
  /** Judges what the model proposes: the same model unless another one is configured. */
  readonly verifier: ModelProvider | null;
  readonly embedder: Embedder | null;
  /** The key of the marks around memory in prompts: the same for all instances. */
  fenceKey(): Promise<Buffer>;
  /** How the models are asked, and what their exam says of them. */
  standing(): Promise<ModelStanding>;
}

/** The prompts of a model. */
export interface PromptUse {
  /** `short`: without the examples and rules that a small model can't follow. */
  form: 'full' | 'short';
  /** Tokens of a prompt and its reply together; `null` if nobody knows. */
  contextTokens: number | null;
}

/** How the models are asked, and what their exam says of them: `null` without one. */
export interface ModelStanding {
  model: PromptUse;
  verifier: PromptUse;
  /** Whether the model passed at filing facts. */
  files: boolean | null;
  /** Whether the verifier passed at judging edits. One that failed is not asked. */
  judges: boolean | null;
}

/**
 * The whole new content of one file of a user or a space; shared memory is closed to plugins unless the
 * tools may write it.
 */
export interface HostWrite {
  /** Of the user or the space. */
  scope: ScopeKey;
  /** Virtual. */
  path: string;
  /** `null` deletes it, where the write undoes an earlier one. */
  content: string | null;
  reason: string;
  ifVersion?: number;
  /** Other files of that memory that must be at these versions at that moment; 0 must not exist. */
  requires?: readonly { path: string; version: number }[];
  /**
   * Puts back the content from before a run: its revision is a `revert`, and does not make the user
   * due for dreaming.
   */
  isRevert?: boolean;
}

/** What a plugin sees of the service's settings. */
export interface HostSettings {
  readonly maxFileBytes: number;
  /** Of users whose callers name none, as in `Europe/Berlin`. */
  readonly timeZone: string;
  /** Whether the operator wants dreams to be scheduled from the start on. */
  readonly dreamEnabled: boolean;
  /** Whether spaces are served as memory stores. */
  readonly memoryStores: boolean;
  /** Where clients of MCP learn how to get a token; `null` if it is not configured. */
  readonly mcpResourceMetadata: string | null;
}

/** A file that a plugin showed to a model. The path is that inside the scope. */
export interface ReadFile {
  scope: ScopeKey;
  path: string;
  fileNo: number;
  revisionId: string;
  /** The version and the lines that were shown; unknown where they are absent. */
  version?: number;
  lines?: readonly LineRange[];
}

/** Work of a plugin outside of tool calls. */
export interface TracedRun {
  /** What is done: 1 to 64 of `a-z . _ -`, the first a letter. */
  name: string;
  /** A UUIDv7, from `runs.newId`: it takes the place of a tool call's id. */
  runId: string;
  /** Whose memory it is about. */
  scope: ScopeKey;
  actor: string;
}

/** The record of a run while it lasts. Spans that end after it are left out. */
export interface RunTrace extends Trace {
  readonly traceId: string;
  /** Ends the run and records it; an error gives its code, and its reason where a provider failed. The first call counts. */
  finish(error: unknown, attributes?: SpanAttributes): void;
}

/** Who writes, in which run, and what must hold at that moment. */
export interface HostWriteOptions {
  actor: string;
  /**
   * The tool that does what this write does, named by its revision and access row: `memory_patch`
   * for an edit of a part, `memory_write` for a whole file. Without it they name none.
   */
  tool?: 'memory_patch' | 'memory_write';
  runId?: string;
  /** Takes the phases of the write, and is named by its revision. */
  trace?: Trace;
  guards?: readonly Guard[];
  /** An operator decided on this very write: it goes on while writes are frozen, as reverts do. */
  isOperators?: boolean;
  /**
   * The other rows of the same transaction: changes the plugin's run with `runId`, and what the
   * plugin keeps of the user. It gets what the write made, and the rows as they are under their lock;
   * it is synchronous and pure, and may be called again. What it throws leaves everything as it was.
   */
  with?(written: readonly WriteResult[], current: RunCurrent): RunChange;
}

/** New rows of a run, with the facts of an audit row; an absent member changes nothing. */
export type RunChange = Omit<RunDecision<unknown, AuditFacts>, 'result'>;

/** A lease that was claimed: it lasts for its `ttlMs`, or until it is renewed or released. */
export interface Lease {
  /** To be passed to `host.write` as a guard, and to `runs.update` as its lease. */
  readonly guard: Extract<Guard, { kind: 'lease' }>;
  /** `false` when the lease was lost: stop working. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** Reads of all users’ memory. Paths are those inside a scope. */
export interface HostMemory {
  users(page: { after: string | null; limit: number }): Promise<readonly UserListing[]>;
  list(
    scope: ScopeKey,
    options: { prefix: string; after: string | null; limit: number },
  ): Promise<readonly { path: string; version: number; size: number; updatedAt: number }[]>;
  /** A file that exists, by its path inside the scope. */
  read(scope: ScopeKey, path: string): Promise<FileState | null>;
  /**
   * Throws `WRITES_FROZEN` while an operator has stopped the writes of an actor for a user or a space: to
   * be asked before work that would end in a write. The write itself checks it again.
   */
  checkWrites(write: { scope: ScopeKey; actor: string }): void;
  readonly history: PluginHistory;
  /** Begins to try changes of one memory against the stored checks; `null` where none is about it. */
  tryChecks(scope: ScopeKey): Promise<CheckTrial | null>;
  /** Leaves an access row for each file that was read in a run: it names `memory_read`. */
  logReads(
    files: readonly ReadFile[],
    options: { actor: string; runId: string; trace?: Trace },
  ): Promise<void>;
}

/** Tries changes of one memory against the stored checks, and writes nothing. */
export interface CheckTrial {
  /**
   * The names of the checks that would fail with these contents of files, and pass without them. Paths are those
   * inside the scope; a file that is not there is left out.
   */
  turnedRed(changes: readonly { path: string; content: string }[]): Promise<readonly string[]>;
}

/** Settings of the plugin's own prefix in `svc_config`. */
export interface PluginConfig {
  /** A value that is not valid JSON is `undefined`. */
  entries(prefix: string): Promise<Record<string, unknown>>;
  /**
   * Sets all of them or none; audited, with the caller if it is known. A counter is a setting of the plugin
   * that counts these changes. With one, `set` throws `VERSION_CONFLICT` if the count is not `expected`. The
   * details of that error say who changed the settings last, and when.
   */
  set(
    entries: Record<string, unknown>,
    caller?: AuditCaller,
    counter?: SettingCounter,
  ): Promise<void>;
}

/** What changed in memory files, and when. */
export interface PluginHistory {
  /** When each line of a file was written, in milliseconds, as far back as its revisions tell. */
  lineTimes(scope: ScopeKey, path: string): Promise<{ version: number; times: readonly number[] }>;
  /**
   * What a run wrote in the memory of one scope: its revisions, oldest first, with the contents that
   * are still kept. Imports keep run ids, so other scopes may have revisions of the same run.
   */
  ofRun(scope: ScopeKey, runId: string): Promise<readonly RunRevision[]>;
  /**
   * Takes all that a run wrote out of one memory, file by file, and keeps what was written since; the answer
   * lists the conflicts. Of `links`, `to` took lines from `from`, and stays while `from` does. Audited, with
   * the caller. Paths are physical.
   *
   * It may take several transactions. Where one fails, it can be asked for again: files that are
   * reverted already are `unchanged` then.
   */
  revertRun(
    scope: ScopeKey,
    runId: string,
    options: RevertRunOptions,
  ): Promise<readonly RevertedFile[]>;
  /**
   * Where a file of a scope is now that stood at a path, and lines of it: they are followed from a version
   * or, without it, a time in milliseconds, through the recorded changes and moves of the file, and through
   * calls that carried them to another file. A line has a number from 1, or a text, or both. `lines` of the
   * answer are in the same order; `null` for one that is gone, or in other memory. Where a call carried a
   * line to, its number is `null`.
   */
  follow(
    scope: ScopeKey,
    path: string,
    options: {
      version: number | null;
      since: number;
      lines: readonly { line: number | null; text: string | null }[];
    },
  ): Promise<{ path: string; lines: readonly ({ path: string; line: number | null } | null)[] }>;
  /** A unified diff; `null` stands for a file that is not there. */
  diff(before: string | null, after: string | null, path: string): string;
}

/** How a run is reverted. */
export interface RevertRunOptions {
  caller: AuditCaller;
  links?: readonly { from: string; to: string }[];
  /** Files that are left as they are. */
  except?: readonly string[];
  /** What is done where others changed the same lines since; by default they stay. */
  onConflict?: RevertRequest['onConflict'] | undefined;
  resolutions?: RevertRequest['resolutions'] | undefined;
  /** Must hold when the last files are written. */
  lease?: Lease['guard'];
  /**
   * Changes the plugin's run in the transaction that writes the last files, as `with` of a write does.
   * `files` has the outcome of every file.
   */
  with?(files: readonly RevertedFile[], current: RunCurrent): RunChange;
}

/** A revision of a run. `contents` is `null` where they are pruned or redacted. */
export interface RunRevision {
  revision: RevisionRecord;
  contents: { before: string | null; after: string | null } | null;
}

/**
 * The runs of this plugin, and what it keeps of users and spaces between them. It neither sees nor changes
 * those of another plugin. Runs that ended are removed with the retention of dream runs, and all of them
 * with their user or space.
 */
export interface PluginRuns extends Omit<RunStore, 'update'> {
  /** An id for a run, later than every one before it: a UUIDv7. */
  newId(): string;
  /** A new run in the state `queued`, to be changed and given to `update`. */
  create(run: Pick<RunRecord, 'id' | 'scope'>): RunRecord;
  /** The lease to hold while a run changes the memory of a user or a space: it goes with their data. */
  scopeLease(scope: ScopeKey): string;
  /** The budget of a run, for a guard: it goes with the run. */
  budget(runId: string): string;
  /** {@link RunStore.update}, with the facts of the audit row. */
  update<R>(
    request: RunUpdateRequest,
    decide: (current: RunCurrent) => RunDecision<R, AuditFacts>,
  ): Promise<R>;
}

/** The facts of an audit row. */
export interface AuditFacts {
  action: string;
  target: string;
  details: Record<string, unknown>;
  caller: AuditCaller;
}
