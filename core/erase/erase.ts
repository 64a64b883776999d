import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  EraseAnswer,
  EraseRequest,
  PrefixEraseAnswer,
  PrefixEraseRequest,
} from '../contracts/admin.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import { invalidField, MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import { createHeldWork } from '../files/held-work.ts';
import { memoryHeld } from '../files/hold.ts';
import { LOOK_MS } from '../files/known-erasures.ts';
import { labelOf, type OwnerId, ownerOf, toOwner, toScope } from '../files/paths.ts';
import { requireErasure } from '../history/redact.ts';
import { NOBODY, toAuditRecord } from '../telemetry/audit.ts';
import { eraseMemory, type EraseParts } from './erase-memory.ts';
import { erasePrefix } from './erase-prefix.ts';
import { previewErasure, readChainHead, toEraseAction } from './receipt.ts';

/** Erasures of users. */
export interface Erasures {
  /**
   * Removes everything of a user: files, history, access log, events, search index, dreaming. While
   * it lasts, all calls for the user get `MEMORY_HELD`. If the process dies meanwhile, the service
   * goes on after its next start, or when the same erasure is asked for again.
   */
  erase(owner: OwnerId, request: EraseRequest, caller: AuditCaller): Promise<EraseAnswer>;
  /** Erases a page of the users and spaces whose ids start alike: see {@link erasePrefix}. */
  erasePrefix(request: PrefixEraseRequest, caller: AuditCaller): Promise<PrefixEraseAnswer>;
  /** Goes on with erasures that were cut off, as `HeldWork.start` says. */
  start(): void;
  /** Waits for the erasure under way to end its batch. */
  stop(): Promise<void>;
}

/** Creates the erasures of a storage. */
export function createErasures(
  deps: EraseParts & {
    log: Logger;
    /** How often an instance looks which users the others are erasing; default 1,000. */
    lookMs?: number | undefined;
  },
): Erasures {
  const { storage, known, lookMs = LOOK_MS } = deps;
  const heldWork = createHeldWork('erase', {
    storage,
    log: deps.log,
    now: deps.now,
    goOn: (hold) => work({ hold }, NOBODY),
  });
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined;

  async function work(
    { hold, number = 0 }: { hold: HoldRecord; number?: number },
    caller: AuditCaller,
  ): Promise<EraseAnswer> {
    const erasure = requireErasure(storage);
    const { checkRunning } = heldWork;
    const waitMs = isShared ? 2 * lookMs : 0;
    known.note(hold.scope, { hold, number });
    return await heldWork.run(hold, () =>
      eraseMemory(deps, { erasure, hold, waitMs, checkRunning, caller }),
    );
  }

  async function erase(
    owner: OwnerId,
    { confirm, dryRun = false, removeCopies = false }: EraseRequest,
    caller: AuditCaller,
  ): Promise<EraseAnswer> {
    const scope = toScope(owner);
    if (confirm !== ownerOf(scope)) {
      throw invalidField('/confirm', 'must be the id again', 'confirm');
    }
    const erasure = requireErasure(storage);
    const held = (await heldWork.list()).find((hold) => hold.scope === scope);
    if (held === undefined) await checkKnown(erasure, scope);
    // Reads that are still queued tell who has read the memory; after the beginning they get lost.
    await deps.accessQueue.flush();
    if (dryRun) return await previewErasure(storage, erasure, scope);
    if (held !== undefined) {
      if (heldWork.isBusy(held)) throw memoryHeld(held);
      const details = removeCopies ? { ...held.details, removeCopies: true } : held.details;
      return await work({ hold: { ...held, details } }, caller);
    }
    // So are those of other instances, which write them several times a second.
    if (isShared) await sleep(lookMs);
    return await work(await begin(deps, { scope, removeCopies, caller }), caller);
  }

  return {
    erase,
    erasePrefix: (request, caller) => erasePrefix({ ...deps, erase }, request, caller),

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

/** Takes the hold of an erasure. Throws `MEMORY_HELD` if the scope has another one. */
async function begin(
  { storage, ids, now }: EraseParts,
  { scope, removeCopies, caller }: { scope: ScopeKey; removeCopies: boolean; caller: AuditCaller },
): Promise<{ hold: HoldRecord; number: number }> {
  const erasure = requireErasure(storage);
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
      removeCopies,
    },
  };
  const audit = toAuditRecord(ids, {
    action: toEraseAction(scope),
    target: labelOf(scope),
    details: { step: 'begin' },
    ...caller,
  });
  const { other, number } = await erasure.begin(hold, audit);
  if (other !== null) throw memoryHeld(other);
  return { hold, number };
}

/** Throws `FILE_NOT_FOUND` for a user of whom there is nothing, and never was. */
async function checkKnown(erasure: ErasureStore, scope: ScopeKey): Promise<void> {
  if (Object.keys(await erasure.count(scope)).length > 0) return;
  if ((await erasure.erasedAt(scope)) !== null) return;
  const message = `There never was any memory of ${labelOf(scope)}.`;
  throw new MemoryError('FILE_NOT_FOUND', message, { details: { ...toOwner(scope) } });
}
