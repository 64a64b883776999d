import { useQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, ref, type Ref, watch } from 'vue';
import type { AdminUser, ListAnswer, UserHygiene } from '../../../core/contracts/admin.ts';
import { ApiError, type Query } from '../api.ts';
import type { AdminDreamUser } from '../dream-answers.ts';
import { toUserRows, type UserRow } from '../user-rows.ts';
import { useApi } from './session.ts';

/** The most users that the table reads, to sort all of them. */
export const MOST_USERS = 5_000;
const PAGE = 500;
/** Users of a page of the check: small, so that its progress shows. */
const CHECKED_AT_ONCE = 20;

/** All users with what is known of their memory. */
export interface Users {
  readonly rows: ComputedRef<UserRow[]>;
  readonly isLoading: Readonly<Ref<boolean>>;
  readonly error: Ref<Error | null>;
  /** There are more than the table reads. */
  readonly isCut: ComputedRef<boolean>;
  /** How many users were checked; `null` while no check was asked for. */
  readonly checked: ComputedRef<number | null>;
  readonly isChecking: Readonly<Ref<boolean>>;
  readonly checkError: Readonly<Ref<Error | null>>;
  refresh(): void;
  checkAgain(): void;
}

/** Reads all users whose id contains a text, and checks their memory where that is asked for. */
export function useUsers(options: { q: () => string | null; isChecked: () => boolean }): Users {
  const api = useApi();
  const { q, isChecked } = options;

  const users = useQuery({
    queryKey: computed(() => ['users.all', q()]),
    queryFn: ({ signal }) => readAll<AdminUser>((query) => api.users({ ...query, q: q() }, signal)),
  });
  const dreams = useQuery({
    queryKey: computed(() => ['users.dreams', q()]),
    queryFn: async ({ signal }) => {
      const path = '/v1/admin/dream/users';
      try {
        return await readAll((query) =>
          api.read<ListAnswer<AdminDreamUser>>(path, { ...query, q: q() }, signal),
        );
      } catch (error) {
        // A service without the dreaming plugin.
        if (error instanceof ApiError && error.code === 'NOT_FOUND') return [];
        throw error;
      }
    },
  });

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
    rows: computed(() => toUserRows(users.data.value ?? [], dreams.data.value ?? [], found.value)),
    isLoading: computed(() => users.isPending.value || dreams.isPending.value),
    error: users.error,
    isCut: computed(() => (users.data.value?.length ?? 0) >= MOST_USERS),
    checked: computed(() => (isChecked() ? found.value.length : null)),
    isChecking,
    checkError,
    refresh: () => void users.refetch(),
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
