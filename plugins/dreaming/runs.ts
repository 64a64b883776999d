import type {
  DreamCurrent,
  DreamDecision,
  DreamOutcome,
  DreamRunRecord,
  DreamUserRecord,
} from '../../core/contracts/dreams.ts';
import type { AuditCaller, AuditFacts, Host, PluginDreams } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { applyFiles, writeLog, type Writing } from './apply.ts';
import { backoffMs, type Breaker } from './breaker.ts';
import { detailsOf, newDetails, toDetails, withDetails, type RunFile } from './details.ts';
import { judgeUser } from './eligibility.ts';
import { keepLease, leaseOf, type KeptLease } from './lease.ts';
import { propose } from './propose.ts';
import { PROMPT_VERSION } from './prompt.ts';
import type { DreamSettings } from './settings.ts';
import { createSlots } from './slots.ts';
import { countTokens, MIN_RUN_TOKENS, tokensLeft } from './tokens.ts';

/** The runs of this process, and what people do with those of all. */
export interface Runs {
  /**
   * Begins a run that the schedule is due for; resolves when it has ended, with `null` where there
   * turned out to be none to do.
   */
  schedule(userId: string, settings: DreamSettings): Promise<DreamRunRecord | null>;
  /** Begins a run that a person asked for, and goes on with it behind the answer. */
  request(
    userId: string,
    options: { dryRun: boolean; settings: DreamSettings; caller: AuditCaller },
  ): Promise<DreamRunRecord>;
  /** Writes what a run proposes, all of it or some files. Paths are virtual. */
  apply(id: string, paths: readonly string[] | null, caller: AuditCaller): Promise<DreamRunRecord>;
  reject(id: string, paths: readonly string[] | null, caller: AuditCaller): Promise<DreamRunRecord>;
  cancel(id: string, caller: AuditCaller): Promise<DreamRunRecord>;
  /** Ends runs whose process is gone; what cannot be ended is logged. */
  recover(): Promise<void>;
  /** Resolves when no run of this process is under way. */
  settle(): Promise<void>;
  /** Ends the runs of this process; their leases are free then. */
  stop(): Promise<void>;
}

/** What runs work with. */
export interface RunsDependencies {
  host: Host;
  dreams: PluginDreams;
  breaker: Breaker;
  /** Tokens of memory that one run shows to the model. */
  maxSnapshotTokens: number;
}

/** A run of this process. */
interface ActiveRun {
  id: string;
  userId: string;
  scope: ScopeKey;
  kept: KeptLease;
  stopping: AbortController;
}

/** Why a run ends before its end. */
class Stopped extends Error {
  readonly why: 'canceled' | 'lease_lost' | 'shutdown' | 'timeout';

  constructor(why: Stopped['why']) {
    super(`The run was stopped: ${why}.`);
    this.why = why;
  }
}

/** Makes the runs of a process. */
export function createRuns(deps: RunsDependencies): Runs {
  const { host, dreams, breaker } = deps;
  const active = new Map<string, ActiveRun>();
  const underWay = new Set<Promise<unknown>>();
  const slots = createSlots();
  let isStopping = false;

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const done = () => void underWay.delete(work);
    work.then(done, done);
    return work;
  }

  /** A change of a run that this process does: under its lease, while nobody has stopped it. */
  async function advance<R>(
    { id, scope, kept }: ActiveRun,
    states: readonly DreamRunRecord['state'][],
    decide: (current: {
      user: DreamUserRecord;
      run: DreamRunRecord;
    }) => DreamDecision<R, AuditFacts>,
  ): Promise<R> {
    const lease = { name: kept.name, fence: kept.fence };
    return await dreams
      .update({ scope, runId: id, lease }, ({ user, run }) => {
        if (run === null) throw new MemoryError('RUN_NOT_FOUND');
        if (!states.includes(run.state)) {
          throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'canceled' } });
        }
        return decide({ user, run });
      })
      .catch((error: unknown) => {
        throw findStop(error) ?? error;
      });
  }

  async function begin(
    userId: string,
    options: {
      origin: DreamRunRecord['origin'];
      dryRun: boolean;
      settings: DreamSettings;
      caller: AuditCaller | null;
    },
  ): Promise<ActiveRun | null> {
    const { origin, dryRun, settings, caller } = options;
    if (isStopping) throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 });
    const scope: ScopeKey = `u:${userId}`;
    const kept = await keepLease(host, leaseOf(userId));
    if (kept === null) return null;
    try {
      await recoverUser(scope, userId, kept);
      const user = await dreams.user(scope);
      const now = host.now();
      if (origin === 'schedule') {
        // Another instance may have been here since the user was looked up.
        const isDue =
          user !== null &&
          judgeUser(user, {
            settings,
            now,
            hasModel: host.model !== null,
            isModelResting: breaker.isResting(),
          }) === null;
        if (!isDue) {
          await kept.release();
          return null;
        }
      } else if (tokensLeft(user?.record ?? null, settings, now) < MIN_RUN_TOKENS) {
        throw new MemoryError('QUOTA_EXCEEDED', 'The user’s tokens of this day are used up.', {
          details: {
            limit: 'dream_max_tokens_per_user_day',
            max: settings.dream_max_tokens_per_user_day,
          },
        });
      }
      const id = host.newId();
      const lease = { name: kept.name, fence: kept.fence };
      await dreams.update({ scope, runId: id, lease }, ({ user: record }) => {
        if (!dryRun && record.status === 'awaiting_review') {
          throw new MemoryError('DREAM_RUNNING', 'A run of this user awaits review.', {
            details: { runId: record.runId },
          });
        }
        const run = newRun({ id, scope, origin, dryRun, settings, now, fence: kept.fence });
        const next: DreamUserRecord = {
          ...record,
          status: 'queued',
          runId: id,
          runs: record.runs + 1,
          fence: kept.fence,
        };
        return {
          result: null,
          run,
          ...(dryRun ? {} : { user: next }),
          ...(caller === null
            ? {}
            : {
                audit: {
                  action: 'dream.run',
                  target: userId,
                  details: { runId: id, dryRun },
                  caller,
                },
              }),
        };
      });
      const run = { id, userId, scope, kept, stopping: new AbortController() };
      active.set(id, run);
      return run;
    } catch (error) {
      await kept.release();
      throw error;
    }
  }

  /** Does a run that has begun, to a final state or the wait for a review. */
  async function carryOut(run: ActiveRun, settings: DreamSettings): Promise<void> {
    const { kept, stopping } = run;
    const slot = await slots.take(settings.dream_concurrency, stopping.signal);
    const deadline = AbortSignal.timeout(settings.dream_run_timeout_seconds * 1_000);
    const signal = AbortSignal.any([stopping.signal, kept.signal, deadline]);
    let files: readonly RunFile[] = [];
    const checkStop = () => {
      if (kept.signal.aborted) throw new Stopped('lease_lost');
      if (stopping.signal.aborted) throw stopping.signal.reason as Stopped;
      if (deadline.aborted) throw new Stopped('timeout');
    };
    try {
      checkStop();
      const record = await advance(run, ['queued'], ({ user, run: row }) => ({
        result: { user, row },
        run: {
          ...row,
          state: 'running',
          startedAt: host.now(),
          model: host.model?.model ?? null,
        },
        ...(row.dryRun ? {} : { user: { ...user, status: 'running' } }),
      }));
      const { row } = record;
      const proposal = await propose(
        {
          host,
          maxSnapshotTokens: deps.maxSnapshotTokens,
          reserve: (tokens) => spend(run, tokens, null),
          settle: (reserved, used) => spend(run, used.input + used.output - reserved, used),
        },
        {
          scope: run.scope,
          userId: run.userId,
          runId: run.id,
          record: record.user,
          isAsked: row.origin === 'manual',
          tokensLeft: tokensLeft(record.user, settings, host.now()),
          maxFiles: Math.max(1, settings.dream_max_writes - 1),
          signal,
          checkStop,
        },
      );
      if (proposal.wasAsked) breaker.succeed();
      const details = toDetails(
        proposal.plan,
        {
          malformed: proposal.malformed,
          leftOut: proposal.snapshot.leftOut,
          maxWrites: settings.dream_max_writes,
        },
        (before, after, path) => host.history.diff(before, after, path),
      );
      files = details.files;
      const waits = row.mode === 'review' && !row.dryRun && files.length > 0;
      const ends = row.dryRun || files.length === 0;
      checkStop();
      await advance(run, ['running'], ({ user, run: current }) => {
        const next = withDetails(
          {
            ...current,
            filesRead: proposal.snapshot.shown.length,
            applied: proposal.plan.applied.length,
            dropped: proposal.plan.dropped.length,
            watermark: proposal.snapshot.watermark,
          },
          details,
        );
        const seen = { ...user, reviewCursor: proposal.snapshot.reviewCursor };
        if (waits) {
          return {
            result: null,
            run: { ...next, state: 'awaiting_review' },
            user: { ...toSucceeded(seen, next, host.now()), status: 'awaiting_review' },
          };
        }
        if (!ends) return { result: null, run: next };
        const ended = toEnded(next, { state: 'completed', outcome: 'no_op', now: host.now() });
        return {
          result: null,
          run: ended,
          ...(row.dryRun
            ? {}
            : { user: { ...toSucceeded(seen, ended, host.now()), status: 'completed' } }),
        };
      });
      if (waits || ends) return;
      files = await writeFiles(run, files, settings.dream_max_writes, checkStop, (done) => {
        files = done;
      });
      const isLogged = await logRun(run, files, settings.dream_max_writes);
      await advance(run, ['running'], ({ user, run: current }) => {
        const ended = toEnded(withFiles(current, files, isLogged), {
          state: 'completed',
          outcome: outcomeOf(files),
          now: host.now(),
        });
        const seen = {
          ...user,
          reviewCursor: proposal.snapshot.reviewCursor,
          ownWriteAt: hasWritten(files) ? host.now() : user.ownWriteAt,
        };
        return {
          result: null,
          run: ended,
          user: { ...toSucceeded(seen, ended, host.now()), status: 'completed' },
        };
      });
    } catch (error) {
      await giveUp(run, whyItEnded(checkStop) ?? findStop(error) ?? error, files, settings);
    } finally {
      slot?.free();
      active.delete(run.id);
      await kept.release();
    }
  }

  /** Counts tokens of the day in the database, before the call and after it. */
  async function spend(
    run: ActiveRun,
    tokens: number,
    used: { input: number; output: number } | null,
  ): Promise<void> {
    await advance(run, ['running', 'canceled'], ({ user, run: row }) => ({
      result: null,
      user: countTokens(user, tokens, host.now()),
      ...(used === null
        ? {}
        : {
            run: {
              ...row,
              inputTokens: row.inputTokens + used.input,
              outputTokens: row.outputTokens + used.output,
            },
          }),
    }));
  }

  async function writeFiles(
    run: ActiveRun,
    files: readonly RunFile[],
    maxWrites: number,
    checkStop: () => void,
    onProgress: (files: readonly RunFile[]) => void,
  ): Promise<RunFile[]> {
    const writing = toWriting(run, maxWrites);
    let done = [...files];
    // One after the other, so that what is written is known wherever it ends.
    for (const file of files) {
      if (file.status !== 'proposed') continue;
      const others = done.map((other) => (other.path === file.path ? file : skipped(other)));
      const written = await applyFiles(host, writing, others, async () => {
        checkStop();
        const row = await dreams.run(run.id);
        if (row?.state !== 'running') throw new Stopped('canceled');
      });
      const now = written.find(({ path }) => path === file.path) ?? file;
      done = done.map((other) => (other.path === file.path ? now : other));
      onProgress(done);
    }
    return done;
  }

  async function logRun(
    run: ActiveRun,
    files: readonly RunFile[],
    maxWrites: number,
  ): Promise<boolean> {
    const written = files.filter(({ status }) => status === 'applied');
    if (written.length === 0) return false;
    const row = await dreams.run(run.id);
    const { operations } = row === null ? { operations: [] } : detailsOf(row);
    const entries = written.map(({ path }) => {
      const kinds = operations
        .filter(({ status, paths }) => status === 'applied' && paths.includes(path))
        .map(({ kind }) => kind);
      return { path, what: kinds.length === 0 ? 'tidied' : kinds.join(', ') };
    });
    return await writeLog(host, toWriting(run, maxWrites), entries);
  }

  /** Brings a run that failed or was stopped to a final state, as far as that can be written. */
  async function giveUp(
    run: ActiveRun,
    error: unknown,
    files: readonly RunFile[],
    settings: DreamSettings,
  ): Promise<void> {
    const stop = error instanceof Stopped ? error.why : null;
    // Whoever has the lease now brings it to an end.
    if (stop === 'lease_lost') {
      host.log.warn({ runId: run.id }, 'a dream run lost its lease');
      return;
    }
    const failure = toFailure(error, settings);
    const isModels = failure.code === 'MODEL_FAILED' || failure.code === 'MODEL_TIMEOUT';
    if (isModels) breaker.fail();
    try {
      const isLogged = await logRun(run, files, settings.dream_max_writes).catch(() => false);
      await advance(run, ['queued', 'running', 'canceled'], ({ user, run: row }) => {
        const now = host.now();
        const settled = withFiles(row, files.map(toLeftOver), isLogged);
        const outcome: DreamOutcome | null = hasWritten(files) ? 'partial' : null;
        const ended =
          row.state === 'canceled'
            ? { ...settled, outcome }
            : {
                ...toEnded(settled, { state: 'failed', outcome, now }),
                errorCode: failure.code,
                errorMessage: failure.message,
              };
        if (row.dryRun) return { result: null, run: ended };
        const ownWriteAt = hasWritten(files) ? now : user.ownWriteAt;
        const failed = row.state === 'canceled' || stop === 'shutdown' ? user : toFailed(user, now);
        return {
          result: null,
          run: ended,
          user: {
            ...failed,
            ownWriteAt,
            status: ended.state,
            lastRunAt: now,
            filesTouched: ended.filesTouched,
            error: ended.state === 'failed' ? failure.message : null,
          },
        };
      });
      if (stop !== 'canceled') {
        host.log.warn({ runId: run.id, code: failure.code }, 'a dream run failed');
      }
    } catch (thrown) {
      // The database is gone, or the lease: the run is ended by `recover`.
      const { code } = toMemoryError(thrown);
      host.log.error({ runId: run.id, code }, 'a dream run could not be ended');
    }
  }

  /** Ends the runs of a user that nobody does any more. The caller holds the user's lease. */
  async function recoverUser(scope: ScopeKey, userId: string, kept: KeptLease): Promise<void> {
    const { items } = await dreams.listRuns(
      { scope, isOpen: true },
      { limit: 100, order: 'asc', after: null },
    );
    for (const { id, state } of items) {
      if (state === 'awaiting_review' || active.has(id)) continue;
      const run = { id, userId, scope, kept, stopping: new AbortController() };
      await recoverRun(run);
    }
  }

  /** The same, unless someone else has the lease. */
  async function recoverLost(scope: ScopeKey): Promise<void> {
    const userId = scope.slice(2);
    const kept = await keepLease(host, leaseOf(userId));
    if (kept === null) return;
    try {
      await recoverUser(scope, userId, kept);
    } finally {
      await kept.release();
    }
  }

  async function recoverRun(run: ActiveRun): Promise<void> {
    const row = await dreams.run(run.id);
    if (row === null) return;
    const details = detailsOf(row);
    const written = new Map<string, number>();
    for (const { revision } of await host.history.ofRun(run.id)) {
      if (revision.action !== 'revert') written.set(`user/${revision.path}`, revision.version);
    }
    const files = details.files.map((file): RunFile => {
      const version = written.get(file.path);
      if (file.status !== 'proposed' || version === undefined) return file;
      return { ...file, status: 'applied', after: null, diff: null, written: version };
    });
    const wasLogged = written.has('user/dream-log.md');
    const isLogged = wasLogged || (await logRun(run, files, details.maxWrites).catch(() => false));
    const wasApplying = row.mode === 'review' && files.some(({ status }) => status === 'proposed');
    await advance(run, ['queued', 'running'], ({ user, run: current }) => {
      const now = host.now();
      const ownWriteAt = hasWritten(files) ? now : user.ownWriteAt;
      const settled = withFiles(current, wasApplying ? files : files.map(toLeftOver), isLogged);
      if (wasApplying && !current.dryRun) {
        return {
          result: null,
          run: { ...settled, state: 'awaiting_review' },
          user: { ...user, ownWriteAt, status: 'awaiting_review' },
        };
      }
      const outcome: DreamOutcome | null = hasWritten(files) ? 'partial' : null;
      const ended = {
        ...toEnded(settled, { state: 'failed', outcome, now }),
        errorCode: 'RUN_STATE',
        errorMessage: INTERRUPTED,
      };
      const next = {
        ...toFailed(user, now),
        ownWriteAt,
        status: 'failed' as const,
        lastRunAt: now,
        filesTouched: ended.filesTouched,
        error: INTERRUPTED,
      };
      return { result: null, run: ended, ...(current.dryRun ? {} : { user: next }) };
    });
    host.log.warn({ runId: run.id }, 'a dream run that was interrupted was brought to its end');
  }

  async function find(id: string): Promise<DreamRunRecord> {
    const run = await dreams.run(id);
    if (run === null) {
      throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
    }
    return run;
  }

  /** Proposed files by their paths, or all of them; throws for one that the run does not have. */
  function pick(run: DreamRunRecord, paths: readonly string[] | null): Set<string> {
    const { files } = detailsOf(run);
    const proposed = files.filter(({ status }) => status === 'proposed').map(({ path }) => path);
    const foreign = paths?.find((path) => !proposed.includes(path));
    if (foreign !== undefined) {
      const message = 'names a file that this run does not propose';
      throw new MemoryError('INVALID_REQUEST', `paths ${message}.`, {
        details: { issues: [{ path: '/paths', message }] },
      });
    }
    return new Set(paths ?? proposed);
  }

  async function write(
    run: ActiveRun,
    picked: ReadonlySet<string>,
    row: DreamRunRecord,
  ): Promise<DreamRunRecord> {
    const details = detailsOf(row);
    let files: readonly RunFile[] = details.files;
    const isReady = (file: RunFile): boolean =>
      picked.has(file.path) &&
      file.needs.every(({ path }) => {
        const other = details.files.find((it) => it.path === path);
        return other === undefined || other.written !== null || isReady(other);
      });
    const ready = details.files.filter((file) => file.status === 'proposed' && isReady(file));
    const isNow = new Set(ready.map(({ path }) => path));
    const kept = new Map(details.files.map((file) => [file.path, file]));
    const attempted = await writeFiles(
      run,
      details.files.map((file) => (isNow.has(file.path) ? file : skipped(file))),
      details.maxWrites,
      () => {
        if (run.kept.signal.aborted) throw new Stopped('lease_lost');
      },
      (done) => {
        files = done;
      },
    );
    files = attempted.map((file) => {
      if (isNow.has(file.path)) return file;
      const original = kept.get(file.path) ?? file;
      return picked.has(file.path) && original.status === 'proposed'
        ? { ...original, note: 'it waits for a file that takes lines of it' }
        : original;
    });
    const isLogged = await logRun(
      run,
      files.filter(({ path }) => isNow.has(path)),
      details.maxWrites,
    );
    return await advance(run, ['running'], ({ user, run: current }) =>
      toReviewed(user, withFiles(current, files, isLogged), files, host.now(), hasWritten(files)),
    );
  }

  return {
    async schedule(userId, settings) {
      const run = await begin(userId, {
        origin: 'schedule',
        dryRun: false,
        settings,
        caller: null,
      });
      if (run === null) return null;
      await track(carryOut(run, settings));
      return await dreams.run(run.id);
    },

    async request(userId, { dryRun, settings, caller }) {
      if (host.model === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
      const run = await begin(userId, { origin: 'manual', dryRun, settings, caller });
      if (run === null) throw new MemoryError('DREAM_RUNNING');
      const begun = await find(run.id);
      void track(carryOut(run, settings));
      return begun;
    },

    async apply(id, paths, caller) {
      const row = await find(id);
      assertState(row, ['awaiting_review']);
      const picked = pick(row, paths);
      const userId = row.scope.slice(2);
      const kept = await keepLease(host, leaseOf(userId));
      if (kept === null) throw new MemoryError('DREAM_RUNNING');
      const run: ActiveRun = {
        id,
        userId,
        scope: row.scope,
        kept,
        stopping: new AbortController(),
      };
      active.set(id, run);
      try {
        const lease = { name: kept.name, fence: kept.fence };
        const begun = await dreams.update(
          { scope: row.scope, runId: id, lease },
          ({ user, run: current }) => {
            const present = assertState(current, ['awaiting_review']);
            const next = { ...present, state: 'running' as const, fence: kept.fence };
            return {
              result: next,
              run: next,
              user: { ...user, status: 'running', fence: kept.fence },
              audit: { action: 'dream.apply', target: id, details: { paths: [...picked] }, caller },
            };
          },
        );
        return await track(write(run, picked, begun));
      } finally {
        active.delete(id);
        await kept.release();
      }
    },

    async reject(id, paths, caller) {
      const row = await find(id);
      assertState(row, ['awaiting_review']);
      const picked = pick(row, paths);
      return await dreams.update({ scope: row.scope, runId: id }, ({ user, run: current }) => {
        const present = assertState(current, ['awaiting_review']);
        const files = detailsOf(present).files.map((file): RunFile =>
          picked.has(file.path) && file.status === 'proposed'
            ? { ...file, status: 'rejected', after: null }
            : file,
        );
        const details = { ...detailsOf(present), files };
        return {
          ...toReviewed(user, withDetails(present, details), files, host.now(), false),
          audit: { action: 'dream.reject', target: id, details: { paths: [...picked] }, caller },
        };
      });
    },

    async cancel(id, caller) {
      const row = await find(id);
      const canceled = await dreams.update(
        { scope: row.scope, runId: id },
        ({ user, run: current }) => {
          const present = assertState(current, ['queued', 'running', 'awaiting_review']);
          const details = detailsOf(present);
          const files = details.files.map((file): RunFile =>
            file.status === 'proposed' ? { ...file, status: 'rejected', after: null } : file,
          );
          const run: DreamRunRecord = {
            ...withDetails(present, { ...details, files }),
            state: 'canceled',
            outcome: hasWritten(files) ? 'partial' : null,
            endedAt: host.now(),
          };
          return {
            result: run,
            run,
            ...(user.runId === id ? { user: { ...user, status: 'canceled' as const } } : {}),
            audit: { action: 'dream.cancel', target: id, details: {}, caller },
          };
        },
      );
      active.get(id)?.stopping.abort(new Stopped('canceled'));
      return canceled;
    },

    async recover() {
      const { items } = await dreams.listRuns(
        { isOpen: true },
        { limit: 500, order: 'asc', after: null },
      );
      for (const { id, scope, state } of items) {
        if (state === 'awaiting_review' || active.has(id) || isStopping) continue;
        // Who only looks at the runs sees them as they are where nothing can be written.
        await recoverLost(scope).catch((error: unknown) => {
          const { code } = toMemoryError(error);
          host.log.warn({ runId: id, code }, 'an interrupted dream run could not be ended');
        });
      }
    },

    async settle() {
      await Promise.allSettled([...underWay]);
    },

    async stop() {
      isStopping = true;
      for (const { stopping } of active.values()) stopping.abort(new Stopped('shutdown'));
      await Promise.allSettled([...underWay]);
    },
  };
}

const INTERRUPTED = 'The run was interrupted: the service that did it is gone.';

function newRun(options: {
  id: string;
  scope: ScopeKey;
  origin: DreamRunRecord['origin'];
  dryRun: boolean;
  settings: DreamSettings;
  now: number;
  fence: number;
}): DreamRunRecord {
  const { id, scope, origin, dryRun, settings, now, fence } = options;
  return {
    id,
    scope,
    origin,
    dryRun,
    mode: settings.dream_mode,
    state: 'queued',
    outcome: null,
    createdAt: now,
    startedAt: null,
    endedAt: null,
    watermark: null,
    filesRead: 0,
    filesTouched: 0,
    writes: 0,
    applied: 0,
    dropped: 0,
    inputTokens: 0,
    outputTokens: 0,
    model: null,
    promptVersion: PROMPT_VERSION,
    errorCode: null,
    errorMessage: null,
    fence,
    details: JSON.stringify(newDetails(settings.dream_max_writes)),
  };
}

function toWriting({ userId, id, kept }: ActiveRun, maxWrites: number): Writing {
  return { userId, runId: id, lease: kept.lease, maxWrites };
}

/** A file that an attempt passes over. */
function skipped(file: RunFile): RunFile {
  return file.status === 'proposed' ? { ...file, status: 'left', note: 'not now' } : file;
}

function toLeftOver(file: RunFile): RunFile {
  if (file.status !== 'proposed') return file;
  return { ...file, status: 'left', note: 'the run ended before it was written', after: null };
}

function hasWritten(files: readonly RunFile[]): boolean {
  return files.some(({ status }) => status === 'applied');
}

function withFiles(
  run: DreamRunRecord,
  files: readonly RunFile[],
  isLogged: boolean,
): DreamRunRecord {
  const filesTouched = files.filter(({ status }) => status === 'applied').length;
  const logged = Math.max(Number(isLogged), run.writes - run.filesTouched);
  return {
    ...withDetails(run, { ...detailsOf(run), files }),
    filesTouched,
    writes: filesTouched + logged,
  };
}

function outcomeOf(files: readonly RunFile[]): DreamOutcome {
  const statuses = new Set(files.map(({ status }) => status));
  if (statuses.size === 0) return 'no_op';
  if (statuses.size > 1 || statuses.has('left')) return 'partial';
  return statuses.has('rejected') ? 'rejected' : 'applied';
}

function toEnded(
  run: DreamRunRecord,
  {
    state,
    outcome,
    now,
  }: { state: DreamRunRecord['state']; outcome: DreamOutcome | null; now: number },
): DreamRunRecord {
  return { ...run, state, outcome, endedAt: now };
}

/** After a run that came to its end: the watermark moves to what its snapshot had. */
function toSucceeded(user: DreamUserRecord, run: DreamRunRecord, now: number): DreamUserRecord {
  return {
    ...user,
    watermark: run.watermark,
    lastRunAt: now,
    filesTouched: run.filesTouched,
    failures: 0,
    retryAt: null,
    error: null,
  };
}

function toFailed(user: DreamUserRecord, now: number): DreamUserRecord {
  const failures = user.failures + 1;
  return { ...user, failures, retryAt: now + backoffMs(failures) };
}

/** After some of a proposal was decided on: it waits on until all of it is. */
function toReviewed(
  user: DreamUserRecord,
  run: DreamRunRecord,
  files: readonly RunFile[],
  now: number,
  hasJustWritten: boolean,
): { result: DreamRunRecord; run: DreamRunRecord; user: DreamUserRecord } {
  const isOpen = files.some(({ status }) => status === 'proposed');
  const next: DreamRunRecord = isOpen
    ? { ...run, state: 'awaiting_review' }
    : toEnded(run, { state: 'completed', outcome: outcomeOf(files), now });
  return {
    result: next,
    run: next,
    user: {
      ...user,
      status: next.state,
      filesTouched: next.filesTouched,
      ownWriteAt: hasJustWritten ? now : user.ownWriteAt,
    },
  };
}

/** Throws `RUN_STATE` for a run that is in another state. */
function assertState(
  run: DreamCurrent['run'],
  states: readonly DreamRunRecord['state'][],
): DreamRunRecord {
  if (run === null) throw new MemoryError('RUN_NOT_FOUND');
  if (states.includes(run.state)) return run;
  throw new MemoryError('RUN_STATE', `The run is ${run.state}.`, {
    details: { state: run.state, allowed: states },
  });
}

/** A model that is given up fails in its own words: what gave it up is asked first. */
function whyItEnded(checkStop: () => void): unknown {
  try {
    checkStop();
    return null;
  } catch (stop) {
    return stop;
  }
}

function findStop(error: unknown): Stopped | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; depth += 1) {
    if (at instanceof Stopped) return at;
    const reason = at instanceof MemoryError ? at.details?.['reason'] : null;
    if (reason === 'lease_lost' || reason === 'canceled') return new Stopped(reason);
    at = at.cause;
  }
  return null;
}

function toFailure(error: unknown, settings: DreamSettings): { code: string; message: string } {
  if (error instanceof Stopped) {
    if (error.why === 'shutdown')
      return { code: 'SHUTTING_DOWN', message: 'The service shut down.' };
    if (error.why === 'timeout') {
      const message = `The run took longer than ${settings.dream_run_timeout_seconds} s.`;
      return { code: 'MODEL_TIMEOUT', message };
    }
    return { code: 'RUN_STATE', message: 'The run was canceled.' };
  }
  const { code, message } = toMemoryError(error);
  return { code, message };
}
