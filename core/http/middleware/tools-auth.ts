import { MemoryError } from '../../errors.ts';
import type { KnownKeys } from '../../access/known-keys.ts';
import type { ApiKey } from '../../contracts/access.ts';
import type { KeyCheck, RequestHead } from './check.ts';
import { createSecretCheck } from './secret.ts';

/**
 * Lets requests with an API key pass, as `Authorization: Bearer <key>` or `x-api-key: <key>`: one of the
 * configuration, or a named one, which the request then carries. Throws `UNAUTHORIZED`, the same for a
 * missing and a wrong key. When no key is configured and none is presented that could be a named one,
 * it throws `TOOLS_DISABLED`; with `hasSignIn`, where the surrounding app signs its users in, it throws
 * `UNAUTHORIZED`.
 */
export function toolsAuth(
  apiKeys: readonly string[],
  { hasSignIn, keys }: { hasSignIn: boolean; keys: Pick<KnownKeys, 'find' | 'list'> },
): KeyCheck {
  const isServiceKey = createSecretCheck(apiKeys);
  const refused = () => {
    if (isServiceKey === null && !hasSignIn && keys.list().length === 0) {
      return new MemoryError('TOOLS_DISABLED');
    }
    return new MemoryError('UNAUTHORIZED', undefined, hasSignIn ? { situation: 'signedIn' } : {});
  };
  const carry = (head: RequestHead, key: ApiKey | null): void => {
    if (key === null) throw refused();
    head.apiKey = key;
  };
  return (head) => {
    const presented = [bearerOf(head.header('authorization')), head.header('x-api-key')];
    for (const text of presented) if (text !== null && isServiceKey?.(text) === true) return;
    let found: ReturnType<typeof keys.find<'tools'>> = null;
    for (const text of presented) if (text !== null) found ??= keys.find('tools', text);
    return found instanceof Promise ? found.then((key) => carry(head, key)) : carry(head, found);
  };
}

function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null;
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : null;
}
