import { describe, expect, it } from 'vitest';
import { createProviderError } from '../../../core/providers/provider-failure.ts';
import { CircuitBreaker } from '../../../core/providers/circuit-breaker.ts';
import { manualClock } from '../../support/clock.ts';

const asksFor = (retryAfterSeconds: number) =>
  createProviderError(
    'MODEL_FAILED',
    { reason: 'unavailable', providerStatus: 503 },
    { retryAfterSeconds },
  );

function brokenCircuit() {
  const clock = manualClock(0);
  const circuit = new CircuitBreaker({ now: clock.now });
  for (let n = 0; n < 3; n += 1) {
    expect(circuit.tryEnter()).toBe(true);
    circuit.fail();
  }
  return { circuit, clock };
}

describe('a provider that fails', () => {
  it('is left alone after three failures in a row', () => {
    const { circuit } = brokenCircuit();
    expect(circuit.tryEnter()).toBe(false);
    expect(circuit.pauseMs).toBe(5_000);
  });

  it('is not, when it went well in between', () => {
    const circuit = new CircuitBreaker({ now: manualClock(0).now });
    for (let n = 0; n < 5; n += 1) {
      circuit.fail();
      circuit.fail();
      circuit.succeed();
    }
    expect(circuit.tryEnter()).toBe(true);
  });

  it('is asked by one at a time after a pause, and by all once it answered', () => {
    const { circuit, clock } = brokenCircuit();
    clock.advance(5_000);
    expect([circuit.tryEnter(), circuit.tryEnter()]).toEqual([true, false]);
    circuit.succeed();
    expect([circuit.tryEnter(), circuit.tryEnter()]).toEqual([true, true]);
  });

  it('is left alone for twice as long each time, up to a minute', () => {
    const { circuit, clock } = brokenCircuit();
    const pauses = Array.from({ length: 6 }, () => {
      clock.advance(circuit.pauseMs);
      expect(circuit.tryEnter()).toBe(true);
      circuit.fail();
      return circuit.pauseMs;
    });
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  it('may be asked by the next when a probe was given up', () => {
    const { circuit, clock } = brokenCircuit();
    clock.advance(5_000);
    circuit.tryEnter();
    circuit.release();
    expect(circuit.tryEnter()).toBe(true);
  });

  it('is left alone at once for as long as it asks for, at most ten minutes', () => {
    const clock = manualClock(0);
    const circuit = new CircuitBreaker({ now: clock.now });
    circuit.fail(asksFor(20));
    expect([circuit.tryEnter(), circuit.pauseMs]).toEqual([false, 20_000]);
    clock.advance(20_000);
    expect(circuit.tryEnter()).toBe(true);
    circuit.fail(asksFor(86_400));
    expect(circuit.pauseMs).toBe(600_000);
    clock.advance(600_000);
    expect(circuit.tryEnter()).toBe(true);
    circuit.succeed();
    expect([circuit.isOpen, circuit.tryEnter()]).toEqual([false, true]);
  });

  it('may have other limits, as dreaming has', () => {
    const { now, advance } = manualClock(0);
    const limits = { failures: 2, firstPauseMs: 300_000, longestPauseMs: 300_000 };
    const circuit = new CircuitBreaker({ now, ...limits });
    circuit.fail();
    expect(circuit.pauseMs).toBe(0);
    circuit.fail();
    expect(circuit.pauseMs).toBe(300_000);
    advance(300_000);
    expect(circuit.pauseMs).toBe(0);
    circuit.fail();
    expect(circuit.pauseMs).toBe(300_000);
  });
});
