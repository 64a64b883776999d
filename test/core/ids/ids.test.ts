import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ScopeState } from '../../../core/contracts/records.ts';
import {
  createIdSource,
  createScopeIds,
  type IdSource,
  newSpanId,
  newTraceId,
} from '../../../core/ids/ids.ts';
import { emptyScope } from '../../support/empty-scope.ts';

const AT = Date.UTC(2026, 0, 31, 9, 30);

/** A process that has made no id. */
const IDLE = { lastMs: 0, idCounter: 0 };

describe('ids of a process', () => {
  it('are UUIDv7 of RFC 9562', () => {
    const ids = createIdSource(() => AT);
    for (const id of take(ids, 5_000)) expectUuid7(id);
  });

  it('carry the millisecond at which they were made', () => {
    let now = AT;
    const ids = createIdSource(() => now);
    expect(msOf(ids.next())).toBe(AT);
    now += 1;
    expect(msOf(ids.next())).toBe(AT + 1);
    expect(ids.lastMs).toBe(AT + 1);
    // The first and last milliseconds that 48 bits hold.
    expect(msOf(createIdSource(() => 0).next())).toBe(0);
    const last = 2 ** 48 - 1;
    expect(msOf(createIdSource(() => last).next())).toBe(last);
  });

  it('sort by the order in which they were made, 10,000 of them in one millisecond', () => {
    const ids = createIdSource(() => AT);
    const made = take(ids, 10_000);
    expectAscending(made);
    // 4,096 to a millisecond: the clock of the ids runs ahead by no more than that.
    expect(ids.lastMs).toBe(AT + 2);
    expect(msOf(made.at(-1) as string)).toBe(AT + 2);
  });

  it('sort in spite of a clock that jumps, back or forth', () => {
    const jump = fc.oneof(
      fc.constant(0),
      fc.integer({ min: -3, max: 3 }),
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(jump, fc.integer({ min: 1, max: 9 }))), (jumps) => {
        let now = AT;
        const ids = createIdSource(() => now);
        const made: string[] = [];
        let latest = 0;
        for (const [by, count] of jumps) {
          now += by;
          latest = Math.max(latest, now);
          for (let n = 0; n < count; n += 1) {
            made.push(ids.next());
            expect(ids.lastMs).toBe(latest);
          }
        }
        expectAscending(made);
      }),
    );
  });

  it('sort when the clock goes back while the ids run ahead of it', () => {
    let now = AT;
    const ids = createIdSource(() => now);
    const made = take(ids, 4_100);
    now = AT + 1;
    made.push(...take(ids, 4_100));
    now = AT - 1_000;
    made.push(...take(ids, 4_100));
    now = AT + 60_000;
    made.push(...take(ids, 10));
    expectAscending(made);
    expect(ids.lastMs).toBe(AT + 60_000);
  });

  it('cannot be guessed from each other, and are not those of another process', () => {
    const tails = new Set<string>();
    for (const ids of [createIdSource(() => AT), createIdSource(() => AT)]) {
      for (const id of take(ids, 2_000)) tails.add(id.slice(19));
    }
    expect(tails.size).toBe(4_000);
    // Each of the 62 random bits is seen as 0 and as 1.
    const bits = [...tails].map((tail) => BigInt(`0x${tail.replace('-', '')}`));
    for (let bit = 0n; bit < 62n; bit += 1n) {
      const ones = bits.filter((value) => ((value >> bit) & 1n) === 1n).length;
      expect(ones).toBeGreaterThan(1_500);
      expect(ones).toBeLessThan(2_500);
    }
  });
});

describe('ids of a scope', () => {
  it('are UUIDv7 of RFC 9562', () => {
    for (const id of take(createScopeIds(state(0, 0), AT, IDLE), 5_000)) expectUuid7(id);
  });

  it('go on from where the scope was left', () => {
    const first = createScopeIds(state(0, 0), AT, IDLE);
    const made = take(first, 3);
    expect({ lastMs: first.lastMs, idCounter: first.idCounter }).toEqual({
      lastMs: AT,
      idCounter: 3,
    });
    const second = createScopeIds(state(first.lastMs, first.idCounter), AT, IDLE);
    made.push(...take(second, 2));
    expect(made.map((id) => [msOf(id), counterOf(id)])).toEqual([
      [AT, 0],
      [AT, 1],
      [AT, 2],
      [AT, 3],
      [AT, 4],
    ]);
    expect(second.idCounter).toBe(5);
  });

  it('begin to count again with a later millisecond', () => {
    const ids = createScopeIds(state(AT - 1, 4_096), AT, IDLE);
    expect([msOf(ids.next()), ids.lastMs, ids.idCounter]).toEqual([AT, AT, 1]);
  });

  it('leave the clock of the scope where it is when none is made', () => {
    expect(createScopeIds(state(AT + 5, 7), AT, IDLE)).toMatchObject({
      lastMs: AT + 5,
      idCounter: 7,
    });
  });

  it('use up a millisecond to its last id', () => {
    const ids = createScopeIds(state(AT, 4_095), AT, IDLE);
    expect([ids.next(), ids.next()].map((id) => [msOf(id), counterOf(id)])).toEqual([
      [AT, 4_095],
      [AT + 1, 0],
    ]);
    // A millisecond that the scope was left with in full.
    const next = createScopeIds(state(AT, 4_096), AT, IDLE);
    expect([msOf(next.next()), next.lastMs, next.idCounter]).toEqual([AT + 1, AT + 1, 1]);
  });

  it('sort across instances whose clocks differ, 10,000 in one millisecond', () => {
    const mutation = fc.tuple(
      fc.integer({ min: -5_000, max: 5_000 }),
      fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(3_000)),
    );
    fc.assert(
      fc.property(fc.array(mutation, { maxLength: 20 }), (mutations) => {
        let scope = state(0, 0);
        const made: string[] = [];
        for (const [skew, count] of mutations) {
          const ids = createScopeIds(scope, AT + skew, IDLE);
          made.push(...take(ids, count));
          scope = state(ids.lastMs, ids.idCounter);
        }
        expectAscending(made);
      }),
      { numRuns: 50 },
    );
    const ids = createScopeIds(state(0, 0), AT, IDLE);
    expectAscending(take(ids, 10_000));
    expect(ids.lastMs).toBe(AT + 2);
  });
});

describe('ids of a process beside those of its scopes', () => {
  it('sort behind what a write took, once they follow it', () => {
    const ids = createIdSource(() => AT);
    const scope = createScopeIds(state(0, 0), AT, ids);
    const made = [...take(ids, 2)];
    const write = createScopeIds(state(scope.lastMs, scope.idCounter), AT, ids);
    made.push(...take(write, 3));
    ids.follow(write);
    made.push(...take(ids, 2));
    expectAscending(made);
    expect(made.map(counterOf)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('do not follow a scope whose clock another instance set ahead', () => {
    const ids = createIdSource(() => AT);
    ids.follow({ lastMs: AT + 1, idCounter: 7 });
    expect([msOf(ids.next()), ids.lastMs]).toEqual([AT, AT]);
  });

  it('never go back, whatever they follow', () => {
    const clock = fc.record({
      lastMs: fc.integer({ min: AT - 3, max: AT + 3 }),
      idCounter: fc.integer({ min: 0, max: 4_096 }),
    });
    const step = fc.tuple(fc.integer({ min: -2, max: 2 }), fc.option(clock));
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let now = AT;
        const ids = createIdSource(() => now);
        const made = steps.map(([by, scope]) => {
          now += by;
          if (scope !== null) ids.follow(scope);
          return ids.next();
        });
        expectAscending(made);
        for (const id of made) expectUuid7(id);
      }),
      { numRuns: 300 },
    );
  });
});

describe('ids of traces', () => {
  it('are 32 and 16 lower-case hex digits, and each another', () => {
    const traces = Array.from({ length: 3_000 }, newTraceId);
    const spans = Array.from({ length: 3_000 }, newSpanId);
    for (const id of traces) expect(id).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
    for (const id of spans) expect(id).toMatch(/^(?!0+$)[0-9a-f]{16}$/);
    expect(new Set([...traces, ...spans]).size).toBe(6_000);
  });
});

function take(ids: IdSource, count: number): string[] {
  return Array.from({ length: count }, () => ids.next());
}

function state(lastMs: number, idCounter: number): ScopeState {
  return { ...emptyScope('u:alice'), lastMs, idCounter };
}

/** 48 bits of time, the version 0111, 12 bits, the variant 10, 62 bits. */
function expectUuid7(id: string): void {
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  const bits = BigInt(`0x${id.replaceAll('-', '')}`);
  expect((bits >> 76n) & 0xfn).toBe(7n);
  expect((bits >> 62n) & 0x3n).toBe(2n);
}

function msOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function counterOf(id: string): number {
  return Number.parseInt(id.slice(15, 18), 16);
}

/** Text order is byte order here: lower-case hex digits of one length. */
function expectAscending(ids: readonly string[]): void {
  const wrong = ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] as string));
  expect(wrong).toBe(-1);
}
