import { MemoryError, notRun, notStarted } from '../errors.ts';
import { removeAllLeftovers } from '../maintenance/leftovers.ts';
import type { Filing } from '../subagents/remember/filing.ts';
import type { Tools } from '../tools/run-tool.ts';
import type { Access } from './access.ts';
import type { AdminParts } from './admin-parts.ts';
import type { Basis } from './basis.ts';
import type { Memory } from './memory.ts';
import type { PluginSet } from './plugin-set.ts';
import type { Providers } from './providers.ts';
import type { SearchIndex } from './search-index.ts';
import type { Telemetry } from './telemetry.ts';

/** Where the service is in its life. */
export type CoreState = 'created' | 'starting' | 'ready' | 'closing' | 'closed';

/** How a service starts. */
export interface StartOptions {
  /**
   * Checks once, in the background, whether the models answer, with the cheapest request that each
   * protocol allows. The status shows the result, and a failure is logged. Default: no check.
   */
  checkModels?: boolean;
}

/** What is opened, started and closed. */
interface LifeCycleParts {
  basis: Basis;
  telemetry: Telemetry;
  providers: Providers;
  index: SearchIndex;
  memory: Memory;
  filing: Filing;
  access: Access;
  tools: Tools;
  plugins: PluginSet;
  checks: Pick<AdminParts['checks']['schedule'], 'start' | 'stop'>;
}

/** What calls under way may take once the service is closed. */
const CLOSE_LIMIT_MS = 25_000;

const READY = Promise.resolve();

/** Opens, starts and closes the parts of a service in their order. */
export class LifeCycle {
  readonly #parts: LifeCycleParts;
  readonly #stopping = new AbortController();
  #state: CoreState = 'created';
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #isStorageOpen = false;
  #isStarted = false;
  /** What the start waits for, where it is not the database. */
  #waitsFor: string | null = null;

  constructor(parts: LifeCycleParts) {
    this.#parts = parts;
  }

  get state(): CoreState {
    return this.#state;
  }

  /** Opens storage and sets up plugins, once; a failed attempt can be made again. */
  ready(): Promise<void> {
    if (this.#state === 'ready') return READY;
    if (this.#closing !== null) {
      return Promise.reject(new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 }));
    }
    this.#opening ??= this.#open()
      .catch((error: unknown) => {
        this.#opening = null;
        if (this.#closing === null) this.#state = 'created';
        throw error;
      })
      .finally(() => {
        this.#waitsFor = null;
      });
    return this.#opening;
  }

  /** The error of a call that has waited too long for `ready`: it says what the start waits for. */
  lateStart(): MemoryError {
    return this.#waitsFor === null ? notRun() : notStarted(this.#waitsFor);
  }

  /** `ready`, then the background jobs and the plugins' start hooks. */
  async start({ checkModels = false }: StartOptions = {}): Promise<void> {
    await this.ready();
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { providers, memory, filing, plugins, checks } = this.#parts;
    if (checkModels) providers.checkModels(this.#stopping.signal);
    memory.retention.start();
    // The start does not wait for it.
    void memory.logSize.tellOnce();
    memory.restores.start();
    memory.erasures.start();
    filing.start();
    checks.start();
    await memory.rewriter.start();
    await plugins.start();
  }

  /** Ends jobs and hooks, writes what is queued, closes storage. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  /**
   * 1. Opens storage, and looks for what an earlier process left and for users who are being erased.
   * 2. Sets up the plugins, then opens the exporters, of which plugins may have added some.
   * 3. From here on calls are run. Brings the search index up to date.
   */
  async #open(): Promise<void> {
    this.#state = 'starting';
    const { basis, telemetry, access, index, plugins } = this.#parts;
    const { storage, log, now } = basis;
    if (!this.#isStorageOpen) await storage.init({ log, now });
    this.#isStorageOpen = true;
    await removeAllLeftovers(storage);
    await telemetry.knownErasures.look();
    await access.known.look();
    await plugins.setUp((name) => (this.#waitsFor = `the plugin ${name}`));
    if (this.#closing !== null) return;
    this.#waitsFor = 'the exporters of traces';
    await telemetry.exporters.open();
    this.#waitsFor = null;
    this.#state = 'ready';
    index.indexer.refresh();
    await index.embeddings?.begin();
    this.#warnWithoutVectors();
  }

  #warnWithoutVectors(): void {
    const { basis, providers } = this.#parts;
    const { storage, log } = basis;
    if (providers.embedder === null || storage.vectors !== undefined) return;
    log.warn({ storage: storage.name }, 'the storage keeps no vectors: search goes by words alone');
  }

  /**
   * 1. Ends streams, and waits until calls under way have left their rows in the queue. New ones are
   *    refused.
   * 2. Ends the background jobs, then the plugins.
   * 3. Writes what is queued, and closes storage.
   */
  async #shutDown(): Promise<void> {
    this.#state = 'closing';
    this.#stopping.abort();
    const { basis, telemetry, access, index, memory, filing, tools, plugins, checks } = this.#parts;
    telemetry.eventStreams.close();
    await this.#opening?.catch(() => undefined);
    await tools.drain(CLOSE_LIMIT_MS);
    await filing.stop();
    await checks.stop();
    await memory.retention.stop();
    await memory.restores.stop();
    await memory.erasures.stop();
    await memory.rewriter.stop();
    await index.indexer.stop();
    await index.embeddings?.stop();
    await plugins.close();
    access.known.stop();
    if (this.#isStorageOpen) await access.calls.close();
    await telemetry.queue.close();
    if (this.#isStorageOpen) await basis.storage.close();
    this.#state = 'closed';
  }
}
