import type { ScopeKey } from '../contracts/records.ts';
import { toScope } from '../files/paths.ts';
import type { Storage } from '../contracts/storage.ts';
import { FREEZE_PREFIX, fromFreezeSetting, toFreezeSetting } from '../files/freeze.ts';

/** What stands in place of a reason. */
const ERASED = 'erased';

/**
 * Takes the reasons out of the freezes of one user. The freezes stay until they end by themselves: an
 * erasure is no reason to let an agent write again.
 */
export async function eraseFreezeReasons(
  storage: Pick<Storage, 'config' | 'mutate'>,
  scope: ScopeKey,
): Promise<void> {
  const settings = Object.keys(await storage.config.entries(FREEZE_PREFIX));
  if (settings.length === 0) return;
  await storage.mutate({ scopes: [], files: [], settings }, (current) => {
    const freezes = settings.flatMap(
      (key) => fromFreezeSetting(key, current.setting(key)?.value) ?? [],
    );
    const own = freezes.filter(
      ({ target }) => ('userId' in target || 'spaceId' in target) && toScope(target) === scope,
    );
    const changed = own.map((freeze) => toFreezeSetting({ ...freeze, reason: ERASED }));
    return { result: null, writes: 0, changes: { settings: changed } };
  });
}
