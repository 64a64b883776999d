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

/** The last number of each scope that was erased, as far as it is remembered. */
class ErasureNumbers {
  /** Oldest number first. */
  readonly #numbers = new Map<ScopeKey, number>();
  /** Erasures up to this number are not remembered. */
  #forgotten = 0;
  /** The greatest number of any erasure. */
  #latest = 0;

  get latest(): number {
    return this.#latest;
  }

  /** What happened up to this number is known to be over, and need not be remembered. */
  begin(number: number): void {
    this.#forgotten = number;
    this.noteLatest(number);
  }

  noteLatest(number: number): void {
    this.#latest = Math.max(this.#latest, number);
  }

  /** The number of the last erasure of a scope; of one that is not remembered, the greatest that it may be. */
  of(scope: ScopeKey): number {
    return this.#numbers.get(scope) ?? this.#forgotten;
  }

  remember(scope: ScopeKey, number: number): void {
    if ((this.#numbers.get(scope) ?? 0) >= number) return;
    this.#numbers.delete(scope);
    this.#numbers.set(scope, number);
    this.noteLatest(number);
    for (const [oldest, its] of this.#numbers) {
      if (this.#numbers.size <= REMEMBERED) break;
      this.#numbers.delete(oldest);
      this.#forgotten = Math.max(this.#forgotten, its);
    }
  }
}

/**
 * The erasures that this instance knows, and the writes that operators have stopped. The database numbers
 * erasures, since clocks of instances differ: each call carries the latest number that was known when it
 * was admitted, and a write of a call is refused if its user has a greater one.
 */
export class KnownErasures {
  readonly #storage: Pick<Storage, 'erasure' | 'filename'>;
  readonly #lookMs: number;
  readonly #now: () => number;
  readonly #onEnd: () => Promise<void>;
  /** Other instances may serve the same database, unless it is a file. */
  readonly #isShared: boolean;
  readonly #numbers = new ErasureNumbers();
  #held = new Map<ScopeKey, HoldRecord>();
  /** Also those whose time is over. */
  #frozen: readonly FreezeRecord[] = [];
  /** How far the database's clock is ahead of this instance's. */
  #aheadMs = 0;
  /** The greatest number that a look has found. */
  #seen: number | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor({
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
  }) {
    this.#storage = storage;
    this.#lookMs = lookMs;
    this.#now = now;
    this.#onEnd = onEnd;
    this.#isShared = storage.filename === undefined && storage.erasure !== undefined;
  }

  /** The latest number that is known: what a call carries. */
  latest(): number {
    return this.#numbers.latest;
  }

  /** Throws `MEMORY_HELD` while one of these memories is being erased. */
  check(scopes: readonly ScopeKey[]): void {
    if (this.#held.size === 0) return;
    for (const scope of scopes) {
      const hold = this.#held.get(scope);
      if (hold !== undefined) throw memoryHeld(hold);
    }
  }

  /**
   * For `decide` of a write that does not lock its user's scope. Throws `MEMORY_HELD` if the user was
   * erased since the call began, and {@link OldLook} if the last look is too old to say.
   */
  checkUnlocked(scope: ScopeKey, knownErasure: number): void {
    this.check([scope]);
    if (this.#numbers.of(scope) > knownErasure) throw memoryErased(scope);
    this.#checkAge();
  }

  /**
   * Throws `WRITES_FROZEN` if an operator has stopped such a write, as far as the last look tells. For
   * `decide` it is to be certain: then it throws {@link OldLook} if that look is too old to say.
   */
  checkWrites(
    write: FrozenWrite,
    { isCertain }: { isCertain: boolean } = { isCertain: false },
  ): void {
    if (isCertain) this.#checkAge();
    const stopping = this.#inForce().filter((freeze) => isFrozenBy(freeze, write));
    if (stopping.length > 0) throw writesFrozen(stopping);
  }

  /** The freezes that are in force, oldest first. */
  freezes(): readonly FreezeRecord[] {
    return [...this.#inForce()].sort((one, other) => one.at - other.at);
  }

  /** Reads what other instances erase and stop, if the last look is older than a look should be. */
  refresh(): Promise<void> | undefined {
    return this.#age() >= LOOK_MS ? this.look() : undefined;
  }

  look(): Promise<void> {
    this.#looking ??= this.#readOthers().finally(() => (this.#looking = null));
    return this.#looking;
  }

  /** A look that begins now: after a change that has been committed. */
  async lookAgain(): Promise<void> {
    await this.#looking?.catch(() => undefined);
    await this.look();
  }

  /** This instance has begun an erasure, goes on with one, or has ended it (`null`). */
  note(scope: ScopeKey, { hold, number }: { hold: HoldRecord | null; number: number }): void {
    if (hold === null) this.#held.delete(scope);
    else this.#held.set(scope, hold);
    this.#numbers.remember(scope, number);
  }

  /** The time by which freezes end: the database's, where several instances may share it. */
  time(ownTime: number, databaseTime: () => number): number {
    return this.#isShared ? databaseTime() : ownTime;
  }

  start(): void {
    if (!this.#isShared) return;
    const look = () => void this.look().catch(() => undefined);
    this.#timer ??= setInterval(look, this.#lookMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #readOthers(): Promise<void> {
    const found = (await this.#storage.erasure?.look(this.#seen)) ?? NOTHING;
    if (this.#seen === null) this.#numbers.begin(found.latest);
    this.#seen = found.latest;
    for (const { scope, number } of found.erased) this.#numbers.remember(scope, number);
    this.#numbers.noteLatest(found.latest);
    const before = this.#held;
    this.#held = new Map(found.holds.map((hold) => [hold.scope, hold]));
    this.#frozen = found.freezes;
    if (this.#isShared && found.now !== null) this.#aheadMs = found.now - this.#now();
    this.#lookedAt = found.readAt;
    if ([...before.keys()].some((scope) => !this.#held.has(scope))) await this.#onEnd();
  }

  #age(): number {
    return this.#isShared ? performance.now() - this.#lookedAt : 0;
  }

  // An erasure waits two looks before it removes rows.
  #checkAge(): void {
    if (this.#age() >= 2 * LOOK_MS) throw new OldLook();
  }

  #inForce(): readonly FreezeRecord[] {
    if (this.#frozen.length === 0) return this.#frozen;
    const time = this.#now() + this.#aheadMs;
    return this.#frozen.filter(({ until }) => until > time);
  }
}
