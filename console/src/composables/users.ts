import { useQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, ref, type Ref, watch } from 'vue';
import type { AdminUser, ListAnswer, UserHygiene } from '../../../core/contracts/admin.ts';
import { ApiError, type Query } from '../api.ts';
import type { AdminDreamUser } from '../dream-answers.ts';
import {
  addFindings,
  sortUsers,
  toUserRows,
  USER_GROUPS,
  type UserGroup,
  type UserRow,
  type UserSort,
} from '../user-rows.ts';
import { type List, settle, useList } from './list.ts';
import { useApi } from './session.ts';

/** The most users that are read to sort by what only other routes know. */
export const MOST_USERS = 5_000;
const PAGE = 500;
/** Users of a page of the check: small, so that its progress shows. */
const CHECKED_AT_ONCE = 20;
/** Users whose dreaming is asked for at once. */
const NAMED_AT_ONCE = 50;

/** Which users are listed, in which order. */
interface UserFilters {
  q: string | null;
  group: UserGroup | null;
  sort: UserSort;
  order: 'asc' | 'desc';
}

/** Users with what is known of their memory. */
export interface Users {
  /** In the order that was asked for; with a `list`, as far as it is read. */
  readonly rows: ComputedRef<UserRow[]>;
  /** The list that the rows are of; `null` if all of them are read. */
  readonly list: ComputedRef<List<UserRow> | null>;
  readonly isLoading: ComputedRef<boolean>;
  readonly error: ComputedRef<Error | null>;
  /** There are more than are read to sort them. */
  readonly isCut: ComputedRef<boolean>;
  /** The user with an id, also if no row of the table is of it. */
  readonly chosen: ComputedRef<UserRow | null>;
  /** When the rows were read, where all of them are read; 0 before that. */
  readonly readAt: ComputedRef<number>;
  /** How many users there are, where all of them are read. */
  readonly total: ComputedRef<number | null>;
  /** How many users were checked; `null` while no check was asked for. */
  readonly checked: ComputedRef<number | null>;
  readonly isChecking: Readonly<Ref<boolean>>;
  readonly checkError: Readonly<Ref<Error | null>>;
  refresh(): void;
  checkAgain(): void;
}

/**
 * Lists users, and checks their memory where that is asked for. The service sorts by most columns, a
 * page at a time; for findings and dreaming, which it can't sort by, all users are read.
 */
export function useUsers(options: {
  filters: () => UserFilters;
  chosenId: () => string | null;
  isChecked: () => boolean;
}): Users {
  const api = useApi();
  const { filters, chosenId, isChecked } = options;
  const q = () => filters().q;
  const selection = (): Record<string, string> => {
    const { group } = filters();
    return group === null ? {} : USER_GROUPS[group].query;
  };
  const isWhole = computed(() => {
    const { sort, group } = filters();
    return isChecked() || sort === 'findings' || sort === 'dreaming' || group === 'findings';
  });

  const list = useList<UserRow>({
    name: 'users',
    enabled: () => !isWhole.value,
    filters: () => {
      const { sort, order } = filters();
      return { q: q() ?? '', sort, order, ...selection() };
    },
    fetch: readPage,
  });
  const whole = useQuery({
    queryKey: computed(() => ['users.all', q(), selection()]),
    enabled: isWhole,
    queryFn: async ({ signal }) => {
      const query = { q: q(), ...settle(selection()) };
      const [users, dreams] = await Promise.all([
        readAll<AdminUser>((page) => api.users({ ...page, ...query }, signal)),
        readDreams({ q: q() }, signal),
      ]);
      return toUserRows(users, dreams);
    },
  });
  const one = useQuery({
    queryKey: computed(() => ['users.one', chosenId()]),
    enabled: computed(() => chosenId() !== null),
    queryFn: async ({ signal }) =>
      (await readPage({ userId: chosenId() }, signal)).items[0] ?? null,
  });

  async function readPage(query: Query, signal: AbortSignal): Promise<ListAnswer<UserRow>> {
    const { items, nextCursor } = await api.users(query, signal);
    const named: Promise<AdminDreamUser[]>[] = [];
    for (let from = 0; from < items.length; from += NAMED_AT_ONCE) {
      const ids = items.slice(from, from + NAMED_AT_ONCE).map(({ userId }) => userId);
      named.push(readDreams({ userIds: ids.join(',') }, signal));
    }
    return { items: toUserRows(items, (await Promise.all(named)).flat()), nextCursor };
  }

  async function readDreams(query: Query, signal: AbortSignal): Promise<AdminDreamUser[]> {
    try {
      return await readAll((page) =>
        api.read<ListAnswer<AdminDreamUser>>(
          '/v1/admin/dream/users',
          { ...page, ...query },
          signal,
        ),
      );
    } catch (error) {
      // A service without the dreaming plugin.
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return [];
      throw error;
    }
  }

  const found = ref<UserHygiene[]>([]);
  const isChecking = ref(false);
  const checkError = ref<Error | null>(null);
  const round = ref(0);
  watch(
    () => [isChecked(), q(), round.value] as const,
    async ([isAsked, text], _before, onCleanup) => {
      const controller = new AbortController();
      const { signal } = controller;
      onCleanup(() => controller.abort());
      found.value = [];
      checkError.value = null;
      isChecking.value = isAsked;
      if (!isAsked) return;
      try {
        await readAll<UserHygiene>(
          (query) =>
            api.read('/v1/admin/observability/hygiene/users', { ...query, q: text }, signal),
          { limit: CHECKED_AT_ONCE, onPage: (items) => (found.value = [...items]) },
        );
      } catch (error) {
        if (!signal.aborted) checkError.value = error as Error;
      }
      if (!signal.aborted) isChecking.value = false;
    },
    { immediate: true },
  );

  return {
    rows: computed(() => {
      if (!isWhole.value) return list.items.value;
      const { sort, order, group } = filters();
      const has = group === null ? () => true : USER_GROUPS[group].has;
      const rows = addFindings(whole.data.value ?? [], found.value).filter(has);
      return sortUsers(rows, { sort, order });
    }),
    list: computed(() => (isWhole.value ? null : list)),
    isLoading: computed(() => (isWhole.value ? whole.isPending.value : list.isLoading.value)),
    error: computed(() => (isWhole.value ? whole.error.value : list.error.value)),
    isCut: computed(() => isWhole.value && (whole.data.value?.length ?? 0) >= MOST_USERS),
    chosen: computed(() => one.data.value ?? null),
    readAt: computed(() => (isWhole.value ? whole.dataUpdatedAt.value : 0)),
    total: computed(() => (isWhole.value ? (whole.data.value?.length ?? null) : null)),
    checked: computed(() => (isChecked() ? found.value.length : null)),
    isChecking,
    checkError,
    refresh: () => void (isWhole.value ? whole.refetch() : list.refresh()),
    checkAgain: () => (round.value += 1),
  };
}

async function readAll<T>(
  read: (query: Query) => Promise<ListAnswer<T>>,
  { limit = PAGE, onPage = () => undefined }: { limit?: number; onPage?(items: T[]): void } = {},
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: ListAnswer<T> = await read({ limit, cursor });
    items.push(...page.items);
    onPage(items);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < MOST_USERS);
  return items;
}
