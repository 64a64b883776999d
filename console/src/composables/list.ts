import { useInfiniteQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, type Ref } from 'vue';
import type { ListAnswer } from '../../../core/contracts/admin.ts';
import type { Query } from '../api.ts';
import { toInstant } from '../times.ts';

/** A list that is read page by page. */
export interface List<T> {
  readonly items: ComputedRef<T[]>;
  readonly isLoading: Ref<boolean>;
  readonly isFetching: Ref<boolean>;
  readonly error: Ref<Error | null>;
  readonly hasMore: Ref<boolean>;
  loadMore(): void;
  refresh(): void;
  /** Reads all rows that match the filters, at most `max`, from the first page. */
  readAll(options: {
    max: number;
    signal: AbortSignal;
    onProgress(rows: number): void;
  }): Promise<T[]>;
}

/** Rows per page when all are read. */
const LARGEST_PAGE = 500;

/**
 * Reads a list by its cursor. Ranges such as `since=24h` are fixed when the first page is read,
 * because a cursor is valid only for its filters.
 */
export function useList<T>(options: {
  name: string;
  filters: () => Readonly<Record<string, string>>;
  fetch: (query: Query, signal: AbortSignal) => Promise<ListAnswer<T>>;
  limit?: number;
  enabled?: () => boolean;
}): List<T> {
  const { name, filters, fetch, limit = 50, enabled = () => true } = options;
  const query = useInfiniteQuery({
    queryKey: computed(() => [name, filters()]),
    enabled: computed(enabled),
    initialPageParam: null as { cursor: string; query: Query } | null,
    queryFn: async ({ pageParam, signal }) => {
      const settled = pageParam?.query ?? settle(filters());
      const cursor = pageParam?.cursor;
      return { query: settled, ...(await fetch({ ...settled, limit, cursor }, signal)) };
    },
    getNextPageParam: (page) =>
      page.nextCursor === null ? null : { cursor: page.nextCursor, query: page.query },
  });
  return {
    items: computed(() => (query.data.value?.pages ?? []).flatMap((page) => page.items)),
    isLoading: query.isLoading,
    isFetching: query.isFetching,
    error: query.error,
    hasMore: query.hasNextPage,
    // A page that is on its way is not asked for again, however often the end comes into view.
    loadMore: () => void query.fetchNextPage({ cancelRefetch: false }),
    refresh: () => void query.refetch(),
    async readAll({ max, signal, onProgress }) {
      const settled = settle(filters());
      const items: T[] = [];
      let cursor: string | null = null;
      do {
        const page: ListAnswer<T> = await fetch(
          { ...settled, limit: LARGEST_PAGE, cursor },
          signal,
        );
        items.push(...page.items);
        onProgress(items.length);
        cursor = page.nextCursor;
      } while (cursor !== null && items.length < max);
      return items.slice(0, max);
    },
  };
}

/** The filters that are times: ages such as `24h` become the time that they mean now. */
const TIMES: readonly string[] = ['since', 'until', 'notShownSince', 'existsSince'];

/** The filters for the API. */
export function settle(filters: Readonly<Record<string, string>>): Query {
  const now = Date.now();
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [
      name,
      TIMES.includes(name) ? (toInstant(value, now) ?? value) : value,
    ]),
  );
}
