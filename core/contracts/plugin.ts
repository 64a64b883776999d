import type { Embedder } from './embedder.ts';
import type { ModelProvider } from './model-provider.ts';
import type { FileState, ScopeKey, UserListing } from './records.ts';
import type { RouteDefinition } from './route.ts';
import type { Guard } from './storage.ts';
import type { JsonSchema, ToolDefinition, ToolRunner, WriteResult } from './tool.ts';
import type { TraceExporter } from './trace-exporter.ts';

/** Structured logs: fields first, then a fixed message. */
export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/**
 * An extension of the service. Plugins are trusted code of the operator's: they run in the
 * process, but write only through `host.write`, by the rules that hold for all.
 *
 * @example
 * export const greeter = (): Plugin => ({
 *   name: 'greeter',
 *   apiVersion: 1,
 *   setup(host) {
 *     host.onStart(() => host.log.info({}, 'hello'));
 *   },
 * });
 */
export interface Plugin {
  name: string;
  apiVersion: 1;
  /** Validated against `optionsSchema` before `setup`. */
  options?: unknown;
  optionsSchema?: JsonSchema;
  /** Called once, before anything is served. Throwing stops the start. */
  setup(host: Host): void | Promise<void>;
}

/** What a plugin receives. */
export interface Host {
  readonly log: Logger;
  /** The service's clock, milliseconds. */
  now(): number;
  /** `null` when none is configured. */
  readonly model: ModelProvider | null;
  readonly embedder: Embedder | null;
  /** Reads that leave no access row; a plugin that reads for an agent uses `tools`. */
  readonly memory: ReadOnlyMemory;
  /** The tools, as any caller has them: traced and logged. */
  readonly tools: ToolRunner;
  readonly config: PluginConfig;
  /**
   * Writes one file by the one write path. `guards` are checked and counted in the write's own
   * transaction. The actor may be a reserved one.
   */
  write(change: HostWrite, options: HostWriteOptions): Promise<WriteResult>;
  /** Claims a lease by the database's clock; `null` while another holder has it. */
  lease(name: string, options: { ttlMs: number }): Promise<Lease | null>;
  addTool(tool: ToolDefinition): void;
  addRoute(route: RouteDefinition): void;
  addExporter(exporter: TraceExporter): void;
  /** Runs at `service.start()`, at most 10 s; a failure is logged and leaves the service running. */
  onStart(hook: () => void | Promise<void>): void;
  /** Runs at `service.close()`, at most 10 s. */
  onClose(hook: () => void | Promise<void>): void;
}

/**
 * The whole new content of one file of a user; shared memory is closed to plugins unless the tools
 * may write it.
 */
export interface HostWrite {
  userId: string;
  /** Virtual. */
  path: string;
  content: string;
  reason: string;
  ifVersion?: number;
}

/** Who writes, in which run, and what must hold at that moment. */
export interface HostWriteOptions {
  actor: string;
  runId?: string;
  guards?: readonly Guard[];
}

/** A lease that was claimed: it lasts for its `ttlMs`, or until it is renewed or released. */
export interface Lease {
  /** To be passed to `host.write` as a guard. */
  readonly guard: Guard;
  /** `false` when the lease was lost: stop working. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** Reads of all users’ memory. Paths are those inside a scope. */
export interface ReadOnlyMemory {
  users(page: { after: string | null; limit: number }): Promise<readonly UserListing[]>;
  list(
    scope: ScopeKey,
    options: { prefix: string; after: string | null; limit: number },
  ): Promise<readonly { path: string; version: number; size: number; updatedAt: number }[]>;
  /** A file that exists, by its path inside the scope. */
  read(scope: ScopeKey, path: string): Promise<FileState | null>;
}

/** Settings of the plugin's own prefix in `svc_config`. */
export interface PluginConfig {
  entries(prefix: string): Promise<Record<string, unknown>>;
  set(entries: Record<string, unknown>): Promise<void>;
}
