import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { memoryErased, memoryHeld } from './hold.ts';
import { toScope, type UserId } from './paths.ts';
import { MemoryError } from '../errors.ts';

/** How often an instance looks at the erasures of the others. */
export const LOOK_MS = 1_000;
/** How many erasures are remembered. A call during which there were more is refused. */
const REMEMBERED = 10_000;

/**
 * The erasures that this instance knows. The database numbers them, since clocks of instances differ:
 * each call carries the latest number that was known when it was admitted, and a write of a call is
 * refused if its user has a greater one.
 */
export interface KnownErasures {
  /** The latest number that is known: what a call carries. */
  latest(): number;
  /** Throws `MEMORY_HELD` while the memory of a user is being erased. */
  check(userId: UserId): void;
  /**
   * For `decide` of a write that does not lock its user's scope. Throws `MEMORY_HELD` if the user was
   * erased since the call began, and `STORAGE_UNAVAILABLE` if the last look is too old to say.
   */
  checkUnlocked(scope: ScopeKey, knownErasure: number): void;
  /** Reads what other instances erase, if the last look is older than a look should be. */
  refresh(): Promise<void> | undefined;
  look(): Promise<void>;
  /** This instance has begun an erasure, goes on with one, or has ended it (`null`). */
  note(scope: ScopeKey, erasure: { hold: HoldRecord | null; number: number }): void;
  start(): void;
  stop(): void;
}

/** Creates what an instance knows of erasures. */
export function createKnownErasures({
  storage,
  lookMs = LOOK_MS,
  onEnd,
}: {
  storage: Pick<Storage, 'erasure' | 'filename'>;
  lookMs?: number | undefined;
  /** Called when a look shows that another instance has ended an erasure. */
  onEnd: () => Promise<void>;
}): KnownErasures {
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined && storage.erasure !== undefined;
  let held = new Map<ScopeKey, HoldRecord>();
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
    const startedAt = performance.now();
    const found = (await storage.erasure?.look(seen)) ?? { latest: 0, erased: [], holds: [] };
    if (seen === null) forgotten = found.latest;
    seen = found.latest;
    for (const { scope, number } of found.erased) remember(scope, number);
    latest = Math.max(latest, found.latest);
    const before = held;
    held = new Map(found.holds.map((hold) => [hold.scope, hold]));
    lookedAt = startedAt;
    if ([...before.keys()].some((scope) => !held.has(scope))) await onEnd();
  }

  function look(): Promise<void> {
    looking ??= readOthers().finally(() => (looking = null));
    return looking;
  }

  const age = () => (isShared ? performance.now() - lookedAt : 0);

  return {
    latest: () => latest,

    check(userId) {
      if (held.size === 0) return;
      const hold = held.get(toScope(userId));
      if (hold !== undefined) throw memoryHeld(hold);
    },

    checkUnlocked(scope, knownErasure) {
      const hold = held.get(scope);
      if (hold !== undefined) throw memoryHeld(hold);
      const number = numbers.get(scope) ?? forgotten;
      if (number > knownErasure) throw memoryErased(scope);
      // An erasure waits two looks before it removes rows.
      if (age() >= 2 * LOOK_MS) throw new MemoryError('STORAGE_UNAVAILABLE');
    },

    refresh: () => (age() >= LOOK_MS ? look() : undefined),

    look,

    note(scope, { hold, number }) {
      if (hold === null) held.delete(scope);
      else held.set(scope, hold);
      remember(scope, number);
    },

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
