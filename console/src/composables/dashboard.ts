import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query';
import { computed } from 'vue';
import type { Query } from '../api.ts';
import { settle } from './list.ts';
import { useRefreshMs } from './refresh.ts';
import { useApi } from './session.ts';

/** The filters of the dashboard: a time range, a user, a tool. */
export type DashboardFilters = Readonly<Record<string, string>>;

/** Requests a route of `/v1/admin/observability`; the default range is the last 24 hours. */
export function useDashboard<T>(
  name: string,
  filters: () => DashboardFilters,
  more: () => Query = () => ({}),
): UseQueryReturnType<T, Error> {
  const api = useApi();
  return useQuery({
    refetchInterval: useRefreshMs(),
    queryKey: computed(() => ['observability', name, filters(), more()]),
    queryFn: ({ signal }) =>
      api.read<T>(
        `/v1/admin/observability/${name}`,
        { ...settle({ since: '24h', ...filters() }), ...more() },
        signal,
      ),
  });
}
