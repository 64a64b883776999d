import { keepPreviousData, useQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, type Ref } from 'vue';
import type { ValueCounts } from '../../../core/contracts/admin.ts';
import type { FilterDefinition } from './filters.ts';
import { settle } from './list.ts';
import { useRefreshMs } from './refresh.ts';
import { useApi } from './session.ts';

/** A value that a filter could have, and how many rows have it. */
export interface CountedValue {
  value: string;
  count: number;
}

/** The values that the filters of a list could have, as the service counts them. */
export interface Facets {
  readonly counts: Ref<ValueCounts | undefined>;
  readonly error: Ref<Error | null>;
  /** The counted values of a filter; `null` for one that is not counted. */
  valuesOf(name: string): readonly CountedValue[] | null;
  /** Whether a filter has a value that no row has. */
  hasUnknown(filters: Readonly<Record<string, string>>): boolean;
  /** The filters that are counted, in the order of the view. */
  readonly counted: ComputedRef<readonly FilterDefinition[]>;
}

/** Counts the values of a list at `/v1/admin/<path>/values` with the filters of its view. */
export function useFacets(options: {
  path: string;
  definitions: readonly FilterDefinition[];
  filters: () => Readonly<Record<string, string>>;
  /** The name of a filter of the service in the view; by default the same. */
  nameOf?: (filter: string) => string;
}): Facets {
  const api = useApi();
  const { path, definitions, filters, nameOf = (filter) => filter } = options;
  const query = useQuery({
    queryKey: computed(() => ['values', path, filters()]),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshMs(),
    queryFn: async ({ signal }) => {
      const found = await api.read<ValueCounts>(
        `/v1/admin/${path}/values`,
        settle(filters()),
        signal,
      );
      const without = found.without.map((one) => ({ ...one, filter: nameOf(one.filter) }));
      return { ...found, without };
    },
  });
  const valuesOf = (name: string) =>
    query.data.value?.fields.find(({ field }) => field === name)?.values ?? null;
  return {
    counts: query.data,
    error: query.error,
    valuesOf,
    hasUnknown: (chosen) =>
      Object.entries(chosen).some(
        ([name, value]) => valuesOf(name)?.every((one) => one.value !== value) === true,
      ),
    counted: computed(() => definitions.filter(({ name }) => (valuesOf(name)?.length ?? 0) > 0)),
  };
}
