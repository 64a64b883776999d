import { LRUCache } from 'lru-cache';
import { MemoryError } from '../errors.ts';

/** How often something may happen for one key. */
export interface RateLimitOptions {
  /** Times in a window; the window opens with the first. */
  points: number;
  windowMs: number;
  /** Milliseconds; the service's clock. */
  now: () => number;
  /** What the error says; default that there were too many requests. */
  message?: string;
  /** Of the error, which decides what it says to do. */
  situation?: string;
}

/** Counts by key, in bounded memory. */
export interface RateLimit {
  /** Throws `RATE_LIMITED` with `Retry-After` when the key has no point left. Takes none. */
  check(key: string): void;
  take(key: string): void;
}

// An attacker with many addresses evicts the oldest of them, and never fills the memory.
const MAX_KEYS = 50_000;

/** A fixed window for each key: `points` in `windowMs`, then nothing until the window ends. */
export function createRateLimit({
  points,
  windowMs,
  now,
  message,
  situation,
}: RateLimitOptions): RateLimit {
  // It takes room for all keys at once, which most services never need.
  let windows: LRUCache<string, { endsAt: number; used: number }> | null = null;
  const current = (key: string): { endsAt: number; used: number } | undefined => {
    const window = windows?.get(key);
    if (window === undefined) return undefined;
    const left = window.endsAt - now();
    // A clock that jumped back would keep the window shut for as long as the jump.
    return left > 0 && left <= windowMs ? window : undefined;
  };
  return {
    check(key) {
      const window = current(key);
      if (window === undefined || window.used < points) return;
      const retryAfterSeconds = Math.ceil((window.endsAt - now()) / 1000);
      throw new MemoryError('RATE_LIMITED', message, { retryAfterSeconds, situation });
    },
    take(key) {
      const window = current(key);
      windows ??= new LRUCache({ max: MAX_KEYS });
      if (window === undefined) windows.set(key, { endsAt: now() + windowMs, used: 1 });
      else window.used += 1;
    },
  };
}
