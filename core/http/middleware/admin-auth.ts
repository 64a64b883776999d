import { MemoryError } from '../../errors.ts';
import { addressKey } from '../address.ts';
import type { Check } from './check.ts';
import { createRateLimit } from '../../network/rate-limit.ts';
import { createSecretCheck } from './secret.ts';

/** How many wrong secrets an address may try in a minute. */
const ADMIN_FAILURES_A_MINUTE = 10;

/**
 * Lets requests with the admin secret pass: `x-admin-secret: <secret>`. Throws `UNAUTHORIZED`, the
 * same for a missing and a wrong secret; `RATE_LIMITED` for every secret, after 10 wrong ones from one
 * address in a minute; `ADMIN_DISABLED` when no secret is set.
 *
 * The right secret gets `RATE_LIMITED` too: letting it pass would tell a guesser which one it is. The
 * console stays open meanwhile and says how long to wait.
 */
export function adminAuth(adminSecret: string | null, now: () => number): Check {
  const isSecret = createSecretCheck([adminSecret]);
  if (isSecret === null) {
    return () => {
      throw new MemoryError('ADMIN_DISABLED');
    };
  }
  const failures = createRateLimit({
    points: ADMIN_FAILURES_A_MINUTE,
    windowMs: 60_000,
    now,
    message: 'Too many wrong secrets from this address.',
    situation: 'wrongSecrets',
  });
  return (head) => {
    const presented = head.header('x-admin-secret');
    // Not counted, because a page on another site or port can make a browser send such requests and
    // lock the operator out. It cannot send the header, since the service allows no CORS preflight.
    if (presented === null) throw new MemoryError('UNAUTHORIZED');
    const key = addressKey(head.address);
    failures.check(key);
    if (isSecret(presented)) return;
    failures.take(key);
    throw new MemoryError('UNAUTHORIZED');
  };
}
