import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query';
import { computed } from 'vue';
import type { Query } from '../api.ts';
import { settle } from './list.ts';
import { useApi } from './session.ts';

/** What the dashboard is filtered by: a time range, a user, a tool. */
export type DashboardFilters = Readonly<Record<string, string>>;

/** Asks one question of `/v1/admin/observability`, of the last 24 hours unless filtered. */
export function useDashboard<T>(
  name: string,
  filters: () => DashboardFilters,
  more: () => Query = () => ({}),
): UseQueryReturnType<T, Error> {
  const api = useApi();
  return useQuery({
    queryKey: computed(() => ['observability', name, filters(), more()]),
    queryFn: ({ signal }) =>
      api.read<T>(
        `/v1/admin/observability/${name}`,
        { ...settle({ since: '24h', ...filters() }), ...more() },
        signal,
      ),
  });
}
