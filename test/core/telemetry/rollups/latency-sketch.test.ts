import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LatencySketch,
  RELATIVE_ERROR,
} from '../../../../core/telemetry/rollups/latency-sketch.ts';

/** From a microsecond to an hour, most of them short. */
const duration = fc
  .double({ min: 0, max: 1, noNaN: true })
  .map((share) => Math.round(1000 * 10 ** (-3 + share * 9.5)) / 1000);

const sketchOf = (durations: readonly number[]): LatencySketch => {
  const sketch = new LatencySketch();
  for (const ms of durations) sketch.add(ms);
  return sketch;
};

const exact = (durations: readonly number[], q: number): number =>
  durations.toSorted((a, b) => a - b)[Math.floor(q * (durations.length - 1))] as number;

describe('the latency sketch', () => {
  it('gives each quantile within its stated error of the exact one', () => {
    fc.assert(
      fc.property(
        fc.array(duration, { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (durations, q) => {
          const wanted = exact(durations, q);
          const given = sketchOf(durations).quantile(q) ?? Number.NaN;
          expect(Math.abs(given - wanted)).toBeLessThanOrEqual(
            wanted * RELATIVE_ERROR * (1 + 1e-9),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is the same whether calls are counted together or in parts that are merged', () => {
    fc.assert(
      fc.property(fc.array(fc.array(duration, { maxLength: 60 }), { maxLength: 6 }), (parts) => {
        const merged = new LatencySketch();
        for (const part of parts) merged.merge(sketchOf(part));
        const packed = new LatencySketch();
        for (const part of parts) packed.addPacked(sketchOf(part).pack());
        const whole = sketchOf(parts.flat());
        expect(merged.pack()).toEqual(whole.pack());
        expect(packed.pack()).toEqual(whole.pack());
        expect(packed.count).toBe(parts.flat().length);
        for (const q of [0, 0.5, 0.95, 0.99, 1]) expect(packed.quantile(q)).toBe(whole.quantile(q));
      }),
    );
  });

  it('holds counts of any size in some bytes for each of its bins', () => {
    let sketch = sketchOf(Array.from({ length: 2000 }, (_, n) => 0.001 * 1.01 ** n));
    for (let doubling = 0; doubling < 30; doubling += 1) {
      const next = new LatencySketch();
      next.merge(sketch);
      next.merge(sketch);
      sketch = next;
    }
    const bytes = sketch.pack();
    expect(bytes.length).toBeLessThan(8_000);
    const read = new LatencySketch();
    read.addPacked(bytes);
    expect(read.count).toBe(2000 * 2 ** 30);
    expect(read.pack()).toEqual(bytes);
  });

  it('holds durations of any length, and bytes of no sense take no memory', () => {
    const sketch = new LatencySketch();
    for (const durationMs of [0, 1e-9, 5, 1e15, Infinity, NaN]) sketch.add(durationMs);
    // Bins and counts of 2 ** 49, of no number, and beyond all; and bins that lie far apart.
    const huge = [255, 255, 255, 255, 255, 255, 255, 255, 127];
    const endless = [...Array<number>(300).fill(255), 1];
    const none = [...Array<number>(300).fill(128), 1];
    for (const number of [huge, endless, none]) {
      sketch.addPacked(Uint8Array.from([...number, 1]));
      sketch.addPacked(Uint8Array.from([1, ...number]));
    }
    sketch.addPacked(Uint8Array.from(Array.from({ length: 10_000 }, () => [100, 1]).flat()));
    expect(sketch.count).toBe(6 + 20);
    expect(sketch.quantile(0)).toBe(0);
    expect(sketch.quantile(1)).toBeGreaterThan(1e12);
    const copy = new LatencySketch();
    copy.addPacked(sketch.pack());
    expect(copy.pack()).toEqual(sketch.pack());
  });

  it('takes bytes that were cut off for what they still say', () => {
    const bytes = sketchOf([1, 2, 3]).pack();
    for (let length = 0; length < bytes.length; length += 1) {
      const read = new LatencySketch();
      read.addPacked(bytes.slice(0, length));
      expect(read.count).toBeLessThan(3);
    }
    expect(new LatencySketch().quantile(0.5)).toBeNull();
  });
});
