import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query';
import { computed } from 'vue';
import type { AdminKey } from '../../../core/contracts/admin.ts';
import { useApi, useRights } from './session.ts';

/** The named keys, by name; nothing where the operator's role may not list them. */
export function useKeys({
  enabled = () => true,
}: { enabled?: () => boolean } = {}): UseQueryReturnType<readonly AdminKey[], Error> {
  const api = useApi();
  const rights = useRights();
  return useQuery({
    queryKey: ['keys'],
    enabled: computed(() => enabled() && rights.reasonAgainst('GET /v1/admin/keys') === null),
    queryFn: async ({ signal }) => (await api.keys(signal)).items,
  });
}
