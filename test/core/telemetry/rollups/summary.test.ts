import { describe, expect, it } from 'vitest';
import { watchSla } from '../../../../core/telemetry/rollups/summary.ts';

const limits = { p95Ms: 250, errorRate: 0.01, slowCallMs: 1_000, minCalls: 100 };
const watch = (calls: number, errorRate: number, p95: number | null) =>
  watchSla({ calls, errorRate, p95 }, limits);

describe('the SLA watch', () => {
  it.each([
    [0, 0, null, 'ok'],
    [1_000, 0, 100, 'ok'],
    [1_000, 0.0079, 199, 'ok'],
    [1_000, 0.008, 1, 'watch'],
    [1_000, 0, 200, 'watch'],
    [1_000, 0.01, 250, 'watch'],
    [1_000, 0.0101, 1, 'breached'],
    [1_000, 0, 250.1, 'breached'],
    [100, 0.05, 1, 'breached'],
    [56, 1 / 56, 1, 'watch'],
  ] as const)('of %i calls, %f failed, a p95 of %f ms: %s', (calls, rate, p95, state) => {
    expect(watch(calls, rate, p95).state).toBe(state);
  });

  it('names what is worst, with its limit', () => {
    expect(watch(1_000, 0.02, 300).reason).toBe('2% of the calls failed, the limit is 1%.');
    expect(watch(1_000, 0.011, 600).reason).toBe(
      'The 95th percentile is 600 ms, the limit 250 ms.',
    );
  });

  it('calls no breach what a few calls say', () => {
    expect(watch(56, 1 / 56, 90)).toMatchObject({
      state: 'watch',
      reason:
        '1.79% of the calls failed, the limit is 1%. There were only 56 calls: a breach counts from 100 calls on.',
    });
    expect(watch(1, 1, 90).reason).toContain('There was only 1 call:');
    const early = { ...limits, minCalls: 20 };
    expect(watchSla({ calls: 56, errorRate: 1 / 56, p95: 90 }, early).state).toBe('breached');
  });

  it('takes a limit of 0 for none at all', () => {
    const strict = { ...limits, errorRate: 0 };
    expect(watchSla({ calls: 100, errorRate: 0, p95: 1 }, strict).state).toBe('ok');
    expect(watchSla({ calls: 100, errorRate: 0.001, p95: 1 }, strict).state).toBe('breached');
  });
});
