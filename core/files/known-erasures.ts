import type { FreezeRecord, HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import type { Storage } from '../contracts/storage.ts';
import { type FrozenWrite, isFrozenBy, writesFrozen } from './freeze.ts';
import { memoryErased, memoryHeld } from './hold.ts';
import { MemoryError } from '../errors.ts';

/** How often an instance looks at what operators do through the others. */
export const LOOK_MS = 1_000;
/** How many erasures are remembered. A call during which there were more is refused. */
const REMEMBERED = 10_000;

/**
 * The erasures that this instance knows, and the writes that operators have stopped. The database numbers them, since clocks of instances differ:
 * each call carries the latest number that was known when it was admitted, and a write of a call is
 * refused if its user has a greater one.
 */
export interface KnownErasures {
  /** The latest number that is known: what a call carries. */
  latest(): number;
  /** Throws `MEMORY_HELD` while one of these memories is being erased. */
  check(scopes: readonly ScopeKey[]): void;
  /**
   * For `decide` of a write that does not lock its user's scope. Throws `MEMORY_HELD` if the user was
   * erased since the call began, and {@link OldLook} if the last look is too old to say.
   */
  checkUnlocked(scope: ScopeKey, knownErasure: number): void;
  /**
   * Throws `WRITES_FROZEN` if an operator has stopped such a write, as far as the last look tells. For
   * `decide` it is to be certain: then it throws {@link OldLook} if that look is too old to say.
   */
  checkWrites(write: FrozenWrite, options?: { isCertain: boolean }): void;
  /** The freezes that are in force, oldest first. */
  freezes(): readonly FreezeRecord[];
  /** Reads what other instances erase and stop, if the last look is older than a look should be. */
  refresh(): Promise<void> | undefined;
  look(): Promise<void>;
  /** A look that begins now: after a change that has been committed. */
  lookAgain(): Promise<void>;
  /** This instance has begun an erasure, goes on with one, or has ended it (`null`). */
  note(scope: ScopeKey, erasure: { hold: HoldRecord | null; number: number }): void;
  /** The time by which freezes end: the database's, where several instances may share it. */
  time(ownTime: number, databaseTime: () => number): number;
  start(): void;
  stop(): void;
}

/** The last look is too old to say whether a write may go on: look again, and decide again. */
export class OldLook extends MemoryError {
  constructor() {
    super('STORAGE_UNAVAILABLE');
  }
}

/** A look at a storage that can't erase. */
const NOTHING: Awaited<ReturnType<ErasureStore['look']>> = {
  readAt: 0,
  latest: 0,
  erased: [],
  holds: [],
  freezes: [],
  now: null,
};

/** Creates what an instance knows of erasures and freezes. */
export function createKnownErasures({
  storage,
  lookMs = LOOK_MS,
  now,
  onEnd,
}: {
  storage: Pick<Storage, 'erasure' | 'filename'>;
  lookMs?: number | undefined;
  now: () => number;
  /** Called when a look shows that another instance has ended an erasure. */
  onEnd: () => Promise<void>;
}): KnownErasures {
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined && storage.erasure !== undefined;
  let held = new Map<ScopeKey, HoldRecord>();
  /** Also those whose time is over. */
  let frozen: readonly FreezeRecord[] = [];
  /** How far the database's clock is ahead of this instance's. */
  let aheadMs = 0;
  /** The last number of each scope, oldest number first. */
  const numbers = new Map<ScopeKey, number>();
  /** Erasures up to this number are not in `numbers`. */
  let forgotten = 0;
  /** The greatest number of any erasure, and of those that a look has found. */
  let latest = 0;
  let seen: number | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  function remember(scope: ScopeKey, number: number): void {
    if ((numbers.get(scope) ?? 0) >= number) return;
    numbers.delete(scope);
    numbers.set(scope, number);
    latest = Math.max(latest, number);
    for (const [oldest, its] of numbers) {
      if (numbers.size <= REMEMBERED) break;
      numbers.delete(oldest);
      forgotten = Math.max(forgotten, its);
    }
  }

  async function readOthers(): Promise<void> {
    const found = (await storage.erasure?.look(seen)) ?? NOTHING;
    if (seen === null) forgotten = found.latest;
    seen = found.latest;
    for (const { scope, number } of found.erased) remember(scope, number);
    latest = Math.max(latest, found.latest);
    const before = held;
    held = new Map(found.holds.map((hold) => [hold.scope, hold]));
    frozen = found.freezes;
    if (isShared && found.now !== null) aheadMs = found.now - now();
    lookedAt = found.readAt;
    if ([...before.keys()].some((scope) => !held.has(scope))) await onEnd();
  }

  function look(): Promise<void> {
    looking ??= readOthers().finally(() => (looking = null));
    return looking;
  }

  const age = () => (isShared ? performance.now() - lookedAt : 0);

  // An erasure waits two looks before it removes rows.
  function checkAge(): void {
    if (age() >= 2 * LOOK_MS) throw new OldLook();
  }

  function inForce(): readonly FreezeRecord[] {
    if (frozen.length === 0) return frozen;
    const time = now() + aheadMs;
    return frozen.filter(({ until }) => until > time);
  }

  return {
    latest: () => latest,

    check(scopes) {
      if (held.size === 0) return;
      for (const scope of scopes) {
        const hold = held.get(scope);
        if (hold !== undefined) throw memoryHeld(hold);
      }
    },

    checkUnlocked(scope, knownErasure) {
      const hold = held.get(scope);
      if (hold !== undefined) throw memoryHeld(hold);
      const number = numbers.get(scope) ?? forgotten;
      if (number > knownErasure) throw memoryErased(scope);
      checkAge();
    },

    checkWrites(write, { isCertain } = { isCertain: false }) {
      if (isCertain) checkAge();
      const stopping = inForce().filter((freeze) => isFrozenBy(freeze, write));
      if (stopping.length > 0) throw writesFrozen(stopping);
    },

    freezes: () => [...inForce()].sort((one, other) => one.at - other.at),

    refresh: () => (age() >= LOOK_MS ? look() : undefined),

    look,

    async lookAgain() {
      await looking?.catch(() => undefined);
      await look();
    },

    note(scope, { hold, number }) {
      if (hold === null) held.delete(scope);
      else held.set(scope, hold);
      remember(scope, number);
    },

    time: (ownTime, databaseTime) => (isShared ? databaseTime() : ownTime),

    start() {
      if (!isShared) return;
      timer ??= setInterval(() => void look().catch(() => undefined), lookMs).unref();
    },

    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
