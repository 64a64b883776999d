import type { RunRecord, RunUser, RunUserRecord } from '../../core/contracts/runs.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, readAfterWrite, toMemoryError } from '../../core/errors.ts';
import { type DecidedRun, decideOnRun, type Decision } from './decide-on-run.ts';
import { judgeUser } from './eligibility.ts';
import { endRun, executeRun } from './execute-run.ts';
import { claimLease, type RenewedLease } from './lease.ts';
import { assertState, toCanceled, toExpired, toQueued } from './life-cycle.ts';
import { type RevertOptions, revertRun, type RevertedRun } from './revert-run.ts';
import {
  ACTOR,
  type ActiveRun,
  assertOpen,
  finishRun,
  isFrozen,
  type RunContext,
  Stopped,
  toActiveRun,
  withRunLease,
} from './run.ts';
import { createSemaphore } from './semaphore.ts';
import type { DreamSettings } from './settings.ts';
import { MIN_RUN_TOKENS, tokensLeft, tokensLeftOfAll } from './tokens.ts';
import { takeStart } from '../../core/encoding/take-text.ts';
import { labelOf, spaceNotFound, toOwner } from '../../core/plugin.ts';

/** Executes the runs of this process, and carries out what people decide about any run. */
export interface Runs {
  /** Begins a run and resolves when it has ended; with `null` if the memory is not due any more. */
  schedule(scope: ScopeKey, settings: DreamSettings): Promise<RunRecord | null>;
  /**
   * Begins a run that a person asked for. Resolves once it is queued, before it ends. While writes are
   * stopped, it throws `WRITES_FROZEN`; a dry run is allowed.
   */
  request(
    scope: ScopeKey,
    options: { dryRun: boolean; settings: DreamSettings; caller: AuditCaller },
  ): Promise<RunRecord>;
  /** Applies or rejects operations of a run. */
  decide(id: string, decision: Decision): Promise<DecidedRun>;
  /** Ends a run that has not ended; what it has written stays. */
  cancel(id: string, caller: AuditCaller): Promise<RunRecord>;
  /** Undoes what a run wrote. */
  revert(id: string, options: RevertOptions): Promise<RevertedRun>;
  /**
   * Ends runs whose process is gone, and operations that waited for too many days. Never rejects:
   * what can't be ended is logged.
   */
  recover(waitingDays?: number): Promise<void>;
  /** Resolves when no run of this process is under way. */
  waitIdle(): Promise<void>;
  /** Ends the runs of this process; their leases are free then. */
  stop(): Promise<void>;
}

const INTERRUPTED = 'The run was interrupted: the service that did it is gone.';
const DAY_MS = 24 * 60 * 60 * 1000;

/** Creates the runs of a process. */
export function createRuns(
  deps: Pick<RunContext, 'host' | 'dreams' | 'breaker' | 'maxSnapshotTokens'>,
): Runs {
  const { host, dreams } = deps;
  const active = new Map<string, ActiveRun>();
  /** Work under way, with the id of its run. */
  const underWay = new Map<Promise<unknown>, string | null>();
  const stopping = new AbortController();
  const context: RunContext = {
    ...deps,
    semaphore: createSemaphore(),
    stopping: stopping.signal,
    active,
  };

  function track<T>(id: string | null, work: Promise<T>): Promise<T> {
    underWay.set(work, id);
    const done = () => void underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async function find(id: string): Promise<RunRecord> {
    const run = await dreams.run(id);
    if (run !== null) return run;
    throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: takeStart(id, 64) } });
  }

  /** Like `find`, but ends an interrupted run first. */
  async function findEnded(id: string): Promise<RunRecord> {
    const run = await find(id);
    if (run.endedAt !== null) return run;
    await recoverUser(context, run.scope, null);
    return await find(id);
  }

  return {
    async schedule(scope, settings) {
      const options = { origin: 'schedule', dryRun: false, settings, caller: null } as const;
      const { run } = (await beginRun(context, scope, options)) ?? {};
      if (run === undefined) return null;
      await track(run.id, executeRun(context, run, settings));
      return await dreams.run(run.id);
    },

    async request(scope, { dryRun, settings, caller }) {
      if (host.models.model === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
      assertMayDream(scope, await dreams.user(scope), { dryRun });
      if (!dryRun) host.memory.checkWrites({ scope, actor: ACTOR });
      const options = { origin: 'manual', dryRun, settings, caller } as const;
      const begun = await beginRun(context, scope, options);
      if (begun === null) throw new MemoryError('DREAM_RUNNING');
      void track(begun.run.id, executeRun(context, begun.run, settings));
      return begun.row;
    },

    async decide(id, decision) {
      const row = await findEnded(id);
      const decide = (run: ActiveRun) => decideOnRun(context, run, decision);
      return await track(id, withRunLease(context, row, 'dream.apply', decide));
    },

    async cancel(id, caller) {
      const { scope } = await find(id);
      await dreams.update({ scope, runId: id }, ({ user, run }) => {
        const present = assertState(run, ['queued', 'running']);
        const audit = { action: 'dream.cancel', target: id, details: {}, caller };
        return { result: null, ...toCanceled({ user, run: present }, host.now()), audit };
      });
      active.get(id)?.stopping.abort(new Stopped('canceled'));
      await Promise.allSettled([...underWay].filter(([, of]) => of === id).map(([work]) => work));
      return await readAfterWrite(() => findEnded(id));
    },

    async revert(id, options) {
      const row = await findEnded(id);
      const revert = (run: ActiveRun) => revertRun(context, run, options);
      return await track(id, withRunLease(context, row, 'dream.revert', revert));
    },

    async recover(waitingDays) {
      await track(null, recoverRuns(context));
      if (waitingDays !== undefined) await track(null, expireOperations(context, waitingDays));
    },

    async waitIdle() {
      await Promise.allSettled([...underWay.keys()]);
    },

    async stop() {
      stopping.abort();
      for (const run of active.values()) run.stopping.abort(new Stopped('shutdown'));
      await Promise.allSettled([...underWay.keys()]);
    },
  };
}

/**
 * A person may ask for a run while dreaming is switched off. But no text of a space goes to a model, whoever asks,
 * unless the settings of the space say `dream`.
 */
function assertMayDream(
  scope: ScopeKey,
  space: RunUser | null,
  { dryRun }: { dryRun: boolean },
): void {
  const { spaceId } = toOwner(scope);
  if (spaceId === null) return;
  if (space === null) throw spaceNotFound(scope);
  if (!space.dream) {
    throw new MemoryError('RUN_STATE', `Dreaming is off for the space ${spaceId}.`, {
      details: { spaceId, reason: 'disabled' },
    });
  }
  if (space.archivedAt === null || dryRun) return;
  throw new MemoryError('READ_ONLY_SCOPE', `The space ${spaceId} is archived.`, {
    details: { spaceId, reason: 'archived' },
  });
}

/**
 * Queues a run of a user or a space, under its lease. Returns `null` where another instance has the lease,
 * or where it is not due any more.
 *
 * @throws MemoryError `QUOTA_EXCEEDED` when the tokens of the day are used up, those of the user or of all.
 */
async function beginRun(
  context: RunContext,
  scope: ScopeKey,
  options: {
    origin: RunRecord['origin'];
    dryRun: boolean;
    settings: DreamSettings;
    caller: AuditCaller | null;
  },
): Promise<{ run: ActiveRun; row: RunRecord } | null> {
  const { origin, dryRun, settings, caller } = options;
  const { host, dreams, breaker, active } = context;
  assertOpen(context);
  const patienceMs = settings.dream_run_timeout_seconds * 1_000;
  const lease = await claimLease(host, dreams.scopeLease(scope), { patienceMs });
  if (lease === null) return null;
  try {
    await recoverUser(context, scope, lease);
    const user = await dreams.user(scope);
    const now = host.now();
    const leftOfAll = await tokensLeftOfAll(dreams, settings, now);
    if (origin === 'schedule') {
      // Another instance may have been here since the user was looked up.
      const isModelResting = breaker.pauseMs > 0;
      const circumstances = {
        settings,
        now,
        timeZone: host.settings.timeZone,
        hasModel: host.models.model !== null,
        isModelResting,
        tokensLeft: leftOfAll,
        isFrozen: (one: ScopeKey) => isFrozen(host, one),
      };
      if (user === null || judgeUser(user, circumstances) !== null) {
        await lease.release();
        return null;
      }
    } else if (
      Math.min(tokensLeft(user?.record ?? null, settings, now), leftOfAll) < MIN_RUN_TOKENS
    ) {
      const limit =
        leftOfAll < MIN_RUN_TOKENS ? 'dream_max_tokens_per_day' : 'dream_max_tokens_per_user_day';
      throw new MemoryError('QUOTA_EXCEEDED', 'The tokens of this day are used up.', {
        details: { limit, max: settings[limit] },
      });
    }
    const id = dreams.newId();
    const { name, fence } = lease;
    const request = { scope, runId: id, lease: { name, fence } };
    const row = await dreams.update(request, ({ user: record }) => {
      const created = dreams.create({ id, scope });
      const run = toQueued(created, { origin, dryRun, settings, now, fence });
      const begun = { status: 'queued', runId: id, runs: record.runs + 1, fence } as const;
      const next: RunUserRecord = { ...record, ...begun };
      const audit = { action: 'dream.run', target: labelOf(scope), details: { runId: id, dryRun } };
      return {
        result: run,
        run,
        ...(dryRun ? {} : { user: next }),
        ...(caller === null ? {} : { audit: { ...audit, caller } }),
      };
    });
    const run = toActiveRun(context, { id, scope }, { lease, name: 'dream.run' });
    active.set(id, run);
    return { run, row };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** Ends runs whose process is gone. What can't be ended is logged. */
async function recoverRuns(context: RunContext): Promise<void> {
  const { host, dreams, active, stopping } = context;
  const warn = (runId: string | null) => (error: unknown) => {
    const { code } = toMemoryError(error);
    host.log.warn({ runId, code }, 'an interrupted dream run could not be ended');
  };
  let after: readonly (string | number)[] | null = null;
  try {
    do {
      const page: Awaited<ReturnType<typeof dreams.listRuns>> = await dreams.listRuns(
        { isOpen: true },
        { limit: 500, order: 'asc', after },
      );
      for (const { id, scope } of page.items) {
        if (active.has(id) || stopping.aborted) continue;
        // A reader gets the runs as they are where nothing can be written.
        await recoverUser(context, scope, null).catch(warn(id));
      }
      after = page.next;
    } while (after !== null && !stopping.aborted);
  } catch (error) {
    warn(null)(error);
  }
}

/**
 * Ends the runs of a user or a space that nobody works on. Without a lease it claims one, and leaves them if
 * somebody else has it.
 */
async function recoverUser(
  context: RunContext,
  scope: ScopeKey,
  held: RenewedLease | null,
): Promise<void> {
  const { host, dreams, active } = context;
  const lease = held ?? (await claimLease(host, dreams.scopeLease(scope)));
  if (lease === null) return;
  try {
    const { items } = await dreams.listRuns(
      { scope, isOpen: true },
      { limit: 100, order: 'asc', after: null },
    );
    for (const { id } of items) {
      if (active.has(id)) continue;
      const run = toActiveRun(context, { id, scope }, { lease, name: 'dream.recover' });
      const failure = new MemoryError('RUN_STATE', INTERRUPTED);
      try {
        const { state } = await endRun(context, run, { failure, isFault: true });
        // The run left no event of its own: this one says what became of it.
        await finishRun(context, run, state === 'failed' ? failure : null);
        host.log.info({ runId: id, state }, 'an interrupted dream run is ended');
      } catch (error) {
        run.trace.finish(error);
        throw error;
      }
    }
  } finally {
    if (held === null) await lease.release();
  }
}

/** Ends operations that nobody decided on for so many days. */
async function expireOperations({ host, dreams }: RunContext, days: number): Promise<void> {
  const before = host.now() - days * DAY_MS;
  try {
    for (;;) {
      const page = { limit: 100, order: 'asc', after: null } as const;
      const { items } = await dreams.listRuns({ isWaiting: true }, page);
      // An operation waits from the end of its run on. That of a converted one is the migration.
      const old = items.filter(({ endedAt }) => endedAt !== null && endedAt < before);
      for (const { scope, id } of old) {
        await dreams.update({ scope, runId: id }, ({ user, run }) => {
          if (run === null) return { result: null };
          return { result: null, ...toExpired({ user, run }, days) };
        });
      }
      if (old.length < page.limit) return;
    }
  } catch (error) {
    const { code } = toMemoryError(error);
    host.log.warn({ code }, 'operations that waited too long could not be ended');
  }
}
