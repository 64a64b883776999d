import type { Embedder } from './embedder.ts';
import type { ModelProvider } from './model-provider.ts';
import type { Logger, Plugin } from './plugin.ts';
import type { Storage } from './storage.ts';
import type { TraceExporter } from './trace-exporter.ts';

/**
 * What `createMemoryService` takes. Only `storage` is required; nothing is read from the
 * environment.
 */
export interface MemoryServiceConfig {
  storage: Storage;
  model?: ModelProvider | null;
  embedder?: Embedder | null;
  exporters?: readonly TraceExporter[];
  plugins?: readonly Plugin[];
  /** Of the tools API; several while rotating. Without one it answers `TOOLS_DISABLED`. */
  apiKey?: string | readonly string[] | null;
  /** Of the admin API. Without one it answers `ADMIN_DISABLED`. */
  adminSecret?: string | null;
  /** Prefix of every route and of the console: empty, or `/memory`. */
  basePath?: string;
  /** Accepted `Host` names; `null` accepts any (the default when mounted). */
  allowedHosts?: readonly string[] | null;
  trustProxy?: boolean;
  /** Directory behind `/v1/docs`; default the bundled one. */
  docsPath?: string | null;
  limits?: Partial<Limits>;
  /** May tools write `shared/`? */
  sharedWrites?: boolean;
  /** Tool calls a minute for each user; 0 is off. */
  rateLimit?: number;
  tools?: { delete?: boolean; move?: boolean };
  search?: Partial<SearchSettings>;
  sla?: Partial<SlaSettings>;
  retention?: Partial<RetentionSettings>;
  dream?: { enabled?: boolean };
  log?: Logger;
  /** The clock, milliseconds since 1970; for tests. */
  now?: () => number;
}

/** Sizes and counts beyond which a call is refused. */
export interface Limits {
  /** Bytes of one file. */
  maxFileBytes: number;
  /** Bytes of one request body. */
  maxBodyBytes: number;
  maxFilesPerUser: number;
}

/** How a hybrid search works, where an embedder is configured. */
export interface SearchSettings {
  /** How much the ranking by words counts; 0 leaves it out. */
  textWeight: number;
  /** How much the ranking by vectors counts; 0 leaves it out. */
  vectorWeight: number;
  /** How long a find waits for the embedder before it goes by the words alone, in milliseconds. */
  embedTimeoutMs: number;
}

/** What the SLA watch allows, in milliseconds and as a share of the calls. */
export interface SlaSettings {
  p95Ms: number;
  errorRate: number;
  slowCallMs: number;
}

/** Days; 0 keeps for ever. */
export interface RetentionSettings {
  eventsDays: number;
  accessLogDays: number;
  revisionsDays: number;
  /** Of runs that have ended, by when they did. */
  dreamsDays: number;
}

/** The configuration with every default filled in. */
export interface Settings {
  apiKeys: readonly string[];
  adminSecret: string | null;
  basePath: string;
  allowedHosts: readonly string[] | null;
  trustProxy: boolean;
  docsPath: string | null;
  limits: Limits;
  sharedWrites: boolean;
  rateLimit: number;
  tools: { delete: boolean; move: boolean };
  search: SearchSettings;
  sla: SlaSettings;
  retention: RetentionSettings;
  dream: { enabled: boolean };
}
