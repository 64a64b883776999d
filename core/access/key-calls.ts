import type { ApiKey, KeyRecord } from '../contracts/access.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError } from '../errors.ts';
import { KEYS_CLOCK } from './keys.ts';
import type { KnownKeys } from './known-keys.ts';

const MINUTE_MS = 60_000;
/** How many times a minute an instance asks for calls, at most, while a key is used up to its limit. */
const BATCHES_A_MINUTE = 20;
/** How often the last use of a key is written. */
const USED_MS = 60_000;
/** How long the first use waits for others, so that they share a transaction. */
const USED_SOON_MS = 500;

/** Counts the calls of named keys. */
export interface KeyCalls {
  /**
   * Counts a call; waits only where this instance has to ask for more calls. Throws `RATE_LIMITED` if
   * none is left of the minute, by all instances together.
   */
  take(key: ApiKey): Promise<void> | undefined;
  /** Writes when keys were used last. */
  close(): Promise<void>;
}

/** The calls that an instance may still make with a key. */
interface Allowance {
  left: number;
  /** Of `performance.now()`: when there is another call; nobody has to ask before. */
  refusedUntil: number;
  asking: Promise<void> | null;
}

/**
 * Creates the counter. A key with a rate limit has a bucket of calls in the database, which is refilled as
 * the database's clock goes on. An instance takes several calls from it in one step, and counts them itself:
 * so most calls do not touch the database.
 */
export function createKeyCalls(deps: {
  storage: Pick<Storage, 'mutate'>;
  known: Pick<KnownKeys, 'list'>;
  log: Logger;
  now: () => number;
}): KeyCalls {
  const { storage, known, log } = deps;
  const allowances = new Map<string, Allowance>();
  /** When each key was used, until it is written. */
  let used = new Map<string, number>();
  const writtenAt = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;

  function noteUse({ id }: ApiKey): void {
    const time = deps.now();
    if (time - (writtenAt.get(id) ?? Number.NEGATIVE_INFINITY) < USED_MS) return;
    writtenAt.set(id, time);
    used.set(id, time);
    timer ??= setTimeout(() => void writeUses(), USED_SOON_MS).unref();
  }

  async function writeUses(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const times = used;
    used = new Map();
    if (times.size === 0) return;
    try {
      await storage.mutate({ scopes: [], files: [], keys: [...times.keys()] }, (current) => {
        const keys = [...times].flatMap(([id, time]) => {
          const key = current.key(id);
          return key === null ? [] : [{ id, key: { ...key, lastUsedAt: time } }];
        });
        return { result: null, writes: 0, changes: { keys } };
      });
    } catch (error) {
      log.debug({ error: describeError(error) }, 'the last use of keys was not written');
    }
    forgetOld();
  }

  /** Keys that were revoked. */
  function forgetOld(): void {
    const ids = new Set(known.list().map(({ id }) => id));
    for (const map of [allowances, writtenAt]) {
      for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
    }
  }

  async function ask({ id }: ApiKey, allowance: Allowance): Promise<void> {
    const request = { scopes: [], files: [], keys: [id], leases: [KEYS_CLOCK] };
    const { taken, waitMs } = await storage.mutate(request, (current) => {
      const key = current.key(id);
      if (key === null) throw new MemoryError('UNAUTHORIZED');
      const result = takeTokens(key, current.now());
      return { result, writes: 0, changes: { keys: [{ id, key: result.key }] } };
    });
    allowance.left += taken;
    if (taken === 0) allowance.refusedUntil = performance.now() + waitMs;
  }

  async function takeLater(key: ApiKey, allowance: Allowance): Promise<void> {
    while (allowance.left < 1) {
      const waitMs = allowance.refusedUntil - performance.now();
      if (waitMs > 0) {
        throw new MemoryError('RATE_LIMITED', 'The API key has no calls left for now.', {
          retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
          situation: 'key',
        });
      }
      allowance.asking ??= ask(key, allowance).finally(() => (allowance.asking = null));
      await allowance.asking;
    }
    allowance.left -= 1;
  }

  return {
    take(key) {
      noteUse(key);
      if (key.rateLimit === null) return undefined;
      let allowance = allowances.get(key.id);
      if (allowance === undefined) {
        allowances.set(key.id, (allowance = { left: 0, refusedUntil: 0, asking: null }));
      }
      if (allowance.left < 1) return takeLater(key, allowance);
      allowance.left -= 1;
      return undefined;
    },
    close: writeUses,
  };
}

/** Fills the bucket of a key up to a time, and takes a batch of calls. */
function takeTokens(
  key: KeyRecord,
  time: number,
): { key: KeyRecord; taken: number; waitMs: number } {
  const limit = 'rateLimit' in key.rules ? key.rules.rateLimit : null;
  if (limit === null) return { key, taken: 1, waitMs: 0 };
  const filled = (Math.max(0, time - key.tokensAt) * limit) / MINUTE_MS;
  const tokens = Math.min(limit, key.tokens + filled);
  const batch = Math.max(1, Math.floor(limit / BATCHES_A_MINUTE));
  const taken = Math.min(batch, Math.floor(tokens));
  const waitMs = taken > 0 ? 0 : ((1 - tokens) * MINUTE_MS) / limit;
  return { key: { ...key, tokens: tokens - taken, tokensAt: time }, taken, waitMs };
}
