import type { Host, PluginRuns } from '../../core/contracts/plugin.ts';
import type { RunUser } from '../../core/contracts/runs.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import type { CircuitBreaker } from '../../core/providers/circuit-breaker.ts';
import { judgeUser, type SkipReason } from './eligibility.ts';
import { claimLease, type RenewedLease } from './lease.ts';
import { isFrozen } from './run.ts';
import type { Runs } from './runs.ts';
import type { DreamSettings, SettingsReader } from './settings.ts';
import { tokensLeftOfAll } from './tokens.ts';

const TICK_LEASE = 'dream-tick';
const PAGE = 200;
/** Users of one tick: as many as are kept in memory while the others are looked at. */
const MOST_DUE = 10_000;

/** The result of a tick. */
export interface TickReport {
  /** Why the tick looked at nobody; `null` if it did. */
  skipped: 'disabled' | 'another_instance' | 'model_not_configured' | null;
  /** Users and spaces with changes. */
  changed: number;
  /** Runs that were begun. */
  runs: number;
  /** Users and spaces with changes for which no run began, by reason. */
  reasons: Partial<Record<SkipReason, number>>;
}

/** What a tick works with. */
export interface TickParts {
  host: Host;
  dreams: PluginRuns;
  settings: SettingsReader;
  runs: Runs;
  breaker: CircuitBreaker;
  /** The service stops: no further run is begun. */
  isStopping(): boolean;
}

/** Makes the work of a tick: it begins runs of the users and spaces that are due, and resolves when they have ended. */
export function createTick(parts: TickParts): () => Promise<TickReport> {
  const { host, runs } = parts;
  let isStandingBy = false;

  return async () => {
    const report: TickReport = { skipped: null, changed: 0, runs: 0, reasons: {} };
    const settings = await parts.settings.read();
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
      await Promise.race([dreamAll(parts, settings, report, lease), failWhenLost(lease)]);
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
  };
}

/** Begins runs of the users and spaces that are due, with as many at once as the settings allow. */
async function dreamAll(
  parts: TickParts,
  settings: DreamSettings,
  report: TickReport,
  lease: RenewedLease,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (const user of await findDue(parts, settings, report, lease)) {
    if (isOver(parts, lease)) break;
    const left = await tokensLeftOfAll(parts.dreams, settings, parts.host.now());
    const reason = judge(parts, settings, user, left);
    if (reason !== null) {
      countReason(report, reason);
      continue;
    }
    const work = dreamOne(parts, settings, report, user.scope).finally(() => {
      lease.noteProgress();
      running.delete(work);
    });
    running.add(work);
    if (running.size >= settings.dream_concurrency) await Promise.race(running);
  }
  await Promise.all(running);
}

/**
 * Goes through the users and spaces with changes. Returns those that are due, whose last run is the longest ago
 * first: the tokens of the day may not suffice for all. Where they are very many, the rest has its turn later.
 */
async function findDue(
  parts: TickParts,
  settings: DreamSettings,
  report: TickReport,
  lease: RenewedLease,
): Promise<readonly RunUser[]> {
  let due: RunUser[] = [];
  let users: readonly RunUser[] = [];
  do {
    const after = users.at(-1)?.scope ?? null;
    users = await parts.dreams.changedUsers({ after, limit: PAGE });
    lease.noteProgress();
    report.changed += users.length;
    for (const user of users) {
      const reason = judge(parts, settings, user, Infinity);
      if (reason === null) due.push(user);
      else countReason(report, reason);
    }
    if (due.length >= 2 * MOST_DUE) due = due.sort(byWait).slice(0, MOST_DUE);
  } while (users.length === PAGE && !isOver(parts, lease));
  return due.sort(byWait).slice(0, MOST_DUE);
}

function byWait(one: RunUser, other: RunUser): number {
  const lastRuns = (one.record?.lastRunAt ?? 0) - (other.record?.lastRunAt ?? 0);
  return lastRuns === 0 ? (one.lastQualifyingAt ?? 0) - (other.lastQualifyingAt ?? 0) : lastRuns;
}

function isOver({ isStopping }: TickParts, { signal: lost }: RenewedLease): boolean {
  return isStopping() || lost.aborted;
}

function countReason({ reasons }: TickReport, reason: SkipReason): void {
  reasons[reason] = (reasons[reason] ?? 0) + 1;
}

/** Judged for each user, since the model may have begun to fail, and others have used tokens, meanwhile. */
function judge(
  { host, breaker }: TickParts,
  settings: DreamSettings,
  user: RunUser,
  tokensLeft: number,
): SkipReason | null {
  return judgeUser(user, {
    settings,
    now: host.now(),
    timeZone: host.settings.timeZone,
    tokensLeft,
    hasModel: true,
    isModelResting: breaker.pauseMs > 0,
    isFrozen: (scope) => isFrozen(host, scope),
  });
}

async function dreamOne(
  { host, runs }: TickParts,
  settings: DreamSettings,
  report: TickReport,
  scope: ScopeKey,
): Promise<void> {
  try {
    const run = await runs.schedule(scope, settings);
    if (run === null) countReason(report, 'in_flight');
    else report.runs += 1;
  } catch (error) {
    host.log.warn({ code: toMemoryError(error).code }, 'a dream run could not begin');
  }
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
