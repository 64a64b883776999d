import { useInfiniteQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, onScopeDispose, readonly, ref, type Ref, watch } from 'vue';
import type { ListAnswer } from '../../../core/contracts/admin.ts';
import type { Query } from '../api.ts';
import { toInstant } from '../times.ts';
import { useRefresh } from './refresh.ts';

/** A list that is read page by page. */
export interface List<T> {
  readonly items: ComputedRef<T[]>;
  readonly isLoading: Ref<boolean>;
  readonly isFetching: Ref<boolean>;
  readonly error: Ref<Error | null>;
  readonly hasMore: Ref<boolean>;
  /** When its rows were read, in milliseconds since 1970; 0 before that. */
  readonly readAt: Ref<number>;
  /** What came since: `12 new`, or that it changed; `null` for nothing that is known. */
  readonly news: Readonly<Ref<string | null>>;
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
  /** Looks for more rows from time to time; not for what shows contents, because each look is audited. */
  isWatched?: boolean;
}): List<T> {
  const { name, filters, fetch, limit = 50, enabled = () => true, isWatched = true } = options;
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
  const items = computed(() => (query.data.value?.pages ?? []).flatMap((page) => page.items));
  const news = ref<string | null>(null);
  let looking = new AbortController();
  const forget = () => {
    looking.abort();
    news.value = null;
  };
  watch(query.dataUpdatedAt, forget);
  watch(() => JSON.stringify(filters()), forget);
  onScopeDispose(forget);
  useRefresh(() => {
    const [page] = query.data.value?.pages ?? [];
    if (!isWatched || page === undefined || query.isFetching.value || !enabled()) return;
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    fetch({ ...settle(filters()), limit }, signal).then(
      (fresh) => {
        if (!signal.aborted) news.value = tellNews(fresh, { shown: items.value, first: page });
      },
      // A list that can't be read now says so when it is read.
      () => undefined,
    );
  });
  return {
    items,
    readAt: query.dataUpdatedAt,
    news: readonly(news),
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

/** What a first page has that was not there before. */
function tellNews<T>(
  fresh: ListAnswer<T>,
  { shown, first }: { shown: readonly T[]; first: ListAnswer<T> },
): string | null {
  const known = new Set(shown.map(nameRow));
  const added = fresh.items.filter((row) => !known.has(nameRow(row))).length;
  if (added > 0) {
    // All rows of the page are new, and there are more pages: the true number may be greater.
    const isWhole = added === fresh.items.length && fresh.nextCursor !== null;
    return `${added}${isWhole ? ' or more' : ''} new`;
  }
  return JSON.stringify(fresh.items) === JSON.stringify(first.items) ? null : 'changed';
}

/** What is the same in two answers for the same thing. */
function nameRow(row: unknown): string {
  const { id, path, userId, spaceId } = (row ?? {}) as Record<string, unknown>;
  return JSON.stringify([id, path, userId, spaceId]);
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
