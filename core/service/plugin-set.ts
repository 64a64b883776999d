import type { HostMemory, Plugin } from '../contracts/plugin.ts';
import type { RouteDefinition } from '../contracts/route.ts';
import type { HostStores } from '../contracts/stores.ts';
import { MemoryError } from '../errors.ts';
import { toOwner } from '../files/paths.ts';
import { unifiedDiff } from '../history/delta/unified-diff.ts';
import type { Revisions } from '../history/revisions.ts';
import { createPluginHost, type HostHistory, type PluginHooks } from '../host/host.ts';
import { assertSchema } from '../schemas/validate.ts';
import type { Exporters } from '../telemetry/exporters.ts';
import type { Tools } from '../tools/run-tool.ts';
import type { Basis } from './basis.ts';
import type { Exam } from '../subagents/exam.ts';
import type { Memory } from './memory.ts';
import type { Providers } from './providers.ts';
import type { Telemetry } from './telemetry.ts';

/** What plugins get, and where they add to. */
interface PluginSetDependencies {
  basis: Basis;
  telemetry: Pick<Telemetry, 'queue' | 'exporters' | 'knownErasures'>;
  providers: Providers;
  memory: Pick<Memory, 'files' | 'revisions'>;
  tools: Tools;
  stores: HostStores;
  fenceKey: () => Promise<Buffer>;
  exam: Pick<Exam, 'standing'>;
  tryChecks: HostMemory['tryChecks'];
  /** Finds the plugins, once. */
  find: () => Promise<readonly Plugin[]>;
  /** Throws when routes of plugins can't be served. */
  checkRoutes: (routes: readonly RouteDefinition[]) => void;
}

/** The plugins of a service, in the order in which they were given. */
export class PluginSet {
  /** Routes of all plugins that are set up. */
  readonly routes: RouteDefinition[] = [];
  readonly #deps: PluginSetDependencies;
  readonly #hooks: PluginHooks[] = [];
  #plugins: readonly Plugin[] | null = null;

  constructor(deps: PluginSetDependencies) {
    this.#deps = deps;
  }

  /** Sets up the plugins that are not set up yet. `onNext` gets the name of each before its turn. */
  async setUp(onNext: (name: string) => void): Promise<void> {
    this.#plugins ??= await this.#deps.find();
    for (const plugin of this.#plugins.slice(this.#hooks.length)) {
      onNext(plugin.name);
      await this.#setUpOne(plugin);
    }
  }

  async start(): Promise<void> {
    for (const host of this.#hooks) await host.start();
  }

  /** The last one is closed first. */
  async close(): Promise<void> {
    for (const host of [...this.#hooks].reverse()) await host.close();
  }

  async #setUpOne(plugin: Plugin): Promise<void> {
    const { basis, telemetry, providers, memory, tools, stores, fenceKey, exam } = this.#deps;
    const { storage, settings, screening, log, now, ids } = basis;
    const exporters: Exporters['active'] = telemetry.exporters.active;
    const added: string[] = [];
    const screeners: (() => void)[] = [];
    const [routes, sinks] = [this.routes.length, exporters.length];
    const host = createPluginHost(plugin, {
      storage,
      files: memory.files,
      history: toPluginHistory(memory.revisions),
      tryChecks: this.#deps.tryChecks,
      tools,
      stores,
      log,
      now,
      ids,
      record: (event) => telemetry.queue.event(event),
      latestErasure: () => telemetry.knownErasures.latest(),
      models: Object.freeze({
        model: providers.model,
        verifier: providers.verifier ?? providers.model,
        embedder: providers.embedder,
        fenceKey,
        standing: exam.standing,
      }),
      settings: Object.freeze({
        maxFileBytes: settings.limits.maxFileBytes,
        timeZone: settings.timeZone,
        dreamEnabled: settings.dream.enabled,
        memoryStores: settings.memoryStores,
        mcpResourceMetadata: settings.mcpResourceMetadata,
      }),
      addTool(tool) {
        assertSchema(tool.inputSchema);
        tools.add(tool);
        added.push(tool.name);
      },
      addRoute: (route) => this.routes.push(route),
      addExporter: (exporter) => exporters.push(exporter),
      addScreener: (screener) => screeners.push(screening.add(screener)),
    });
    try {
      await host.setUp();
      if (this.routes.length > routes) this.#checkRoutes(plugin);
    } catch (error) {
      // The next attempt sets it up anew: what this one added would stand in its way.
      added.forEach((name) => tools.remove(name));
      screeners.forEach((remove) => remove());
      this.routes.length = routes;
      exporters.length = sinks;
      throw error;
    }
    this.#hooks.push(host);
  }

  #checkRoutes({ name }: Plugin): void {
    try {
      this.#deps.checkRoutes(this.routes);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MemoryError(
        'INVALID_REQUEST',
        `The routes of the plugin ${name} cannot be served. ${reason}`,
        { cause: error },
      );
    }
  }
}

function toPluginHistory(revisions: Revisions): HostHistory {
  return {
    lineTimes: (scope, path) => revisions.lineTimes({ scope, path }),
    ofRun: (scope, runId) => revisions.ofRun(scope, runId),
    async revertRun(scope, runId, { caller, except, onConflict, resolutions, ...options }) {
      const { userId, spaceId } = toOwner(scope);
      const selection = {
        runId,
        ...(userId === null ? { spaceId: spaceId ?? '' } : { userId }),
        ...(onConflict !== undefined && { onConflict }),
        ...(resolutions !== undefined && { resolutions }),
      };
      const left = { ...options, except: new Set(except), mayBeUnknown: true };
      return (await revisions.revertWrites(selection, caller, left)).files;
    },
    async follow(scope, path, options) {
      const { file, lines } = await revisions.follow({ key: { scope, path }, ...options });
      return {
        path: file.scope === scope ? file.path : path,
        lines: lines.map((place) =>
          place?.file.scope === scope ? { path: place.file.path, line: place.line } : null,
        ),
      };
    },
    diff: (before, after, path) => unifiedDiff(before, after, { path }),
  };
}
