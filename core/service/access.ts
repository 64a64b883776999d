import { createKeyCalls } from '../access/key-calls.ts';
import { createKeys } from '../access/keys.ts';
import { createKnownKeys } from '../access/known-keys.ts';
import type { Basis } from './basis.ts';

/** Who may use the service. */
export type Access = ReturnType<typeof createAccess>;

/** Creates the list of named keys, and what operators do with them. */
export function createAccess(
  { storage, ids, log, now }: Basis,
  { ready }: { ready: () => Promise<void> },
) {
  const known = createKnownKeys({ storage, ready, now });
  const deps = { storage, known, ids, now };
  return {
    known,
    calls: createKeyCalls({ storage, known, log, now }),
    keys: createKeys('tools', deps),
    operators: createKeys('admin', deps),
  };
}
