import { MemoryError } from '../../errors.ts';
import type { Check } from './check.ts';
import { createSecretCheck } from './secret.ts';

/**
 * Lets requests with an API key pass, as `Authorization: Bearer <key>` or `x-api-key: <key>`.
 * Throws `UNAUTHORIZED`, the same for a missing and a wrong key. When no key is set, it throws
 * `TOOLS_DISABLED`; with `hasSignIn`, where the surrounding app signs its users in, it throws
 * `UNAUTHORIZED`.
 */
export function toolsAuth(
  apiKeys: readonly string[],
  { hasSignIn }: { hasSignIn: boolean },
): Check {
  const isKey = createSecretCheck(apiKeys);
  if (isKey === null) {
    return () => {
      if (!hasSignIn) throw new MemoryError('TOOLS_DISABLED');
      throw new MemoryError('UNAUTHORIZED', undefined, { situation: 'signedIn' });
    };
  }
  return (head) => {
    const bearer = bearerOf(head.header('authorization'));
    if (bearer !== null && isKey(bearer)) return;
    const key = head.header('x-api-key');
    if (key !== null && isKey(key)) return;
    throw new MemoryError('UNAUTHORIZED', undefined, hasSignIn ? { situation: 'signedIn' } : {});
  };
}

function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : null;
}
