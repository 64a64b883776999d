import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EraseAnswer, ErasedReader, EraseRequest } from '../contracts/admin.ts';
import { toAuditRecord } from '../audit.ts';
import type { ErasureStore, RowCounts } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AdminAuthor } from '../files/admin-files.ts';
import { isHoldLost, MAX_HOLDS, memoryHeld, STALLED_MS } from '../files/hold.ts';
import { parseUserId, toScope, type UserId } from '../files/paths.ts';
import { chainHeadOf } from '../history/chain.ts';
import { requireErasure } from '../history/redact.ts';
import type { IdSource } from '../ids.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { toTime } from '../time.ts';
import { eraseAuditReferences } from './audit-references.ts';
import { findReaders } from './readers.ts';

/** Rows that one transaction removes. */
const BATCH_ROWS = 500;
/** How often an instance looks which users the others are erasing. */
const LOOK_MS = 1_000;

const KEEPS = [
  'svc_scope: the user id with the counters that give new ids, and the time of the erasure. So ids never repeat, and a restore can say that the user was erased.',
  'svc_admin_audit: that the user was erased, and when. Other rows keep their action and time.',
  'Totals of the dashboard that count all users together.',
];
const MAY_REMAIN = [
  'Free pages of the database file, until memory-service vacuum; SQLite overwrites what it deletes.',
  'The logs of the database itself: the binary log and the undo log of MySQL and MariaDB.',
  'Backups, exports, and copies of the database.',
  'Traces that were sent to an exporter, and logs.',
  'The providers of the model and of the embedder.',
  'What is listed under readers.',
];

/** Erasures of users. */
export interface Erasures {
  /**
   * Removes everything of a user: files, history, access log, events, search index, dreaming. While
   * it lasts, all calls for the user get `MEMORY_HELD`. If the process dies meanwhile, the service
   * goes on after its next start, or when the same erasure is asked for again.
   */
  erase(userId: string, request: EraseRequest, caller: AdminAuthor): Promise<EraseAnswer>;
  /** Throws `MEMORY_HELD` while the memory of a user is being erased. */
  check(userId: UserId): void;
  /** Looks which users are being erased. */
  look(): Promise<void>;
  /** Goes on with erasures that were cut off, now and every 30 seconds. */
  start(): void;
  /** Waits for the erasure under way to end its batch. */
  stop(): Promise<void>;
}

/** What is kept of an erasure while it lasts. */
interface Progress {
  startedAt: number;
  chainHead: string | null;
  /** `null` until they were looked for. */
  readers: { readers: ErasedReader[]; isComplete: boolean } | null;
  tables: RowCounts;
  auditRows: number;
}

/** Creates the erasures of a storage. */
export function createErasures(deps: {
  storage: Storage;
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'flush'>;
  log: Logger;
  now: () => number;
}): Erasures {
  const { storage, ids, log, now } = deps;
  const active = new Map<string, Promise<unknown>>();
  let held = new Map<ScopeKey, HoldRecord>();
  let isStopped = false;
  let timers: NodeJS.Timeout[] = [];
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined;

  const listHolds = async () =>
    ((await storage.holds?.list(MAX_HOLDS)) ?? []).filter(({ kind }) => kind === 'erase');

  async function look(): Promise<void> {
    const holds = await listHolds();
    held = new Map(holds.map((hold) => [hold.scope, hold]));
  }

  async function preview(scope: ScopeKey): Promise<EraseAnswer> {
    const userId = scope.slice(2);
    const erasure = requireErasure(storage);
    const tables = await erasure.count(scope);
    const { readers, isComplete } = await findReaders(storage, scope);
    return {
      ...{ dryRun: true, userId, erasedAt: null, tables, auditRows: 0, left: tables },
      ...{ chainHead: await readChainHead(storage, scope), readers, readersComplete: isComplete },
      ...{ keeps: KEEPS, mayRemain: MAY_REMAIN },
    };
  }

  async function work(
    erasure: ErasureStore,
    hold: HoldRecord,
    caller: AdminAuthor,
  ): Promise<EraseAnswer> {
    const { scope } = hold;
    const userId = scope.slice(2);
    held.set(scope, hold);
    const running = (async (): Promise<EraseAnswer> => {
      let progress = toProgress(hold);
      const save = (next: Partial<Progress>) => ({
        ...hold,
        progressAt: now(),
        details: { ...progress, ...next },
      });
      const put = async (next: Partial<Progress>) => {
        await erasure.erase(hold, { limit: 0, progress: () => save(next) });
        progress = { ...progress, ...next };
      };
      if (isShared) await sleep(2 * LOOK_MS);
      // From rows that will be gone.
      if (progress.readers === null) await put({ readers: await findReaders(storage, scope) });
      const changed = await eraseAuditReferences({ storage, erasure }, scope);
      if (changed > 0) await put({ auditRows: progress.auditRows + changed });
      // Rows of calls from before are removed too; later ones find the time of the erasure.
      await deps.accessQueue.flush();
      for (let isEmpty = false; !isEmpty;) {
        if (isStopped) throw new MemoryError('SHUTTING_DOWN');
        let tables = progress.tables;
        const removed = await erasure.erase(hold, {
          limit: BATCH_ROWS,
          progress(counts) {
            tables = sum(progress.tables, counts);
            return save({ tables });
          },
        });
        progress = { ...progress, tables };
        isEmpty = Object.keys(removed).length === 0;
      }
      await deps.accessQueue.flush();
      const at = now();
      const { chainHead, auditRows } = progress;
      const last = await erasure.end(hold, {
        at,
        audit: (removed) =>
          toAuditRecord(ids, {
            action: 'users.erase',
            target: userId,
            details: {
              ...{ step: 'end', tables: sum(progress.tables, removed), auditRows, chainHead },
              readers: progress.readers?.readers.length ?? 0,
            },
            ...caller,
          }),
      });
      // Before what may fail: the user's calls go on.
      held.delete(scope);
      await erasure.settle?.();
      const left = await erasure.count(scope);
      const { readers = [], isComplete = false } = progress.readers ?? {};
      return {
        ...{ dryRun: false, userId, erasedAt: toTime(at) },
        ...{ tables: sum(progress.tables, last), auditRows, left, chainHead },
        ...{ readers, readersComplete: isComplete, keeps: KEEPS, mayRemain: MAY_REMAIN },
      };
    })();
    active.set(hold.id, running);
    try {
      return await running;
    } finally {
      active.delete(hold.id);
    }
  }

  async function resume(isDue: (hold: HoldRecord) => boolean): Promise<void> {
    const { erasure } = storage;
    for (const hold of erasure === undefined ? [] : await listHolds()) {
      if (erasure === undefined || isStopped || active.has(hold.id) || !isDue(hold)) continue;
      log.info({}, 'going on with an erasure');
      try {
        await work(erasure, hold, { address: null, traceId: null });
      } catch (error) {
        if (isHoldLost(error)) continue;
        log.warn({ err: error }, 'an erasure could not go on: it is tried again');
      }
    }
  }

  let round: Promise<void> = Promise.resolve();
  function inBackground(task: () => Promise<void>): void {
    round = round
      .then(task)
      .catch((error: unknown) => log.warn({ err: error }, 'the holds could not be read'));
  }

  return {
    async erase(givenId, { confirm, dryRun = false }, caller) {
      const userId = parseUserId(givenId);
      const scope = toScope(userId);
      if (confirm !== userId) {
        const message = 'must be the user id again';
        throw new MemoryError('INVALID_REQUEST', `confirm ${message}.`, {
          details: { issues: [{ path: '/confirm', message }] },
        });
      }
      const erasure = requireErasure(storage);
      const known = (await listHolds()).find((hold) => hold.scope === scope);
      if (known === undefined) await checkKnown(erasure, scope);
      if (dryRun) return await preview(scope);
      if (known !== undefined) {
        const isStalled = Math.abs(now() - known.progressAt) > STALLED_MS;
        if (active.has(known.id) || (isShared && !isStalled)) throw memoryHeld(known);
        return await work(erasure, known, caller);
      }
      const startedAt = now();
      const hold: HoldRecord = {
        ...{ scope, id: randomUUID(), kind: 'erase', progressAt: startedAt },
        details: {
          ...{ startedAt, chainHead: await readChainHead(storage, scope) },
          ...{ readers: null, tables: {}, auditRows: 0 },
        },
      };
      const audit = toAuditRecord(ids, {
        ...{ action: 'users.erase', target: userId, details: { step: 'begin' }, ...caller },
      });
      const other = await erasure.begin(hold, audit);
      if (other !== null) throw memoryHeld(other);
      return await work(erasure, hold, caller);
    },

    check(userId) {
      if (held.size === 0) return;
      const hold = held.get(toScope(userId));
      if (hold !== undefined) throw memoryHeld(hold);
    },

    look,

    start() {
      isStopped = false;
      inBackground(() => resume(() => true));
      const isDue = ({ progressAt }: HoldRecord) => Math.abs(now() - progressAt) > STALLED_MS;
      const every = (ms: number, task: () => Promise<void>) =>
        setInterval(() => inBackground(task), ms).unref();
      timers = [every(STALLED_MS, () => resume(isDue))];
      if (isShared)
        timers.push(setInterval(() => void look().catch(() => undefined), LOOK_MS).unref());
    },

    async stop() {
      isStopped = true;
      for (const timer of timers) clearInterval(timer);
      timers = [];
      await round;
      await Promise.allSettled(active.values());
    },
  };
}

/** Throws `FILE_NOT_FOUND` for a user of whom there is nothing, and never was. */
async function checkKnown(erasure: ErasureStore, scope: ScopeKey): Promise<void> {
  const userId = scope.slice(2);
  if (Object.keys(await erasure.count(scope)).length > 0) return;
  if ((await erasure.erasedAt(scope)) !== null) return;
  const message = `There never was any memory of ${userId}.`;
  throw new MemoryError('FILE_NOT_FOUND', message, { details: { userId } });
}

async function readChainHead(storage: Storage, scope: ScopeKey): Promise<string | null> {
  return await storage.mutate({ scopes: [scope], files: [] }, (current) => {
    const state = current.scope(scope);
    const result = state.revisions === 0 ? null : chainHeadOf(state);
    return { result, writes: 0, changes: {} };
  });
}

function toProgress({ details, progressAt }: HoldRecord): Progress {
  const empty = { startedAt: progressAt, chainHead: null, readers: null, tables: {}, auditRows: 0 };
  return { ...empty, ...details };
}

function sum(one: RowCounts, other: RowCounts): RowCounts {
  const total: Record<string, number> = { ...one };
  for (const [table, rows] of Object.entries(other)) total[table] = (total[table] ?? 0) + rows;
  return total;
}
