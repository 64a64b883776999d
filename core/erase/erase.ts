import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EraseAnswer, ErasedReader, EraseRequest } from '../contracts/admin.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import type { ErasureStore, RowCounts } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import type { AdminAuthor } from '../files/admin-files.ts';
import { createHeldWork } from '../files/held-work.ts';
import { memoryHeld } from '../files/hold.ts';
import { type KnownErasures, LOOK_MS } from '../files/known-erasures.ts';
import { parseUserId, toScope } from '../files/paths.ts';
import { chainHeadOf } from '../history/chain.ts';
import { requireErasure } from '../history/redact.ts';
import { nameLeftovers } from '../maintenance/leftovers.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { toTime, toTimeOrNull } from '../time/time.ts';
import { eraseAuditReferences, findOwnIds } from './audit-references.ts';
import { listCopies, removeCopies } from './copies.ts';
import { findReaders } from './readers.ts';
import { DATABASE_FILE, type Rewriter } from './rewriter.ts';

/** Rows that one transaction removes. */
const BATCH_ROWS = 500;

const KEEPS = [
  'The user id with the counters that give new ids, and the time of the erasure. So ids never repeat, and a restore can say that the user was erased.',
  'In the audit: that the user was erased, and when. Other rows keep their action and time.',
  'Totals of the dashboard that count all users together.',
];
const MAY_REMAIN = [
  'Backups, exports, and copies of the database elsewhere.',
  'Traces that were sent to an exporter, and logs.',
  'The providers of the model and of the embedder.',
  'Files that others wrote after they had read the memory: the receipt lists them.',
];

/** Erasures of users. */
export interface Erasures {
  /**
   * Removes everything of a user: files, history, access log, events, search index, dreaming. While
   * it lasts, all calls for the user get `MEMORY_HELD`. If the process dies meanwhile, the service
   * goes on after its next start, or when the same erasure is asked for again.
   */
  erase(userId: string, request: EraseRequest, caller: AdminAuthor): Promise<EraseAnswer>;
  /** Goes on with erasures that were cut off, as `HeldWork.start` says. */
  start(): void;
  /** Waits for the erasure under way to end its batch. */
  stop(): Promise<void>;
}

/** What is kept of an erasure while it lasts. */
interface Progress {
  startedAt: number;
  /** When an erasure of the user ended before this one; `null` if none did. */
  erasedBefore: number | null;
  chainHead: string | null;
  /** `null` until they were looked for. */
  readers: { readers: ErasedReader[]; isComplete: boolean } | null;
  tables: RowCounts;
  auditRows: number;
  /** Whether the copies beside the database go, too. */
  removeCopies: boolean;
}

/** Creates the erasures of a storage. */
export function createErasures(deps: {
  storage: Storage;
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'flush' | 'forgetCounts'>;
  rewriter: Pick<Rewriter, 'settle'>;
  known: KnownErasures;
  log: Logger;
  now: () => number;
  /** How often an instance looks which users the others are erasing; default 1,000. */
  lookMs?: number | undefined;
}): Erasures {
  const { storage, ids, known, log, now, lookMs = LOOK_MS } = deps;
  const heldWork = createHeldWork('erase', {
    storage,
    log,
    now,
    goOn: (hold) => work(requireErasure(storage), { hold }, { address: null, traceId: null }),
  });
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined;

  async function preview(scope: ScopeKey): Promise<EraseAnswer> {
    const userId = scope.slice(2);
    const erasure = requireErasure(storage);
    const tables = await erasure.count(scope);
    const readers = await findReaders(storage, scope);
    return {
      dryRun: true,
      userId,
      erasedAt: null,
      tables,
      auditRows: 0,
      left: tables,
      erasedBefore: toTimeOrNull(await erasure.erasedAt(scope)),
      chainHead: await readChainHead(storage, scope),
      ...toReaders({ readers }),
      pending: [],
      copies: await listCopies(storage),
      keeps: KEEPS,
      mayRemain: await mayRemain(erasure),
    };
  }

  async function work(
    erasure: ErasureStore,
    { hold, number = 0 }: { hold: HoldRecord; number?: number },
    caller: AdminAuthor,
  ): Promise<EraseAnswer> {
    known.note(hold.scope, { hold, number });
    return await heldWork.run(hold, () => eraseHeld(erasure, hold, caller));
  }

  async function eraseHeld(
    erasure: ErasureStore,
    hold: HoldRecord,
    caller: AdminAuthor,
  ): Promise<EraseAnswer> {
    const { scope } = hold;
    const userId = scope.slice(2);
    let progress = toProgress(hold);
    const toHold = (next: Partial<Progress>) => ({
      ...hold,
      progressAt: now(),
      details: { ...progress, ...next },
    });
    const saveProgress = async (next: Partial<Progress>) => {
      heldWork.checkRunning();
      await erasure.erase(hold, { limit: 0, progress: () => toHold(next) });
      progress = { ...progress, ...next };
    };
    const scrubAudit = async () => {
      const changed = await eraseAuditReferences(erasure, scope, ownIds);
      if (changed > 0) await saveProgress({ auditRows: progress.auditRows + changed });
    };
    if (isShared) await sleep(2 * lookMs);
    // From rows that will be gone.
    if (progress.readers === null) {
      await saveProgress({ readers: await findReaders(storage, scope) });
    }
    const ownIds = await findOwnIds(storage, scope);
    await scrubAudit();
    for (let isEmpty = false; !isEmpty;) {
      heldWork.checkRunning();
      let tables = progress.tables;
      const removed = await erasure.erase(hold, {
        limit: BATCH_ROWS,
        progress(counts) {
          tables = sum(progress.tables, counts);
          return toHold({ tables });
        },
      });
      progress = { ...progress, tables };
      isEmpty = Object.keys(removed).length === 0;
    }
    await deps.accessQueue.flush();
    // What an operator asked for just before the erasure has its row now.
    await scrubAudit();
    const at = now();
    const { chainHead, auditRows } = progress;
    const { removed: last, number } = await erasure.end(hold, {
      at,
      audit: (removed) =>
        toAuditRecord(ids, {
          action: 'users.erase',
          target: userId,
          details: {
            step: 'end',
            tables: sum(progress.tables, removed),
            auditRows,
            chainHead,
            ...(erasure.file === undefined ? {} : { pending: [DATABASE_FILE] }),
            // Who asked for the erasure may not get the answer.
            ...toReaders(progress),
          },
          ...caller,
        }),
    });
    // Before what may fail: the user's calls go on.
    known.note(scope, { hold: null, number });
    await deps.accessQueue.forgetCounts();
    const copies = progress.removeCopies ? await removeCopies(storage) : await listCopies(storage);
    const pending = await deps.rewriter.settle();
    const left = await erasure.count(scope);
    return {
      dryRun: false,
      userId,
      erasedAt: toTime(at),
      erasedBefore: toTimeOrNull(progress.erasedBefore),
      tables: sum(progress.tables, last),
      auditRows,
      left,
      chainHead,
      ...toReaders(progress),
      pending,
      copies,
      keeps: KEEPS,
      mayRemain: await mayRemain(erasure),
    };
  }

  return {
    async erase(givenId, { confirm, dryRun = false, removeCopies: goCopies = false }, caller) {
      const userId = parseUserId(givenId);
      const scope = toScope(userId);
      if (confirm !== userId) {
        throw invalidField('/confirm', 'must be the user id again', 'confirm');
      }
      const erasure = requireErasure(storage);
      const held = (await heldWork.list()).find((hold) => hold.scope === scope);
      if (held === undefined) await checkKnown(erasure, scope);
      // Reads that are still queued tell who has read the memory; after the beginning they get lost.
      await deps.accessQueue.flush();
      if (dryRun) return await preview(scope);
      if (held !== undefined) {
        if (heldWork.isBusy(held)) throw memoryHeld(held);
        const details = goCopies ? { ...held.details, removeCopies: true } : held.details;
        return await work(erasure, { hold: { ...held, details } }, caller);
      }
      // So are those of other instances, which write them several times a second.
      if (isShared) await sleep(lookMs);
      const startedAt = now();
      const hold: HoldRecord = {
        scope,
        id: randomUUID(),
        kind: 'erase',
        progressAt: startedAt,
        details: {
          startedAt,
          erasedBefore: await erasure.erasedAt(scope),
          chainHead: await readChainHead(storage, scope),
          readers: null,
          tables: {},
          auditRows: 0,
          removeCopies: goCopies,
        },
      };
      const audit = toAuditRecord(ids, {
        action: 'users.erase',
        target: userId,
        details: { step: 'begin' },
        ...caller,
      });
      const { other, number } = await erasure.begin(hold, audit);
      if (other !== null) throw memoryHeld(other);
      return await work(erasure, { hold, number }, caller);
    },

    start() {
      heldWork.start();
      known.start();
    },

    async stop() {
      known.stop();
      await heldWork.stop();
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
  const none = { erasedBefore: null, chainHead: null, readers: null, tables: {}, auditRows: 0 };
  return { startedAt: progressAt, ...none, removeCopies: false, ...details };
}

async function mayRemain(erasure: ErasureStore): Promise<string[]> {
  return [...(erasure.mayRemain ?? []), ...MAY_REMAIN, ...(await nameLeftovers())];
}

function toReaders({ readers }: Pick<Progress, 'readers'>) {
  return { readers: readers?.readers ?? [], readersComplete: readers?.isComplete ?? false };
}

function sum(one: RowCounts, other: RowCounts): RowCounts {
  const total: Record<string, number> = { ...one };
  for (const [table, rows] of Object.entries(other)) total[table] = (total[table] ?? 0) + rows;
  return total;
}
