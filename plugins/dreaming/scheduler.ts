import type { Host, PluginRuns } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import type { CircuitBreaker } from '../../core/providers/circuit-breaker.ts';
import { judgeUser, type SkipReason } from './eligibility.ts';
import { claimLease, type RenewedLease } from './lease.ts';
import { isFrozen } from './run.ts';
import type { Runs } from './runs.ts';
import type { DreamSettings, SettingsReader } from './settings.ts';
import { ownerOf } from '../../core/plugin.ts';

/** How often the settings are read, so that a shortened interval counts soon. */
const LOOK_MS = 15_000;
/** The share by which intervals differ, so that instances started together do not tick together. */
const JITTER = 0.1;
const FIRST_MS = 60_000;
const TICK_LEASE = 'dream-tick';
const PAGE = 200;

/** The result of a tick. */
export interface TickReport {
  /** Why the tick looked at no user; `null` if it did. */
  skipped: 'disabled' | 'another_instance' | 'model_not_configured' | null;
  /** Users with changes. */
  changed: number;
  /** Runs that were begun. */
  runs: number;
  /** Users with changes for whom no run began, by reason. */
  reasons: Partial<Record<SkipReason, number>>;
}

/** Begins runs of the users that are due, at every tick. */
export interface Scheduler {
  start(): void;
  /** Ticks now, and resolves when all its runs have ended. One tick at a time. */
  tick(): Promise<TickReport>;
  isStarted(): boolean;
  stop(): Promise<void>;
}

/** Makes a scheduler; nothing runs before `start`. */
export function createScheduler(deps: {
  host: Host;
  dreams: PluginRuns;
  settings: SettingsReader;
  runs: Runs;
  breaker: CircuitBreaker;
}): Scheduler {
  const { host, dreams, runs, breaker } = deps;
  let timer: NodeJS.Timeout | null = null;
  let isStarted = false;
  let isStopping = false;
  let ticking: Promise<TickReport> | null = null;
  let dueAt = 0;
  let isStandingBy = false;

  async function look(): Promise<void> {
    if (host.now() < dueAt) return;
    const { dream_interval_minutes: minutes } = await deps.settings.read();
    dueAt = host.now() + minutes * 60_000 * (1 - JITTER + 2 * JITTER * Math.random());
    nextInterval = minutes;
    await tick();
  }

  let nextInterval = 0;

  /** Moves the next tick forward if the interval was shortened since the last one. */
  async function adjust(): Promise<void> {
    const { dream_interval_minutes: minutes } = await deps.settings.read();
    if (minutes >= nextInterval) return;
    dueAt = Math.min(dueAt, host.now() + minutes * 60_000);
    nextInterval = minutes;
  }

  function schedule(delay: number): void {
    if (isStopping) return;
    timer = setTimeout(() => {
      adjust()
        .then(look)
        .catch((error: unknown) => {
          host.log.warn({ code: toMemoryError(error).code }, 'a dream tick failed');
        })
        .finally(() => schedule(LOOK_MS));
    }, delay);
    timer.unref();
  }

  function tick(): Promise<TickReport> {
    ticking ??= runTick().finally(() => {
      ticking = null;
    });
    return ticking;
  }

  async function runTick(): Promise<TickReport> {
    const report: TickReport = { skipped: null, changed: 0, runs: 0, reasons: {} };
    const settings = await deps.settings.read();
    await runs.recover(settings.dream_waiting_days);
    if (!settings.dream_enabled) {
      host.log.info({}, 'dreaming is switched off: nothing is dreamed');
      return { ...report, skipped: 'disabled' };
    }
    if (host.models.model === null) {
      host.log.info({}, 'no model is configured: nothing is dreamed');
      return { ...report, skipped: 'model_not_configured' };
    }
    // One instance at a time goes through the users, so that its limit of runs is the limit of all.
    const lease = await claimLease(host, TICK_LEASE, {
      // The longest step is the run of one user.
      patienceMs: settings.dream_run_timeout_seconds * 1_000,
    });
    if (lease === null) {
      if (!isStandingBy) host.log.info({}, 'another instance looks for users to dream of');
      isStandingBy = true;
      return { ...report, skipped: 'another_instance' };
    }
    isStandingBy = false;
    try {
      await Promise.race([dreamAll(settings, report, lease), failWhenLost(lease)]);
    } finally {
      await lease.release();
    }
    if (report.runs === 0) {
      const { changed, reasons } = report;
      host.log.info({ changed, reasons }, 'no user is to be dreamed: the tick is skipped');
    } else {
      host.log.info({ ...report }, 'a dream tick ended');
    }
    return report;
  }

  async function dreamAll(
    settings: DreamSettings,
    report: TickReport,
    { signal: lost, noteProgress }: RenewedLease,
  ): Promise<void> {
    const running = new Set<Promise<void>>();
    let after: ScopeKey | null = null;
    do {
      const users: Awaited<ReturnType<PluginRuns['changedUsers']>> = await dreams.changedUsers({
        after,
        limit: PAGE,
      });
      noteProgress();
      for (const user of users) {
        if (isStopping || lost.aborted) break;
        report.changed += 1;
        // Judged for each user, since the model may have begun to fail meanwhile.
        const reason = judgeUser(user, {
          settings,
          now: host.now(),
          hasModel: true,
          isModelResting: breaker.pauseMs > 0,
          isFrozen: (userId) => isFrozen(host, userId),
        });
        if (reason !== null) {
          report.reasons[reason] = (report.reasons[reason] ?? 0) + 1;
          continue;
        }
        const work: Promise<void> = dreamOne(ownerOf(user.scope), settings, report).finally(() => {
          noteProgress();
          running.delete(work);
        });
        running.add(work);
        if (running.size >= settings.dream_concurrency) await Promise.race(running);
      }
      after = users.length < PAGE ? null : (users.at(-1)?.scope ?? null);
    } while (after !== null && !isStopping && !lost.aborted);
    await Promise.all(running);
  }

  async function dreamOne(
    userId: string,
    settings: DreamSettings,
    report: TickReport,
  ): Promise<void> {
    try {
      const run = await runs.schedule(userId, settings);
      if (run === null) report.reasons.in_flight = (report.reasons.in_flight ?? 0) + 1;
      else report.runs += 1;
    } catch (error) {
      host.log.warn({ code: toMemoryError(error).code }, 'a dream run could not begin');
    }
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      dueAt = host.now();
      schedule(FIRST_MS * (0.5 + Math.random() / 2));
    },
    tick,
    isStarted: () => isStarted,
    async stop() {
      isStopping = true;
      if (timer !== null) clearTimeout(timer);
      await ticking?.catch(() => undefined);
    },
  };
}

/** Rejects once the lease is lost, so that the next tick need not wait for work that hangs. */
async function failWhenLost({ signal }: RenewedLease): Promise<never> {
  return await new Promise((_resolve, reject) => {
    const fail = () =>
      reject(
        new MemoryError('RUN_STATE', 'The lease of the tick was lost.', {
          details: { reason: 'lease_lost' },
        }),
      );
    signal.addEventListener('abort', fail, { once: true });
  });
}
