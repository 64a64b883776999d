import { describe, expect, it } from 'vitest';
import { detect } from '../../../core/screening/detect.ts';
import { createFillIn } from './fill-in.ts';
import { PLAIN_LINES, SECRET_LINES } from './labelled-lines.ts';

const SECRETS = new Set(['secrets'] as const);
const SEEDS = Array.from({ length: 20 }, (_, at) => 7_919 * (at + 1));
const toLines = (text: string) => text.trim().split('\n');

/** The lines with values of all seeds in them, without the language in front. */
function fillAll(text: string): string[] {
  return SEEDS.flatMap((seed) => {
    const fillIn = createFillIn(seed);
    return toLines(text).map((line) => fillIn(line.slice(2)));
  });
}

describe('of 400 lines in ten languages', () => {
  it('are 200 with a secret and 200 without', () => {
    for (const text of [SECRET_LINES, PLAIN_LINES]) {
      expect(toLines(text)).toHaveLength(200);
      expect(new Set(toLines(text).map((line) => line.slice(0, 2))).size).toBe(10);
    }
  });

  it('at least 95% of the secrets are found', () => {
    const lines = fillAll(SECRET_LINES);
    const missed = lines.filter((line) => detect(line, SECRETS).length === 0);
    expect(missed.length / lines.length, missed.join('\n')).toBeLessThanOrEqual(0.05);
  });

  it('at most 0.1% of the others are taken for a token or private key, and 1% for anything else', () => {
    const lines = fillAll(PLAIN_LINES);
    const found = lines.map((line) => ({
      line,
      kinds: detect(line, SECRETS).map(({ kind }) => kind),
    }));
    const byForm = found.filter(({ kinds }) =>
      kinds.some((kind) => /^(?:token|private_key)$/.test(kind)),
    );
    const others = found.filter(({ kinds }) =>
      kinds.some((kind) => !/^(?:token|private_key)$/.test(kind)),
    );
    const tell = (some: typeof found) =>
      some.map(({ line, kinds }) => `${kinds.join()}: ${line}`).join('\n');
    expect(byForm.length / lines.length, tell(byForm)).toBeLessThanOrEqual(0.001);
    expect(others.length / lines.length, tell(others)).toBeLessThanOrEqual(0.01);
  });
});
