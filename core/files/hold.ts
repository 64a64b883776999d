import type { HoldRecord, ScopeKey } from '../contracts/records.ts';
import type { Changes, Current } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { toOwner } from './paths.ts';

/** Work that has not gone on for this long is taken over. */
export const STALLED_MS = 30_000;
/** Holds that are looked at in one round. */
export const MAX_HOLDS = 100;
/** When a caller may try again whose write waits for an operator's work. */
const RETRY_SECONDS = 5;

/** A write that is part of work for which all other writes of the scope wait. */
export interface HeldWrite {
  hold: HoldRecord;
  /** The first write takes the hold, the last one releases it. */
  step: 'take' | 'work' | 'release';
}

/**
 * Checks the holds of a write's scopes under the lock, and returns what the write changes of them.
 * Throws `MEMORY_HELD` if other work holds a scope, and `RUN_STATE` if the hold of this work ended.
 */
export function checkHolds(
  current: Current,
  scopes: Iterable<ScopeKey>,
  { held, now }: { held: HeldWrite | null; now: number },
): NonNullable<Changes['holds']> {
  for (const scope of new Set(scopes)) {
    const hold = current.hold(scope);
    if (held?.hold.scope !== scope) {
      if (hold !== null) throw memoryHeld(hold);
    } else if (held.step === 'take') {
      if (hold !== null && hold.id !== held.hold.id) throw memoryHeld(hold);
    } else if (hold?.id !== held.hold.id) {
      throw new MemoryError('RUN_STATE', 'This work was finished by another process.', {
        details: { reason: 'hold_lost' },
      });
    }
  }
  if (held === null) return [];
  const { hold, step } = held;
  return [{ scope: hold.scope, hold: step === 'release' ? null : { ...hold, progressAt: now } }];
}

/**
 * Throws `MEMORY_HELD` if one of the scopes was erased after the caller's work began: what it writes
 * may come from the memory as it was before.
 */
export function checkNotErased(
  current: Pick<Current, 'scope'>,
  scopes: Iterable<ScopeKey>,
  knownErasure: number,
): void {
  for (const scope of scopes) {
    if (knownErasure < current.scope(scope).erasureNumber) throw memoryErased(scope);
  }
}

/**
 * The error for a write whose user was erased after the call began. It has the same code as during the
 * erasure, because the advice is the same: make a new call, this one can never succeed.
 */
export function memoryErased(scope: ScopeKey): MemoryError {
  return new MemoryError('MEMORY_HELD', 'The memory was erased after this call began.', {
    details: { ...toOwner(scope), kind: 'erase', reason: 'erased' },
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** Whether work under a hold has stopped. Clocks of instances differ: the time may lie ahead. */
export function isStalled({ progressAt }: HoldRecord, now: number): boolean {
  return Math.abs(now - progressAt) > STALLED_MS;
}

/** Whether a write was refused by {@link memoryErased}. */
export function isErased(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === 'erased';
}

/** Whether work ended because its hold is gone: another process has finished it. */
export function isHoldLost(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === 'hold_lost';
}

/** The error of a write that has to wait. */
export function memoryHeld({ scope, kind, details }: HoldRecord): MemoryError {
  const { userId, spaceId } = toOwner(scope);
  const whose = userId ?? (spaceId === null ? 'all users' : `the space ${spaceId}`);
  const work = kind === 'erase' ? 'erasure' : 'restore';
  const message = `An operator's ${work} of the memory of ${whose} is under way.`;
  return new MemoryError('MEMORY_HELD', message, {
    // Those of an erasure name files of others.
    details: { userId, spaceId, kind, ...(kind === 'restore' ? details : {}) },
    retryAfterSeconds: RETRY_SECONDS,
  });
}
