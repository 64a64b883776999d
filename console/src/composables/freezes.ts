import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query';
import type { AdminFreeze, AdminKey } from '../../../core/contracts/admin.ts';
import { useApi } from './session.ts';

/** How often the console looks for freezes that others made or ended. */
const LOOK_MS = 15_000;

/** The freezes that are in force, oldest first. */
export function useFreezes(): UseQueryReturnType<readonly AdminFreeze[], Error> {
  const api = useApi();
  return useQuery({
    queryKey: ['freezes'],
    queryFn: async ({ signal }) => (await api.freezes(signal)).items,
    refetchInterval: LOOK_MS,
  });
}

/** `Writes for the user anna`, `Writes by the actor bot`, `All writes`. `keys` gives a key its name. */
export function tellFrozen(
  { userId, spaceId, actor, keyId }: AdminFreeze,
  keys: readonly Pick<AdminKey, 'id' | 'name'>[],
): string {
  if (userId !== null) return `Writes for the user ${userId}`;
  if (spaceId !== null) return `Writes to the space ${spaceId}`;
  if (keyId !== null) {
    return `Writes with the key ${keys.find(({ id }) => id === keyId)?.name ?? keyId}`;
  }
  return actor === null ? 'All writes' : `Writes by the actor ${actor}`;
}
