import type { KnownKeys } from '../../access/known-keys.ts';
import { type ProxySignIn, SERVICE_OPERATOR } from '../../access/operators.ts';
import type { Operator } from '../../contracts/access.ts';
import { MemoryError } from '../../errors.ts';
import { addressKey } from '../address.ts';
import type { KeyCheck, RequestHead } from './check.ts';
import { createRateLimit } from '../../network/rate-limit.ts';
import { createSecretCheck } from './secret.ts';

/** How many wrong secrets an address may try in a minute. */
const ADMIN_FAILURES_A_MINUTE = 10;

/**
 * Lets requests of operators pass, with `x-admin-secret`: the secret of the configuration, the token of an
 * operator, or the secret of a proxy that names one in a header. Throws `UNAUTHORIZED`, the same for a
 * missing and a wrong secret, and for that of the proxy without a name; `RATE_LIMITED` for every secret,
 * after 10 wrong ones from one address in a minute; `ROLE_NOT_ALLOWED` for a name without a role;
 * `HOST_NOT_ALLOWED` for a change by the proxy's secret that comes from another site; `ADMIN_DISABLED`
 * when there is no secret.
 *
 * The right secret gets `RATE_LIMITED` too: letting it pass would tell a guesser which one it is. The
 * console stays open meanwhile and says how long to wait.
 */
export function adminAuth(
  adminSecret: string | null,
  {
    now,
    keys,
    proxy,
  }: { now: () => number; keys: Pick<KnownKeys, 'find' | 'list'>; proxy: ProxySignIn | null },
): KeyCheck {
  const isSecret = createSecretCheck([adminSecret]);
  const isProxy = createSecretCheck([proxy?.secret ?? null]);
  const failures = createRateLimit({
    points: ADMIN_FAILURES_A_MINUTE,
    windowMs: 60_000,
    now,
    message: 'Too many wrong secrets from this address.',
    situation: 'wrongSecrets',
  });
  const carry = (head: RequestHead, operator: Operator | null): void => {
    if (operator === null) {
      failures.take(addressKey(head.address));
      throw new MemoryError('UNAUTHORIZED');
    }
    head.operator = operator;
  };
  return (head) => {
    const isOff = isSecret === null && proxy === null && keys.list().length === 0;
    if (isOff) throw new MemoryError('ADMIN_DISABLED');
    const presented = head.header('x-admin-secret');
    // Not counted, because a page on another site or port can make a browser send such requests and
    // lock the operator out. It cannot send the header, since the service allows no CORS preflight.
    if (presented === null) throw new MemoryError('UNAUTHORIZED');
    failures.check(addressKey(head.address));
    if (isSecret?.(presented) === true) return carry(head, SERVICE_OPERATOR);
    if (proxy !== null && isProxy?.(presented) === true) {
      head.operator = signInByProxy(head, proxy);
      return;
    }
    const found = keys.find('admin', presented);
    return found instanceof Promise ? found.then((one) => carry(head, one)) : carry(head, found);
  };
}

/** The operator whom the proxy names. Without a name nobody is signed in. */
function signInByProxy(head: RequestHead, proxy: ProxySignIn): Operator {
  const given = head.header(proxy.header);
  if (given === null || given === '' || head.count(proxy.header) > 1) {
    throw new MemoryError('UNAUTHORIZED');
  }
  // A page of another site can make a browser send its cookie to the proxy, which adds the secret.
  if (head.method !== 'GET' && head.method !== 'HEAD' && !isOfOwnHost(head)) {
    throw new MemoryError('HOST_NOT_ALLOWED', 'The Origin is not this service.');
  }
  // Node decodes header bytes as Latin-1; names are UTF-8.
  const operator = proxy.find(Buffer.from(given, 'latin1').toString('utf8'));
  if (operator === null) {
    throw new MemoryError('ROLE_NOT_ALLOWED', 'Nobody gave a role to this name.');
  }
  return operator;
}

function isOfOwnHost(head: RequestHead): boolean {
  const origin = head.header('origin');
  const authority = origin === null ? null : /^https?:\/\/([^/?#]+)$/i.exec(origin)?.[1];
  const own = [head.header('host'), head.header('x-forwarded-host')];
  return own.some((host) => host !== null && host.toLowerCase() === authority?.toLowerCase());
}
