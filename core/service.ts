import type { CoreConfig } from './config/service.ts';
import { createExam, type Exam } from './subagents/exam.ts';
import type { Settings } from './config/settings.ts';
import { describeGiven, type ShownConfiguration } from './config/shown.ts';
import type { EmbeddingProgress } from './contracts/admin.ts';
import type { AuditCaller, Logger, Plugin } from './contracts/plugin.ts';
import type { RouteDefinition } from './contracts/route.ts';
import type { Storage } from './contracts/storage.ts';
import type { HostStores } from './contracts/stores.ts';
import type { Erasures } from './erase/erase.ts';
import type { Rewriter } from './erase/rewriter.ts';
import { MemoryError } from './errors.ts';
import type { Files } from './files/files.ts';
import type { Spaces } from './access/space-settings.ts';
import type { Freezes } from './files/freezes.ts';
import type { LogSize } from './maintenance/log-size.ts';
import type { WriteHealth } from './files/write-health.ts';
import type { Restores } from './history/restore.ts';
import type { Revisions } from './history/revisions.ts';
import { reembed } from './maintenance/reembed.ts';
import type { HealthState } from './providers/provider-health.ts';
import type { EmbeddingWorker } from './search/embedding/embedding-worker.ts';
import type { Indexer } from './search/index/indexer.ts';
import { type Access, createAccess } from './service/access.ts';
import { type AdminParts, createAdminParts } from './service/admin-parts.ts';
import { createBasis } from './service/basis.ts';
import { builtInTools } from './service/built-in-tools.ts';
import { createFenceKey } from './service/fence-key.ts';
import { type CoreState, LifeCycle, type StartOptions } from './service/life-cycle.ts';
import { createMemory } from './service/memory.ts';
import { PluginSet } from './service/plugin-set.ts';
import { createProviders } from './service/providers.ts';
import { createSearchIndex } from './service/search-index.ts';
import { createStores } from './service/stores.ts';
import { createTelemetry } from './service/telemetry.ts';
import { createToolServices } from './service/tool-services.ts';
import type { Filing } from './subagents/remember/filing.ts';
import type { AccessQueue } from './telemetry/access-queue.ts';
import type { EventStreams } from './telemetry/events/event-stream.ts';
import type { ExporterState } from './telemetry/exporters.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { createTools, type Tools } from './tools/run-tool.ts';

export type { CoreConfig, CoreState, StartOptions };

/** The service without HTTP: what routes, adapters and plugins work on. */
export interface Core extends Readonly<AdminParts> {
  readonly settings: Settings;
  /** What is set, and where it comes from. */
  readonly configuration: ShownConfiguration;
  readonly storage: Storage;
  readonly log: Logger;
  readonly startedAt: number;
  readonly tools: Tools;
  readonly files: Files;
  readonly revisions: Revisions;
  readonly restores: Restores;
  readonly erasures: Erasures;
  readonly spaces: Spaces;
  readonly stores: HostStores;
  readonly freezes: Freezes;
  readonly logSize: LogSize;
  readonly access: Access;
  readonly rewriter: Rewriter;
  readonly eventStreams: EventStreams;
  readonly metrics: Metrics;
  readonly queue: AccessQueue;
  readonly writeHealth: WriteHealth;
  readonly indexer: Indexer;
  readonly filing: Filing;
  /** `null` where no embedder is configured, or the storage keeps no vectors. */
  readonly embeddings: EmbeddingWorker | null;
  readonly exam: Exam;
  /** See `reembed.ts`. */
  reembed(caller: AuditCaller): Promise<EmbeddingProgress>;
  /** What is configured beside storage, for the status page. */
  readonly parts: {
    model: string | null;
    verifier: string | null;
    embedder: string | null;
    /** Whether each of them answers, by its latest call. */
    health(part: 'model' | 'verifier' | 'embedder'): HealthState;
    exporters(): readonly ExporterState[];
  };
  /** Routes of plugins; complete once `ready` has resolved. */
  readonly pluginRoutes: readonly RouteDefinition[];
  now(): number;
  /** The time by which old rows are removed: it follows a jump forward only after a day. */
  confirmedNow(): number;
  /** Opens storage and sets up plugins, once; a failed attempt can be made again. */
  ready(): Promise<void>;
  /** The error of a call that has waited too long for `ready`: it says what the start waits for. */
  lateStart(): MemoryError;
  /** `ready`, then the plugins' start hooks and the background jobs. */
  start(options?: StartOptions): Promise<void>;
  /** See `MemoryService.flush`. */
  flush(): Promise<void>;
  /** Ends jobs and hooks, writes what is queued, closes storage. */
  close(): Promise<void>;
  state(): CoreState;
}

/** What the surroundings of a core have a say in. */
export interface CoreOptions {
  /** Throws when routes of plugins can't be served: that stops the start, as a bad tool does. */
  checkRoutes?: (routes: readonly RouteDefinition[]) => void;
  /** Gives the plugins to be set up, from those of the configuration; default these alone. */
  findPlugins?: (given: readonly Plugin[]) => Promise<readonly Plugin[]>;
  /** Shows jumps of the clock, in milliseconds; default `performance.now`, with `config.now` that. */
  ticks?: () => number;
  /** How long a tool call may take that waits for the database alone; default 15,000. */
  callDeadlineMs?: number;
  /** How often an instance looks which users the others are erasing; default 1,000. */
  erasureLookMs?: number;
}

/** Puts the parts of a service together. Nothing is opened before `ready`. */
export function createCore(config: CoreConfig, options: CoreOptions = {}): Core {
  const basis = createBasis(config, options);
  const { exporters: givenExporters = [], plugins: given = [] } = config;
  const { erasureLookMs } = options;
  const { storage, settings, log, ids, now, confirmedNow } = basis;
  const telemetry = createTelemetry(basis, { exporters: givenExporters, erasureLookMs });
  const { queue, exporters } = telemetry;
  const providers = createProviders(basis, config);
  const index = createSearchIndex(basis, providers);
  const { indexer, embeddings } = index;
  const memory = createMemory(basis, { telemetry, indexer, erasureLookMs });
  const { files, revisions, restores, erasures, spaces, freezes, rewriter, logSize } = memory;
  const access = createAccess(basis, { ready: () => life.ready() });
  const fenceKey = createFenceKey(storage.config);
  const exam = createExam({ config: storage.config, ...providers, settings, ids, now });
  const { services, filing, unlogged } = createToolServices(basis, {
    exam,
    telemetry,
    providers,
    index,
    memory,
    fenceKey,
  });
  const tools = createTools({
    ...basis,
    ...telemetry,
    services,
    once: memory.idempotency.once,
    rateLimit: settings.rateLimit,
    countCall: (apiKey) => access.calls.take(apiKey),
    ready: () => life.ready(),
    lateStart: () => life.lateStart(),
    deadlineMs: options.callDeadlineMs,
  });
  for (const definition of builtInTools(settings.tools)) tools.add(definition);
  const stores = createStores(basis, {
    telemetry,
    memory,
    countCall: (apiKey) => access.calls.take(apiKey),
    ready: () => life.ready(),
  });
  const plugins = new PluginSet({
    basis,
    telemetry,
    providers,
    memory,
    tools,
    stores,
    fenceKey,
    exam,
    tryChecks: (scope) => adminParts.checks.tryOn(scope),
    find: async () => (await options.findPlugins?.(given)) ?? given,
    checkRoutes: (routes) => options.checkRoutes?.(routes),
  });
  const adminParts = createAdminParts(basis, {
    telemetry,
    indexer,
    embeddings,
    memory,
    unlogged,
    embedder: providers.embedder,
  });
  const { schedule } = adminParts.checks;
  const life = new LifeCycle({
    basis,
    telemetry,
    providers,
    index,
    memory,
    filing,
    access,
    tools,
    plugins,
    checks: schedule,
  });

  return {
    settings,
    configuration: config.configuration ?? describeGiven(config),
    storage,
    log,
    startedAt: now(),
    tools,
    files,
    revisions,
    restores,
    erasures,
    spaces,
    stores,
    freezes,
    logSize,
    access,
    rewriter,
    ...adminParts,
    eventStreams: telemetry.eventStreams,
    metrics: telemetry.metrics,
    queue,
    writeHealth: telemetry.writeHealth,
    indexer,
    filing,
    embeddings,
    exam,
    reembed(caller) {
      const work = () => reembed({ storage, worker: embeddings, ids }, caller);
      return embeddings === null ? work() : schedule.around(work);
    },
    parts: {
      model: providers.model?.model ?? null,
      verifier: providers.verifier?.model ?? null,
      embedder: providers.embedder?.model ?? null,
      health: (part) => providers.health[part].state(),
      exporters: () => exporters.describe(),
    },
    pluginRoutes: plugins.routes,
    now,
    confirmedNow,
    ready: () => life.ready(),
    lateStart: () => life.lateStart(),
    start: (startOptions) => life.start(startOptions),
    async flush() {
      if (await queue.flush()) return;
      throw new MemoryError('STORAGE_UNAVAILABLE', 'Queued rows could not be written yet.');
    },
    close: () => life.close(),
    state: () => life.state,
  };
}
