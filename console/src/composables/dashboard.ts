import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query';
import { computed } from 'vue';
import type { Query } from '../api.ts';
import { toInstant } from '../times.ts';
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
        { ...settle(withUsualRange(filters())), ...more() },
        signal,
      ),
  });
}

/** Fills in the start of the range that figures have where the address names none: the last day. */
export function withUsualRange(filters: DashboardFilters, usual = '24h'): DashboardFilters {
  const until = toInstant(filters['until'] ?? '', Date.now());
  return until === null || filters['since'] !== undefined
    ? { since: usual, ...filters }
    : { ...filters, since: toInstant(usual, Date.parse(until)) ?? usual };
}
