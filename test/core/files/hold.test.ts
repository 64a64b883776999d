import { describe, expect, it } from 'vitest';
import type { HoldRecord, ScopeKey } from '../../../core/contracts/records.ts';
import type { Current } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  checkHolds,
  checkNotErased,
  type HeldWrite,
  isErased,
  isHoldLost,
  isStalled,
  memoryHeld,
  STALLED_MS,
} from '../../../core/files/hold.ts';
import { emptyScope } from '../../support/empty-scope.ts';

const NOW = Date.UTC(2026, 0, 1);

const restore: HoldRecord = {
  scope: 'u:alice',
  id: 'mine',
  kind: 'restore',
  progressAt: NOW - 1,
  details: { at: 'noon' },
};
const other: HoldRecord = { ...restore, id: 'theirs' };

function current({
  holds = [],
  erasureNumber = 0,
}: {
  holds?: HoldRecord[];
  erasureNumber?: number;
}): Current {
  const hold = (scope: ScopeKey) => holds.find((each) => each.scope === scope) ?? null;
  const scope = (key: ScopeKey) => ({ ...emptyScope(key), erasureNumber });
  return { hold, scope } as Partial<Current> as Current;
}

function errorOf(run: () => unknown): MemoryError | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
}

describe('a hold', () => {
  const held = (step: HeldWrite['step'], hold = restore): HeldWrite => ({ hold, step });
  const check = (
    holds: HoldRecord[],
    write: HeldWrite | null,
    scopes = ['u:alice', 's'] as const,
  ) => checkHolds(current({ holds }), scopes, { held: write, now: NOW });

  it('lets a write through where there is none', () => {
    expect(check([], null)).toEqual([]);
  });

  it('keeps every write out that is not of its work, in any of the scopes of the write', () => {
    expect(errorOf(() => check([restore], null))?.code).toBe('MEMORY_HELD');
    expect(errorOf(() => check([{ ...restore, scope: 's' }], null))?.code).toBe('MEMORY_HELD');
    const elsewhere = held('work', { ...restore, scope: 'u:bob' });
    expect(errorOf(() => check([restore], elsewhere))?.code).toBe('MEMORY_HELD');
  });

  it('is taken where there is none, and again by the same work', () => {
    const taken = [{ scope: 'u:alice', hold: { ...restore, progressAt: NOW } }];
    expect(check([], held('take'))).toEqual(taken);
    expect(check([restore], held('take'))).toEqual(taken);
  });

  it('is not taken from other work', () => {
    const error = errorOf(() => check([other], held('take')));
    expect(error).toMatchObject({ code: 'MEMORY_HELD', details: { at: 'noon' } });
  });

  it('is renewed by each write of its work, and released by the last', () => {
    expect(check([restore], held('work'))).toEqual([
      { scope: 'u:alice', hold: { ...restore, progressAt: NOW } },
    ]);
    expect(check([restore], held('release'))).toEqual([{ scope: 'u:alice', hold: null }]);
  });

  it.each<[string, HoldRecord[], HeldWrite['step']]>([
    ['is gone', [], 'work'],
    ['is gone at the last write', [], 'release'],
    ['is that of other work', [other], 'work'],
  ])('stops the work whose hold %s', (_, holds, step) => {
    const error = errorOf(() => check(holds, held(step)));
    expect(error).toMatchObject({
      code: 'RUN_STATE',
      message: 'This work was finished by another process.',
      details: { reason: 'hold_lost' },
    });
    expect([isHoldLost(error), isErased(error)]).toEqual([true, false]);
  });

  it('is stalled after 30 seconds without progress, whichever clock is ahead', () => {
    expect(STALLED_MS).toBe(30_000);
    for (const sign of [1, -1]) {
      expect(isStalled({ ...restore, progressAt: NOW + sign * 30_000 }, NOW)).toBe(false);
      expect(isStalled({ ...restore, progressAt: NOW + sign * 30_001 }, NOW)).toBe(true);
    }
  });
});

describe('the error of a write that waits', () => {
  it('says whose memory is restored, and to when', () => {
    expect(memoryHeld(restore)).toMatchObject({
      code: 'MEMORY_HELD',
      message: "An operator's restore of the memory of alice is under way.",
      details: { userId: 'alice', kind: 'restore', at: 'noon' },
      retryAfterSeconds: 5,
    });
    expect(memoryHeld({ ...restore, scope: 's' }).message).toBe(
      "An operator's restore of the memory of all users is under way.",
    );
  });

  it('tells nothing more of an erasure: its details name files of others', () => {
    const error = memoryHeld({ ...restore, kind: 'erase' });
    expect(error.message).toBe("An operator's erasure of the memory of alice is under way.");
    expect(error.details).toEqual({ userId: 'alice', spaceId: null, kind: 'erase' });
    expect(isErased(error)).toBe(false);
  });
});

describe('a write after an erasure', () => {
  const check = (erasureNumber: number, known: number) =>
    errorOf(() => checkNotErased(current({ erasureNumber }), ['s', 'u:alice'], known));

  it('is refused when its call did not know of it', () => {
    const error = check(7, 6);
    expect(error).toMatchObject({
      code: 'MEMORY_HELD',
      message: 'The memory was erased after this call began.',
      details: { userId: null, kind: 'erase', reason: 'erased' },
      retryAfterSeconds: 5,
    });
    expect([isErased(error), isHoldLost(error)]).toEqual([true, false]);
  });

  it('goes through when its call knew of it, or when nothing was erased', () => {
    expect(check(7, 7)).toBeNull();
    expect(check(7, 8)).toBeNull();
    expect(check(0, 0)).toBeNull();
  });
});

it('takes other errors neither for an erasure nor for a lost hold', () => {
  const foreign = Object.assign(new Error(), { details: { reason: 'erased' } });
  const lost = Object.assign(new Error(), { details: { reason: 'hold_lost' } });
  for (const error of [foreign, lost, new MemoryError('RUN_STATE'), null]) {
    expect([isErased(error), isHoldLost(error)]).toEqual([false, false]);
  }
});
