import { expect, it } from 'vitest';
import { createRateLimit } from '../../../core/network/rate-limit.ts';
import { manualClock } from '../../support/clock.ts';

const MINUTE_MS = 60_000;

function limit(options: { points?: number; message?: string } = {}) {
  const clock = manualClock();
  const { check, take } = createRateLimit({
    points: 2,
    windowMs: MINUTE_MS,
    now: clock.now,
    ...options,
  });
  const use = (key: string): string => {
    try {
      check(key);
    } catch (error) {
      const { code, message, retryAfterSeconds } = error as Record<string, unknown>;
      return [code, message, retryAfterSeconds].join(' | ');
    }
    take(key);
    return 'ok';
  };
  return { clock, check, take, use };
}

it('lets a key through as often as it has points, and says when it may come again', () => {
  const { clock, use } = limit({ message: 'Slow down.' });
  expect([use('a'), use('a')]).toEqual(['ok', 'ok']);
  expect(use('a')).toBe('RATE_LIMITED | Slow down. | 60');
  clock.advance(30_001);
  expect(use('a')).toBe('RATE_LIMITED | Slow down. | 30');
});

it('says that there were too many requests where no message is given', () => {
  const { use } = limit({ points: 1 });
  use('a');
  expect(use('a')).toBe('RATE_LIMITED | Too many requests. | 60');
});

it('counts each key by itself', () => {
  const { use } = limit({ points: 1 });
  expect([use('a'), use('b')]).toEqual(['ok', 'ok']);
  expect(use('a')).toMatch(/^RATE_LIMITED/);
});

it('takes no point for a look', () => {
  const { check, use } = limit({ points: 1 });
  check('a');
  check('a');
  expect(use('a')).toBe('ok');
});

it('ends a window with its time, and opens the next one with the next point', () => {
  const { clock, use } = limit({ points: 1 });
  use('a');
  clock.advance(MINUTE_MS - 1);
  expect(use('a')).toMatch(/ 1$/);
  clock.advance(1);
  expect(use('a')).toBe('ok');
  clock.advance(MINUTE_MS - 1);
  expect(use('a')).toMatch(/^RATE_LIMITED/);
});

it('keeps a window open for points that are taken without a look', () => {
  const { clock, take, use } = limit({ points: 2 });
  take('a');
  clock.advance(MINUTE_MS - 1);
  take('a');
  expect(use('a')).toMatch(/ 1$/);
  clock.advance(1);
  expect(use('a')).toBe('ok');
});

it('ends a window when the clock jumps back behind its beginning', () => {
  const { clock, use } = limit({ points: 1 });
  use('a');
  clock.advance(-1);
  expect(use('a')).toBe('ok');
});

it('forgets the key that was not seen for longest when there are more than 50,000', () => {
  const { check, take } = limit({ points: 1 });
  take('first');
  take('second');
  for (let n = 0; n < 49_998; n += 1) take(`${n}`);
  expect(() => check('first')).toThrow();
  take('one more');
  expect(() => check('first')).toThrow();
  expect(() => check('second')).not.toThrow();
});
