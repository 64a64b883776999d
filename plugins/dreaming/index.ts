import type { Plugin } from '../../core/contracts/plugin.ts';
import { CircuitBreaker } from '../../core/providers/circuit-breaker.ts';
import { dreamRoutes } from './routes/list.ts';
import { createRuns, type Runs } from './runs.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { TickReport } from './tick.ts';
import { createSettings } from './settings.ts';

export { PROMPT_VERSION } from './prompt.ts';
export type { TickReport } from './tick.ts';

/** What only the configuration sets. The other settings change while the service runs. */
export interface DreamingOptions {
  /** Tokens of memory that one run shows to the model, 1,000 to 500,000; default 24,000. */
  maxSnapshotTokens?: number;
}

/** Dreaming, as the service it belongs to starts it. */
export interface DreamingPlugin extends Plugin {
  /** Looks for users once, now, whether or not the scheduler was started. Throws before the setup. */
  tick(): Promise<TickReport>;
  /** Resolves when no run of this process is under way. */
  settle(): Promise<void>;
}

const SNAPSHOT_TOKENS = 24_000;
/** A model that failed five times in a row is left alone for five minutes. */
const MODEL_LIMITS = { failures: 5, firstPauseMs: 300_000, longestPauseMs: 300_000 };

/**
 * Background consolidation of users' memory, bounded by code, checked by a second model call, and
 * decided on by people where it is risky. Its scheduler starts with the service where `dream.enabled`
 * (`SERVICE_DREAM_ENABLED`) is set; its routes answer anyway. Without a dream store in the storage
 * there is no dreaming.
 *
 * @example
 * createMemoryService({ storage, model, adminSecret, plugins: [dreaming()], dream: { enabled: true } });
 */
export function dreaming(options: DreamingOptions = {}): DreamingPlugin {
  let parts: { scheduler: Scheduler; runs: Runs } | null = null;
  const running = () => {
    if (parts === null) throw new Error('Dreaming is not set up yet.');
    return parts;
  };
  return {
    name: 'dreaming',
    apiVersion: 2,
    options,
    optionsSchema: {
      type: 'object',
      properties: { maxSnapshotTokens: { type: 'integer', minimum: 1_000, maximum: 500_000 } },
      additionalProperties: false,
    },
    setup(host) {
      const { runs: dreams } = host;
      if (dreams === null) {
        host.log.warn({}, 'dreaming is disabled: this storage driver has no dream store');
        return {};
      }
      const settings = createSettings(host);
      const breaker = new CircuitBreaker({ ...MODEL_LIMITS, now: () => host.now() });
      const maxSnapshotTokens = options.maxSnapshotTokens ?? SNAPSHOT_TOKENS;
      const runs = createRuns({ host, dreams, breaker, maxSnapshotTokens });
      const scheduler = createScheduler({ host, dreams, settings, runs, breaker });
      parts = { scheduler, runs };
      const isModelResting = () => breaker.pauseMs > 0;
      const isStarted = () => scheduler.isStarted();
      const deps = { host, dreams, settings, runs, isStarted, isModelResting };
      return {
        routes: dreamRoutes(deps),
        start() {
          if (host.settings.dreamEnabled) scheduler.start();
          // The start does not wait for this: the next tick tries again what fails now.
          void runs.recover();
        },
        async close() {
          await Promise.all([scheduler.stop(), runs.stop()]);
        },
      };
    },
    tick: () => running().scheduler.tick(),
    settle: () => running().runs.waitIdle(),
  };
}
