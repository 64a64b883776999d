import { randomUUID } from 'node:crypto';
import type { RestoreAnswer, RestoredFile, RestoreRequest } from '../contracts/admin.ts';
import type { Logger } from '../contracts/logger.ts';
import type { FileKey, HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import type { AdminAuthor, AdminFiles } from '../files/admin-files.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import { type HeldWrite, isStalled, MAX_HOLDS, memoryHeld } from '../files/hold.ts';
import { createHeldWork } from '../files/held-work.ts';
import {
  parsePhysicalPath,
  parsePhysicalPrefix,
  parseUserId,
  toPhysicalPath,
  toScope,
} from '../files/paths.ts';
import { createPause } from '../time/pause.ts';
import { parseTime, toTime } from '../time/time.ts';
import { createDiffBudget, type DiffBudget } from './diff-budget.ts';
import type { Revisions } from './revisions.ts';
import {
  BATCH_BYTES,
  BATCH_FILES,
  type BatchWork,
  leave,
  type Plan,
  toBatches,
  unwritten,
  writeBatch,
} from './write-batches.ts';

/** The most files that an answer lists. */
const MAX_LISTED = 1_000;
/** Files that are looked at in one query. */
const PAGE = 500;

/** Restores of users' memory to an earlier time. */
export interface Restores {
  /**
   * Makes a user's memory, or one file or folder of it, what it was at a time, by new revisions.
   *
   * Up to 100 files and 2 MB are one transaction. A larger restore takes several, and other writes
   * to the memory get `MEMORY_HELD` (503, retryable) until its end. If the process dies meanwhile,
   * the service goes on with it after its next start, or when the same restore is asked for again.
   */
  restore(userId: string, request: RestoreRequest, caller: AdminAuthor): Promise<RestoreAnswer>;
  /**
   * Ends a restore that was cut off and can't go on: writes to the memory go on, and the files stay as
   * they are now. Throws `MEMORY_HELD` while it is under way, and `RUN_STATE` if there is none.
   */
  release(userId: string, caller: AdminAuthor): Promise<{ userId: string; released: true }>;
  /** Goes on with restores that were cut off, as `HeldWork.start` says. */
  start(): void;
  /** Waits for the restore under way to end its batch; later starts go on with it. */
  stop(): Promise<void>;
}

/** What is to be restored. */
interface Goal {
  scope: ScopeKey;
  at: number;
  /** A path of the scope; `''` for all, a folder ends in `/`. */
  path: string;
}

/** A file that is not as it was. */
interface Target {
  key: FileKey;
  /** `null` if it did not exist; `undefined` if its history is pruned. */
  version: number | null | undefined;
  size: number;
}

/** What a look at the memory found. */
interface Survey {
  targets: Target[];
  unchanged: number;
  examined: number;
  /** When the oldest of the examined files was first written; `Infinity` without any. */
  firstAt: number;
}

/** Creates the restores of a storage; they write through the one write path. */
export function createRestores(deps: {
  storage: Pick<Storage, 'files' | 'holds' | 'mutate' | 'filename' | 'erasure'>;
  files: Pick<AdminFiles, 'restore'>;
  revisions: Pick<Revisions, 'memoryAt' | 'textAt'>;
  erasures: Pick<KnownErasures, 'latest'>;
  log: Logger;
  now: () => number;
}): Restores {
  const { storage, files, revisions, log, now } = deps;
  const heldWork = createHeldWork('restore', {
    storage,
    log,
    now,
    goOn: (hold) =>
      workHeld({ hold, isTaken: true }, toGoal(hold), { address: null, traceId: null }),
  });

  async function survey({ scope, at, path }: Goal): Promise<Survey> {
    const found: Survey = { targets: [], unchanged: 0, examined: 0, firstAt: Infinity };
    const isOneFile = path !== '' && !path.endsWith('/');
    const pause = createPause();
    let after: string | null = null;
    do {
      const limit = isOneFile ? 1 : PAGE;
      const page = await revisions.memoryAt(scope, { at, prefix: path, after, limit });
      for (const { file, revision, state } of page.files) {
        if (isOneFile && file.path !== path) continue;
        found.examined += 1;
        found.firstAt = Math.min(found.firstAt, file.createdAt);
        const isSame =
          state === 'present'
            ? file.deletedAt === null && file.hash === revision?.hash
            : state === 'absent' && file.deletedAt !== null;
        if (isSame) {
          found.unchanged += 1;
          continue;
        }
        const version =
          state === 'present' ? revision?.version : state === 'absent' ? null : undefined;
        found.targets.push({ key: { scope, path: file.path }, version, size: revision?.size ?? 0 });
      }
      after = isOneFile ? null : page.next;
      await pause();
    } while (after !== null);
    // Files that go make room for those that come back.
    found.targets.sort((a, b) => Number(a.version !== null) - Number(b.version !== null));
    return found;
  }

  /** What becomes of a file. */
  async function planTarget(
    { key, version }: Target,
    diffs: DiffBudget | null,
  ): Promise<Plan<RestoredFile>> {
    const path = toPhysicalPath(key);
    if (version === undefined) return leave(path, 'gone', 'Its history of that time is pruned.');
    let content: string | null;
    let head;
    try {
      head = await storage.files.get(key);
      content = version === null ? null : await revisions.textAt(key, version);
    } catch (error) {
      if (error instanceof MemoryError && error.code === 'STORAGE_DAMAGED') {
        return leave(path, 'refused', error.message);
      }
      throw error;
    }
    if (version !== null && content === null) {
      return leave(path, 'gone', 'Its content of that time is pruned or redacted.');
    }
    const present = head?.content ?? null;
    return {
      outcome: {
        ...unwritten(path),
        outcome: content === null ? 'deleted' : 'restored',
        ...diffs?.diff(present, content, path),
      },
      restoration: { key, content, ifVersion: present === null ? 0 : (head?.version ?? 0) },
    };
  }

  async function preview({ targets, unchanged }: Survey, goal: Goal): Promise<RestoreAnswer> {
    const receipt = createReceipt(goal, { dryRun: true, unchanged });
    const diffs = createDiffBudget();
    for (const target of targets) {
      const isListed = receipt.hasRoom();
      const { outcome } = isListed
        ? await planTarget(target, diffs)
        : { outcome: toUnlisted(target) };
      receipt.add(outcome);
    }
    return receipt.answer();
  }

  async function writeAll(
    { targets, unchanged }: Survey,
    goal: Goal,
    {
      caller,
      hold,
      knownErasure,
    }: { caller: AdminAuthor; hold: HoldRecord | null; knownErasure?: number },
  ): Promise<RestoreAnswer> {
    const receipt = createReceipt(goal, { dryRun: false, unchanged });
    const held: HeldWrite | undefined = hold === null ? undefined : { hold, step: 'work' };
    const work: BatchWork<Target, RestoredFile> = {
      plan: async (target) => [await planTarget(target, null)],
      write: (restorations) =>
        files.restore(restorations, { ...toOptions(goal, held), knownErasure }, caller),
    };
    for await (const batch of toBatches(targets, (target) => work.plan(target))) {
      if (hold !== null) heldWork.checkRunning();
      for (const outcome of await writeBatch(work, batch)) receipt.add(outcome);
    }
    return receipt.answer();
  }

  /**
   * Does, or goes on with, a restore for which the other writes wait. A hold that somebody else has
   * released is not taken again: users have written since.
   */
  async function workHeld(
    { hold, isTaken }: { hold: HoldRecord; isTaken: boolean },
    goal: Goal,
    caller: AdminAuthor,
  ): Promise<RestoreAnswer> {
    return await heldWork.run(hold, async () => {
      const step = isTaken ? 'work' : 'take';
      await files.restore([], toOptions(goal, { hold, step }), caller);
      // Again: others may have written until the hold was taken.
      const answer = await writeAll(await survey(goal), goal, { caller, hold });
      await files.restore([], toOptions(goal, { hold, step: 'release' }), caller);
      return answer;
    });
  }

  return {
    async restore(userId, request, caller) {
      const knownErasure = deps.erasures.latest();
      const goal = parseGoal(userId, request, now());
      const held = await findHold(storage, goal.scope);
      if (held?.kind === 'erase') throw memoryHeld(held);
      const found = await survey(goal);
      if (goal.at < found.firstAt) await checkErased(storage, goal);
      checkGoal(goal, found);
      if (request.dryRun === true) return await preview(found, goal);
      if (held !== null) {
        const isSame = held.kind === 'restore' && isSameGoal(toGoal(held), goal);
        if (!isSame || heldWork.isBusy(held)) throw memoryHeld(held);
        return await workHeld({ hold: held, isTaken: true }, goal, caller);
      }
      const bytes = found.targets.reduce((sum, { size }) => sum + size, 0);
      if (found.targets.length <= BATCH_FILES && bytes <= BATCH_BYTES) {
        return await writeAll(found, goal, { caller, hold: null, knownErasure });
      }
      if (storage.holds === undefined) {
        const message = 'This storage can restore 100 files and 2 MB at once: restore by path.';
        throw new MemoryError('WORK_LIMIT_EXCEEDED', message, {
          details: { limit: 'files', max: BATCH_FILES },
        });
      }
      const details = { at: goal.at, path: goal.path };
      const { scope } = goal;
      const hold = {
        scope,
        id: randomUUID(),
        kind: 'restore',
        progressAt: now(),
        details,
      } as const;
      return await workHeld({ hold, isTaken: false }, goal, caller);
    },

    async release(userId, caller) {
      const scope = toScope(parseUserId(userId));
      const hold = await findHold(storage, scope);
      if (hold === null) {
        throw new MemoryError('RUN_STATE', `No restore holds the memory of ${userId}.`, {
          details: { userId, reason: 'not_held' },
        });
      }
      // What is left of an erasure is half of a memory: it goes on.
      if (hold.kind === 'erase' || heldWork.isBusy(hold) || !isStalled(hold, now())) {
        throw memoryHeld(hold);
      }
      const options = toOptions(toGoal(hold), { hold, step: 'release' });
      await files.restore([], { ...options, action: 'users.release' }, caller);
      return { userId, released: true };
    },

    start: heldWork.start,
    stop: heldWork.stop,
  };
}

function parseGoal(
  userId: string,
  { at, path }: Pick<RestoreRequest, 'at' | 'path'>,
  now: number,
): Goal {
  const scope = toScope(parseUserId(userId));
  const time = parseTime(at, 'at');
  if (time > now) throw invalidTime(`${at} is in the future`);
  if (path === undefined) return { scope, at: time, path: '' };
  const home = `users/${userId}/`;
  if (!path.startsWith(home)) {
    throw new MemoryError('INVALID_PATH', `path must start with ${home}.`, { details: { path } });
  }
  const inside = path.endsWith('/')
    ? parsePhysicalPrefix(path).slice(home.length)
    : parsePhysicalPath(path).path;
  return { scope, at: time, path: inside };
}

/** Throws `REVISION_NOT_FOUND` for a time before the user was erased. */
async function checkErased(
  { erasure }: Pick<Storage, 'erasure'>,
  { scope, at }: Goal,
): Promise<void> {
  const erasedAt = (await erasure?.erasedAt(scope)) ?? null;
  if (erasedAt === null || at >= erasedAt) return;
  const [userId, time] = [scope.slice(2), toTime(erasedAt)];
  const message = `The memory of ${userId} was erased at ${time}: nothing from before can be restored.`;
  throw new MemoryError('REVISION_NOT_FOUND', message, {
    details: { userId, reason: 'erased', erasedAt: time },
  });
}

/** Refuses what would delete everything because of a mistake. */
function checkGoal({ scope, at, path }: Goal, { examined, firstAt }: Survey): void {
  const whole = `${scope.slice(2)}${path === '' ? '' : ` in ${toPhysicalPath({ scope, path })}`}`;
  if (examined === 0) {
    const details = { userId: scope.slice(2), path };
    throw new MemoryError('FILE_NOT_FOUND', `There never was any memory of ${whole}.`, { details });
  }
  if (at < firstAt) {
    throw invalidTime(`${toTime(at)} is before the first write, at ${toTime(firstAt)}`);
  }
}

async function findHold(
  storage: Pick<Storage, 'holds'>,
  scope: ScopeKey,
): Promise<HoldRecord | null> {
  const holds = (await storage.holds?.list(MAX_HOLDS)) ?? [];
  return holds.find((hold) => hold.scope === scope) ?? null;
}

function toGoal({ scope, details }: HoldRecord): Goal {
  return { scope, at: Number(details['at']), path: String(details['path']) };
}

function isSameGoal(one: Goal, other: Goal): boolean {
  return one.scope === other.scope && one.at === other.at && one.path === other.path;
}

function toOptions({ scope, at, path }: Goal, held?: HeldWrite) {
  const step = held === undefined ? {} : { step: held.step };
  return {
    action: 'users.restore',
    target: scope.slice(2),
    reason: `Restores the memory as of ${toTime(at)}.`,
    details: {
      at: toTime(at),
      path: path === '' ? null : toPhysicalPath({ scope, path }),
      ...step,
    },
    qualifies: true,
    held,
  };
}

/** A file of a preview that is counted and not looked at further. */
function toUnlisted({ key, version }: Target): RestoredFile {
  const outcome = version === undefined ? 'gone' : version === null ? 'deleted' : 'restored';
  return { ...unwritten(toPhysicalPath(key)), outcome };
}

/** Counts what became of the files, and lists as many as an answer may have. */
function createReceipt(goal: Goal, start: { dryRun: boolean; unchanged: number }) {
  const counts = { restored: 0, deleted: 0, left: 0 };
  const left: RestoredFile[] = [];
  const done: RestoredFile[] = [];
  const byPath = (one: RestoredFile, other: RestoredFile) => (one.path < other.path ? -1 : 1);
  return {
    hasRoom: () => done.length + left.length < MAX_LISTED,
    add(file: RestoredFile): void {
      const isLeft = file.outcome === 'gone' || file.outcome === 'refused';
      counts[isLeft ? 'left' : (file.outcome as 'restored' | 'deleted')] += 1;
      const list = isLeft ? left : done;
      if (list.length < MAX_LISTED) list.push(file);
    },
    answer(): RestoreAnswer {
      const files = [...left.sort(byPath), ...done.sort(byPath)].slice(0, MAX_LISTED);
      const listed = counts.restored + counts.deleted + counts.left;
      return {
        ...start,
        at: toTime(goal.at),
        ...counts,
        files,
        filesOmitted: listed - files.length,
      };
    },
  };
}

function invalidTime(message: string): MemoryError {
  return invalidField('/at', message, 'The time');
}
