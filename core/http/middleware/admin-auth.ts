import { MemoryError } from '../../errors.ts';
import { addressKey } from '../address.ts';
import type { Check } from './check.ts';
import { createRateLimit } from '../../rate-limit.ts';
import { createSecretCheck } from './secret.ts';

/** How many wrong secrets an address may try in a minute. */
const ADMIN_FAILURES_A_MINUTE = 10;

/**
 * Lets requests with the admin secret pass: `x-admin-secret: <secret>`. Throws `UNAUTHORIZED`, the
 * same for a missing and a wrong secret; `RATE_LIMITED` after 10 failures from one address in a
 * minute, also for the right one, or guessing would go on; `ADMIN_DISABLED` when no secret is set.
 */
export function adminAuth(adminSecret: string | null, now: () => number): Check {
  const isSecret = createSecretCheck([adminSecret]);
  if (isSecret === null) {
    return () => {
      throw new MemoryError('ADMIN_DISABLED');
    };
  }
  const failures = createRateLimit({ points: ADMIN_FAILURES_A_MINUTE, windowMs: 60_000, now });
  return (head) => {
    const key = addressKey(head.address);
    failures.check(key);
    const presented = head.header('x-admin-secret');
    if (presented !== null && isSecret(presented)) return;
    // A page of another site can make a browser ask, though never with the header. Counted, ten
    // images on that page would lock the operator out.
    const isForged = presented === null && head.header('sec-fetch-site') === 'cross-site';
    if (!isForged) failures.take(key);
    throw new MemoryError('UNAUTHORIZED');
  };
}
