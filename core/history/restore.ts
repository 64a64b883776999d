import { randomUUID } from 'node:crypto';
import type { RestoreAnswer, RestoredFile, RestoreRequest } from '../contracts/admin.ts';
import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import { NOBODY } from '../telemetry/audit.ts';
import type { AdminFiles } from '../files/admin-files.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import { type HeldWrite, isStalled, MAX_HOLDS, memoryHeld } from '../files/hold.ts';
import { createHeldWork, type HeldWork } from '../files/held-work.ts';
import { type Owner, type OwnerId, SHARED, toOwner, toScope } from '../files/paths.ts';
import {
  type Goal,
  isSameGoal,
  nameScope,
  parseGoal,
  toAction,
  toGoal,
  toOptions,
} from './restore/goal.ts';
import { planTarget, previewRestore } from './restore/plan.ts';
import { createReceipt } from './restore/receipt.ts';
import { tellTies } from './restore/ties.ts';
import {
  checkErased,
  checkGoal,
  type Survey,
  surveyMemory,
  type Target,
} from './restore/survey.ts';
import { createRedactionCounter } from './redaction-counter.ts';
import type { Revisions } from './revisions.ts';
import { createTexts } from './texts.ts';
import {
  BATCH_BYTES,
  BATCH_FILES,
  type BatchWork,
  toBatches,
  writeBatch,
} from './write-batches.ts';

/** Restores of the memory of a user, or of shared memory (`null`), to an earlier time. */
export interface Restores {
  /**
   * Makes a memory, or one file or folder of it, what it was at a time, by new revisions.
   *
   * Up to 100 files and 2 MB are one transaction. A larger restore takes several, and other writes
   * to the memory get `MEMORY_HELD` (503, retryable) until its end. If the process dies meanwhile,
   * the service goes on with it after its next start, or when the same restore is asked for again.
   */
  restore(
    owner: OwnerId | null,
    request: RestoreRequest,
    caller: AuditCaller,
  ): Promise<RestoreAnswer>;
  /**
   * Ends a restore that was cut off and can't go on: writes to the memory go on, and the files stay as
   * they are now. Throws `MEMORY_HELD` while it is under way, and `RUN_STATE` if there is none.
   */
  release(owner: OwnerId | null, caller: AuditCaller): Promise<Owner & { released: true }>;
  /** Goes on with restores that were cut off, as `HeldWork.start` says. */
  start(): void;
  /** Waits for the restore under way to end its batch; later starts go on with it. */
  stop(): Promise<void>;
}

/** The parts that restoring a memory needs. */
interface RestoreParts {
  storage: Pick<
    Storage,
    | 'files'
    | 'holds'
    | 'mutate'
    | 'filename'
    | 'erasure'
    | 'inspection'
    | 'revisions'
    | 'noteDamage'
    | 'doubtMs'
  >;
  files: Pick<AdminFiles, 'restore'>;
  revisions: Pick<Revisions, 'memoryAt' | 'textAt'>;
  erasures: Pick<KnownErasures, 'latest'>;
  now: () => number;
}

/** Creates the restores of a storage; they write through the one write path. */
export function createRestores(deps: RestoreParts & { log: Logger }): Restores {
  const { storage, files, log, now } = deps;
  const ties = { storage, ...createTexts(storage) };
  const heldWork = createHeldWork('restore', {
    storage,
    log,
    now,
    goOn: (hold) => workHeld({ hold, isTaken: true }, toGoal(hold), NOBODY),
  });

  /**
   * Does, or goes on with, a restore for which the other writes wait. A hold that somebody else has
   * released is not taken again: users have written since.
   */
  async function workHeld(
    { hold, isTaken }: { hold: HoldRecord; isTaken: boolean },
    goal: Goal,
    caller: AuditCaller,
  ): Promise<RestoreAnswer> {
    const { checkRunning } = heldWork;
    return await heldWork.run(hold, async () => {
      const step = isTaken ? 'work' : 'take';
      await files.restore([], toOptions(goal, { hold, step }), caller);
      // Again: others may have written until the hold was taken.
      const found = await surveyMemory(deps.revisions, goal);
      const answer = await writeAll(deps, found, { goal, caller, hold, checkRunning });
      await files.restore([], toOptions(goal, { hold, step: 'release' }), caller);
      return answer;
    });
  }

  return {
    async restore(owner, request, caller) {
      const scope = owner === null ? SHARED : toScope(owner);
      const knownErasure = deps.erasures.latest();
      const goal = parseGoal(scope, request, now());
      const held = await findHold(storage, scope);
      if (held?.kind === 'erase') throw memoryHeld(held);
      const found = await surveyMemory(deps.revisions, goal);
      if (goal.at < found.firstAt) await checkErased(storage, goal);
      checkGoal(goal, found);
      if (request.dryRun === true) {
        return await tellTies(ties, goal, await previewRestore(deps, found, goal));
      }
      if (held !== null) {
        checkSame(heldWork, held, goal);
        const answer = await workHeld({ hold: held, isTaken: true }, goal, caller);
        return await tellTies(ties, goal, answer);
      }
      if (isOneBatch(found)) {
        const answer = await writeAll(deps, found, { goal, caller, knownErasure });
        return await tellTies(ties, goal, answer);
      }
      if (storage.holds === undefined) throw tooLarge();
      const details = { at: goal.at, path: goal.path };
      const id = randomUUID();
      const hold = { scope, id, kind: 'restore', progressAt: now(), details } as const;
      const answer = await workHeld({ hold, isTaken: false }, goal, caller);
      return await tellTies(ties, goal, answer);
    },

    async release(of, caller) {
      const scope = of === null ? SHARED : toScope(of);
      const owner = toOwner(scope);
      const hold = await findHold(storage, scope);
      if (hold === null) {
        const name = nameScope(scope);
        throw new MemoryError('RUN_STATE', `No restore holds the memory of ${name}.`, {
          details: { ...owner, reason: 'not_held' },
        });
      }
      // What is left of an erasure is half of a memory: it goes on.
      if (hold.kind === 'erase' || heldWork.isBusy(hold) || !isStalled(hold, now())) {
        throw memoryHeld(hold);
      }
      const options = toOptions(toGoal(hold), { hold, step: 'release' });
      const action = toAction(scope, 'release');
      await files.restore([], { ...options, action }, caller);
      return { ...owner, released: true };
    },

    start: heldWork.start,
    stop: heldWork.stop,
  };
}

/** Throws `MEMORY_HELD` unless the hold is that of the same restore, and nobody works under it. */
function checkSame(heldWork: HeldWork, held: HoldRecord, goal: Goal): void {
  const isSame = held.kind === 'restore' && isSameGoal(toGoal(held), goal);
  if (!isSame || heldWork.isBusy(held)) throw memoryHeld(held);
}

function isOneBatch({ targets }: Survey): boolean {
  const bytes = targets.reduce((sum, { size }) => sum + size, 0);
  return targets.length <= BATCH_FILES && bytes <= BATCH_BYTES;
}

function tooLarge(): MemoryError {
  const message = 'This storage can restore 100 files and 2 MB at once: restore by path.';
  return new MemoryError('WORK_LIMIT_EXCEEDED', message, {
    details: { limit: 'files', max: BATCH_FILES },
  });
}

/** How the files of a restore are written. */
interface WriteOptions {
  goal: Goal;
  caller: AuditCaller;
  /** Absent for a restore that is one transaction. */
  hold?: HoldRecord;
  knownErasure?: number;
  /** Called before each batch; throws once the service stops. */
  checkRunning?: () => void;
}

/** Writes the files of a survey, batch by batch. */
async function writeAll(
  parts: RestoreParts,
  { targets, unchanged }: Survey,
  { goal, caller, hold, knownErasure, checkRunning }: WriteOptions,
): Promise<RestoreAnswer> {
  const receipt = createReceipt(goal, { dryRun: false, unchanged });
  const held: HeldWrite | undefined = hold === undefined ? undefined : { hold, step: 'work' };
  const redactions = createRedactionCounter(parts.storage);
  const work: BatchWork<Target, RestoredFile> = {
    plan: async (target) => [await planTarget(parts, target, { diffs: null, redactions })],
    async write(restorations) {
      const options = { ...toOptions(goal, held), knownErasure };
      try {
        return await parts.files.restore(restorations, options, caller);
      } catch (error) {
        redactions.forget();
        throw error;
      }
    },
  };
  for await (const batch of toBatches(targets, (target) => work.plan(target))) {
    checkRunning?.();
    for (const outcome of await writeBatch(work, batch)) receipt.add(outcome);
  }
  return receipt.answer();
}

async function findHold(
  storage: Pick<Storage, 'holds'>,
  scope: ScopeKey,
): Promise<HoldRecord | null> {
  const holds = (await storage.holds?.list(MAX_HOLDS)) ?? [];
  return holds.find((hold) => hold.scope === scope) ?? null;
}
