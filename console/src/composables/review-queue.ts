import { useQuery, useQueryClient } from '@tanstack/vue-query';
import { computed, type ComputedRef } from 'vue';
import { useRouter } from 'vue-router';
import type { ListAnswer } from '../../../core/contracts/admin.ts';
import type { AdminDreamRun } from '../dream-answers.ts';
import { useApi } from './session.ts';

/** The runs with operations that wait for a person, as one queue. */
export interface ReviewQueue {
  /** How many of its other runs wait; `null` until it was read. */
  readonly others: ComputedRef<number | null>;
  /** Opens the next run that waits, at its first waiting operation; `false` if there is none. */
  next(): Promise<boolean>;
  /** Whether the page came here by {@link ReviewQueue.next}. */
  isArrival(): boolean;
}

/** Runs that are looked through for the next one. */
const LOOKED_THROUGH = 100;

/** The queue as seen from a run. */
export function useReviewQueue(runId: string): ReviewQueue {
  const api = useApi();
  const router = useRouter();
  const queries = useQueryClient();
  const queryKey = ['dreams', 'queue'];
  const read = async ({ signal }: { signal: AbortSignal }) =>
    (
      await api.read<ListAnswer<AdminDreamRun>>(
        '/v1/admin/dream/runs',
        { waiting: true, limit: LOOKED_THROUGH },
        signal,
      )
    ).items;
  const query = useQuery({ queryKey, queryFn: read });
  return {
    others: computed(() => query.data.value?.filter(({ id }) => id !== runId).length ?? null),
    async next() {
      const runs = await queries.fetchQuery({ queryKey, queryFn: read });
      const at = runs.findIndex(({ id }) => id === runId);
      // From the last one it goes on with the first.
      const next = [...runs.slice(at + 1), ...runs.slice(0, Math.max(0, at))][0];
      if (next === undefined) return false;
      await router.push({
        name: 'dreams',
        query: { ...router.currentRoute.value.query, run: next.id, status: 'waiting' },
        state: { isNext: true },
      });
      return true;
    },
    isArrival: () => (window.history.state as { isNext?: unknown } | null)?.isNext === true,
  };
}
