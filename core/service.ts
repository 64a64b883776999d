import { randomBytes } from 'node:crypto';
import { type Archive, createArchive } from './archive/archive.ts';
import { createClock } from './time/clock.ts';
import { type MemoryServiceConfig, toSettings } from './config/service.ts';
import type { Settings } from './config/settings.ts';
import type { EmbeddingProgress } from './contracts/admin.ts';
import type { Logger, Plugin } from './contracts/plugin.ts';
import type { RouteDefinition } from './contracts/route.ts';
import type { Storage } from './contracts/storage.ts';
import type { MemoryServices, ToolDefinition } from './contracts/tool.ts';
import { MemoryError, notRun, notStarted, toMemoryError } from './errors.ts';
import { createPluginHost, type PluginHooks } from './host/host.ts';
import { type AccessLog, createAccessLog } from './telemetry/access-log.ts';
import { createContext } from './subagents/context.ts';
import { unifiedDiff } from './history/delta/unified-diff.ts';
import { createEmbedding } from './search/embedding/embedding.ts';
import {
  createEmbeddingWorker,
  type EmbeddingWorker,
} from './search/embedding/embedding-worker.ts';
import type { AdminCaller } from './files/admin-files.ts';
import { createContentSearch } from './files/content-search.ts';
import { createFileLists, type FileLists } from './files/file-lists.ts';
import { createFiles, type Files } from './files/files.ts';
import { toUserId } from './files/paths.ts';
import { createIdempotency } from './files/idempotency.ts';
import { createFind } from './search/find.ts';
import { presentFiles } from './search/memory-files.ts';
import { createIdSource } from './ids/ids.ts';
import { createIndexer, type Indexer } from './search/index/indexer.ts';
import { createSearchCaches } from './search/search-caches.ts';
import { checkInTime, type GuardedModel, guardModel } from './subagents/guarded-model.ts';
import { createProviderHealth, type HealthState } from './providers/provider-health.ts';
import { createModel } from './subagents/model.ts';
import { createEventStreams, type EventStreams } from './telemetry/events/event-stream.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { observationsOf } from './telemetry/events/observation-store.ts';
import { createObservability, type Observability } from './telemetry/observability.ts';
import { createRollUp } from './telemetry/rollups/rollups.ts';
import { reembed } from './maintenance/reembed.ts';
import { createReindex } from './maintenance/reindex.ts';
import { createRemember, type RememberDependencies } from './subagents/remember.ts';
import { createFiling, type Filing } from './subagents/remember/filing.ts';
import { removeAllLeftovers } from './maintenance/leftovers.ts';
import { createRetention } from './maintenance/retention.ts';
import { createErasures, type Erasures } from './erase/erase.ts';
import { createRewriter, type Rewriter } from './erase/rewriter.ts';
import { createRestores, type Restores } from './history/restore.ts';
import { createRevisions, type Revisions } from './history/revisions.ts';
import { createSearch } from './search/search.ts';
import { createLineTimes } from './search/time/line-times.ts';
import { createReadAt } from './search/time/read-at.ts';
import { assertSchema } from './schemas/validate.ts';
import { checkStorageContract } from './host/storage-contract.ts';
import { createTraces, type Traces } from './telemetry/traces.ts';
import { createAccessQueue, type AccessQueue } from './telemetry/access-queue.ts';
import { createWriteHealth, type WriteHealth } from './files/write-health.ts';
import { memoryContext } from './tools/memory_context.ts';
import { memoryDelete } from './tools/memory_delete.ts';
import { memoryFind } from './tools/memory_find.ts';
import { memoryList } from './tools/memory_list.ts';
import { memoryMove } from './tools/memory_move.ts';
import { memoryPatch } from './tools/memory_patch.ts';
import { memoryRead } from './tools/memory_read.ts';
import { memoryRemember } from './tools/memory_remember.ts';
import { memoryWrite } from './tools/memory_write.ts';
import { createTools, type Tools } from './tools/run-tool.ts';
import { createExporters, type ExporterState } from './telemetry/exporters.ts';
import { readInstallationKey } from './telemetry/installation-key.ts';
import { findPackageRoot } from './packages/package-root.ts';

/** Where the service is in its life. */
export type CoreState = 'created' | 'starting' | 'ready' | 'closing' | 'closed';

/** The service without HTTP: what routes, adapters and plugins work on. */
export interface Core {
  readonly settings: Settings;
  readonly storage: Storage;
  readonly log: Logger;
  readonly startedAt: number;
  readonly tools: Tools;
  readonly files: Files;
  readonly fileLists: FileLists;
  readonly searchContents: ReturnType<typeof createContentSearch>;
  readonly revisions: Revisions;
  readonly restores: Restores;
  readonly erasures: Erasures;
  readonly rewriter: Rewriter;
  readonly archive: Archive;
  readonly accessLog: AccessLog;
  readonly traces: Traces;
  readonly observability: Observability;
  readonly eventStreams: EventStreams;
  readonly metrics: Metrics;
  readonly queue: AccessQueue;
  readonly writeHealth: WriteHealth;
  readonly indexer: Indexer;
  readonly filing: Filing;
  readonly reindex: ReturnType<typeof createReindex>;
  /** `null` where no embedder is configured, or the storage keeps no vectors. */
  readonly embeddings: EmbeddingWorker | null;
  /** See `reembed.ts`. */
  reembed(caller: AdminCaller): Promise<EmbeddingProgress>;
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
  /** Ends jobs and hooks, writes what is queued, closes storage. */
  close(): Promise<void>;
  state(): CoreState;
}

const BUILT_IN: readonly ToolDefinition[] = [
  memoryList,
  memoryRead,
  memoryWrite,
  memoryPatch,
  memoryFind,
  memoryContext,
  memoryRemember,
  memoryDelete,
  memoryMove,
] as ToolDefinition[];

/** A user may have asked to forget: without `tools.history`, no tool knows `asOf`. */
function withoutHistory(definition: ToolDefinition): ToolDefinition {
  const { properties, ...schema } = definition.inputSchema as { properties?: object };
  if (properties === undefined || !('asOf' in properties)) return definition;
  const { asOf: _asOf, ...others } = properties as Record<string, unknown>;
  return { ...definition, inputSchema: { ...schema, properties: others } };
}

const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** How a service starts. */
export interface StartOptions {
  /**
   * Asks the models once, in the background and as cheaply as their protocols allow, whether they
   * answer: the status says so, and the log where one does not. Default: they are not asked.
   */
  checkModels?: boolean;
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
export function createCore(config: MemoryServiceConfig, options: CoreOptions = {}): Core {
  const settings = toSettings(config);
  const { storage } = config;
  const log = config.log ?? SILENT;
  const { now, confirmedNow } = createClock({
    now: config.now ?? Date.now,
    ticks: options.ticks ?? config.now ?? (() => performance.now()),
    log,
  });
  const ids = createIdSource(now);
  const exporters = createExporters(config.exporters ?? [], {
    config: storage.config,
    log,
    version: findPackageRoot().version,
  });
  const pluginRoutes: RouteDefinition[] = [];
  const writeHealth = createWriteHealth(storage);
  const queue = createAccessQueue({
    store: storage.log,
    health: writeHealth,
    exporters: exporters.active,
    log,
    rollUp: createRollUp(ids.next()),
    onWritten(events) {
      metrics.count(events);
      eventStreams.wake();
    },
  });
  const eventStreams = createEventStreams({ store: observationsOf(storage), now, log });
  const metrics = createMetrics({
    queues: () => queue.counters(),
    streams: () => eventStreams.counters(),
    filesBehind: () => storage.files.countBehind(),
    writesFail: async () => (await writeHealth.check()).status === 'failing',
    exporters: () => exporters.describe(),
  });
  const { embedder = null, model: ownModel = null, verifier: ownVerifier = null } = config;
  const follow = (
    provider: { name: string; model: string } | null,
    words: { name: string; effect?: string },
  ) => createProviderHealth({ ...words, provider: provider ?? NO_PROVIDER, now, log });
  const health = {
    model: follow(ownModel, { name: 'the model' }),
    verifier: follow(ownVerifier, { name: 'the verifier' }),
    embedder: follow(embedder, { name: 'the embedder', effect: 'finds use words only' }),
  };
  const { vectors } = storage;
  const embedding =
    embedder === null || vectors === undefined
      ? null
      : createEmbedding(embedder, {
          questionMs: settings.search.embedTimeoutMs,
          health: health.embedder,
        });
  const caches = createSearchCaches({ listsPassages: embedding !== null });
  const indexer = createIndexer({
    store: storage.index,
    log,
    caches,
    onUpdate: (scopes) => embeddings?.wake(scopes),
  });
  const embeddings =
    embedding === null || vectors === undefined
      ? null
      : createEmbeddingWorker({
          ...{ embedding, vectors, indexer, log },
          ...{ index: storage.index, config: storage.config },
        });
  const files: Files = createFiles({
    storage,
    limits: settings.limits,
    sharedWrites: settings.sharedWrites,
    now,
    confirmedNow,
    ids,
    accessQueue: queue,
    indexer,
    health: writeHealth,
  });
  const idempotency = createIdempotency({ storage, now, confirmedNow });
  const rewriter = createRewriter({ storage, ids, log, now });
  const revisions = createRevisions({ storage, files, ids, accessQueue: queue, now, rewriter });
  const restores = createRestores({ storage, files, revisions, log, now });
  const erasures = createErasures({
    ...{ storage, ids, accessQueue: queue, rewriter, log, now },
    lookMs: options.erasureLookMs,
  });
  const lineTimes = createLineTimes(revisions);
  const { timeZone } = settings;
  const search = {
    search: createSearch({ index: storage.index, indexer, caches }),
    files: presentFiles({ files: storage.files, index: storage.index }),
    ids,
    accessQueue: queue,
    ...{ revisions, lineTimes, timeZone, now },
    hybrid:
      embedding === null || embeddings === null
        ? null
        : { embedding, use: () => embeddings.use(), weights: settings.search },
  };
  const provider = ownModel === null ? null : guardModel(ownModel, health.model);
  const model = provider === null ? null : createModel(provider);
  const verifier = ownVerifier === null ? null : guardModel(ownVerifier, health.verifier);
  let readKey: Promise<Buffer> | null = null;
  const fenceKey = () =>
    (readKey ??= readInstallationKey(storage.config, 'service_fence_key').catch(
      (error: unknown) => {
        readKey = null;
        const { code } = toMemoryError(error);
        if (code !== 'STORAGE_FULL' && code !== 'STORAGE_UNAVAILABLE') throw error;
        // Reads go on while nothing can be written. Marks of a key for one call are as safe, but no
        // provider has cached a prompt with them.
        return randomBytes(32);
      },
    ));
  const remember: RememberDependencies | null =
    model === null
      ? null
      : {
          ...{ files, storage, idempotency, revisions, search, model, now, fenceKey, timeZone },
          verifier: verifier === null ? model : createModel(verifier),
          maxFileBytes: settings.limits.maxFileBytes,
          inboxPath: settings.inboxPath,
          replyTokens: settings.replyTokens,
        };
  const filing = createFiling({
    ...{ remember, storage, ids, log, now },
    record: (event) => queue.event(event),
    checkUser: (userId) => erasures.check(userId),
  });
  const services: MemoryServices = {
    files,
    history: createReadAt({ revisions, ids, accessQueue: queue, now }),
    find: createFind(search),
    context: createContext({
      ...{ search, model, now, fenceKey, lineTimes, timeZone },
      replyTokens: settings.replyTokens,
      isFilled: settings.context.fill,
    }),
    remember: remember === null ? null : createRemember(remember, filing),
  };
  const retention = createRetention({
    storage,
    settings: settings.retention,
    now: confirmedNow,
    ids,
    log,
  });

  let state: CoreState = 'created';
  let opening: Promise<void> | null = null;
  let closing: Promise<void> | null = null;
  let isStorageOpen = false;
  let isStarted = false;
  const stopping = new AbortController();
  /** What the start waits for, where it is not the database. */
  let waitsFor: string | null = null;
  const hooks: PluginHooks[] = [];
  let plugins: readonly Plugin[] | null = null;

  function ready(): Promise<void> {
    if (state === 'ready') return READY;
    if (closing !== null) {
      return Promise.reject(new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 }));
    }
    opening ??= open()
      .catch((error: unknown) => {
        opening = null;
        if (closing === null) state = 'created';
        throw error;
      })
      .finally(() => {
        waitsFor = null;
      });
    return opening;
  }

  function lateStart(): MemoryError {
    return waitsFor === null ? notRun() : notStarted(waitsFor);
  }

  async function open(): Promise<void> {
    state = 'starting';
    checkStorageContract(storage);
    if (!isStorageOpen) await storage.init({ log, now });
    isStorageOpen = true;
    await removeAllLeftovers(storage);
    await erasures.look();
    const given = config.plugins ?? [];
    plugins ??= (await options.findPlugins?.(given)) ?? given;
    for (const plugin of plugins.slice(hooks.length)) {
      waitsFor = `the plugin ${plugin.name}`;
      await setUp(plugin);
    }
    if (closing !== null) return;
    waitsFor = 'the exporters of traces';
    await exporters.open();
    waitsFor = null;
    state = 'ready';
    indexer.refresh();
    await embeddings?.begin();
    if (embedder !== null && vectors === undefined) {
      log.warn(
        { storage: storage.name },
        'the storage keeps no vectors: search goes by words alone',
      );
    }
  }

  async function setUp(plugin: Plugin): Promise<void> {
    const added: string[] = [];
    const [routes, sinks] = [pluginRoutes.length, exporters.active.length];
    const host = createPluginHost(plugin, {
      storage,
      files,
      history: {
        lineTimes: (scope, path) => revisions.lineTimes({ scope, path }),
        ofRun: (scope, runId) => revisions.ofRun(scope, runId),
        async revertRun(scope, runId, { caller, links = [] }) {
          const selection = { runId, userId: toUserId(scope) ?? '' };
          return (await revisions.revertWrites(selection, caller, links)).files;
        },
        diff: (before, after, path) => unifiedDiff(before, after, { path }),
      },
      tools,
      log,
      now,
      ids,
      record: (event) => queue.event(event),
      models: Object.freeze({
        model: provider,
        verifier: verifier ?? provider,
        embedder,
        fenceKey,
      }),
      settings: Object.freeze({
        maxFileBytes: settings.limits.maxFileBytes,
        timeZone: settings.timeZone,
        dreamEnabled: settings.dream.enabled,
      }),
      addTool(tool) {
        assertSchema(tool.inputSchema);
        tools.add(tool);
        added.push(tool.name);
      },
      addRoute: (route) => pluginRoutes.push(route),
      addExporter: (exporter) => exporters.active.push(exporter),
    });
    try {
      await host.setUp();
      if (pluginRoutes.length > routes) checkPluginRoutes(plugin);
    } catch (error) {
      // The next attempt sets it up anew: what this one added would stand in its way.
      added.forEach((name) => tools.remove(name));
      pluginRoutes.length = routes;
      exporters.active.length = sinks;
      throw error;
    }
    hooks.push(host);
  }

  function checkPluginRoutes({ name }: Plugin): void {
    try {
      options.checkRoutes?.(pluginRoutes);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MemoryError(
        'INVALID_REQUEST',
        `The routes of the plugin ${name} cannot be served. ${reason}`,
        { cause: error },
      );
    }
  }

  const tools = createTools({
    services,
    once: idempotency.once,
    ids,
    queue,
    exporters,
    log,
    rateLimit: settings.rateLimit,
    ready,
    lateStart,
    checkUser: (userId) => erasures.check(userId),
    deadlineMs: options.callDeadlineMs,
    now,
  });
  for (const definition of BUILT_IN) {
    if (definition.name === 'memory_delete' && !settings.tools.delete) continue;
    if (definition.name === 'memory_move' && !settings.tools.move) continue;
    tools.add(settings.tools.history ? definition : withoutHistory(definition));
  }

  /** Each failure is in the status and in the log. */
  function startModelChecks(): void {
    for (const [given, guarded] of [
      [ownModel, provider],
      [ownVerifier, verifier],
    ] as const) {
      // Without a check of its own, a model would have to write something each time.
      if (given?.check !== undefined)
        void checkInTime(guarded as GuardedModel, stopping.signal).catch(() => undefined);
    }
  }

  async function shutDown(): Promise<void> {
    state = 'closing';
    stopping.abort();
    eventStreams.close();
    await opening?.catch(() => undefined);
    // New calls are refused by now. Those under way leave their rows in the queue.
    await tools.drain(CLOSE_LIMIT_MS);
    await filing.stop();
    await retention.stop();
    await restores.stop();
    await erasures.stop();
    await rewriter.stop();
    await indexer.stop();
    await embeddings?.stop();
    for (const host of [...hooks].reverse()) await host.close();
    await queue.close();
    if (isStorageOpen) await storage.close();
    state = 'closed';
  }

  return {
    settings,
    storage,
    log,
    startedAt: now(),
    tools,
    files,
    fileLists: createFileLists(storage, revisions),
    searchContents: createContentSearch({ storage, ids }),
    revisions,
    restores,
    erasures,
    rewriter,
    archive: createArchive({ storage, files, revisions, limits: settings.limits, ids, now }),
    accessLog: createAccessLog(storage, queue),
    traces: createTraces(storage, queue, revisions),
    observability: createObservability({ storage, revisions, queue, sla: settings.sla, now }),
    eventStreams,
    metrics,
    queue,
    writeHealth,
    indexer,
    filing,
    reindex: createReindex({ storage, indexer, ids, log }),
    embeddings,
    reembed: (caller) => reembed({ storage, worker: embeddings, ids }, caller),
    parts: {
      model: ownModel?.model ?? null,
      verifier: ownVerifier?.model ?? null,
      embedder: embedder?.model ?? null,
      health: (part) => health[part].state(),
      exporters: () => exporters.describe(),
    },
    pluginRoutes,
    now,
    confirmedNow,
    ready,
    lateStart,
    async start({ checkModels = false } = {}) {
      await ready();
      if (isStarted) return;
      isStarted = true;
      if (checkModels) startModelChecks();
      retention.start();
      restores.start();
      erasures.start();
      filing.start();
      await rewriter.start();
      for (const host of hooks) await host.start();
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
    state: () => state,
  };
}

const NO_PROVIDER = { name: '', model: '' };

/** What calls under way may take once the service is closed. */
const CLOSE_LIMIT_MS = 25_000;

const READY = Promise.resolve();
