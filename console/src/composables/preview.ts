import {
  keepPreviousData,
  useQuery,
  useQueryClient,
  type UseQueryReturnType,
} from '@tanstack/vue-query';
import { computed, type ComputedRef, ref, type Ref, watch } from 'vue';
import { explain } from '../api.ts';

/** A change that is first looked at, then made: what a dialog shows of it. */
export interface Preview<T> {
  readonly preview: UseQueryReturnType<T, Error>;
  /** What was done; `null` before. */
  readonly receipt: Ref<T | null>;
  /** The receipt, else what would happen; `null` while that is not known. */
  readonly shown: ComputedRef<T | null>;
  readonly isBusy: Ref<boolean>;
  readonly failure: Ref<string | null>;
  carryOut(): Promise<void>;
}

/** Asks what a change would do, each time its subject is another one, and makes it once. */
export function usePreview<T>(options: {
  subject: () => unknown;
  ask: (options: { dryRun: boolean }) => Promise<T>;
  /** The last look stays until that of another subject has come: what a person chooses in it stays, too. */
  isKept?: boolean;
  /** Whether there is something to ask for; default always. */
  isReady?: () => boolean;
}): Preview<T> {
  const { subject, ask, isKept = false, isReady = () => true } = options;
  const queryClient = useQueryClient();
  const receipt = ref(null) as Ref<T | null>;
  const isBusy = ref(false);
  const failure = ref<string | null>(null);
  const preview = useQuery({
    queryKey: computed(() => ['preview', subject()]),
    // While it is made, the service would refuse to look.
    enabled: computed(() => receipt.value === null && !isBusy.value && isReady()),
    queryFn: () => ask({ dryRun: true }),
    ...(isKept ? { placeholderData: keepPreviousData } : {}),
    gcTime: 0,
    staleTime: 0,
  });
  watch(subject, () => (failure.value = null));

  async function carryOut(): Promise<void> {
    isBusy.value = true;
    failure.value = null;
    try {
      receipt.value = await ask({ dryRun: false });
    } catch (error) {
      failure.value = explain(error);
    }
    isBusy.value = false;
    // Also after an error: some batches may have been written.
    await queryClient.invalidateQueries();
  }

  const shown = computed(() => receipt.value ?? preview.data.value ?? null);
  return { preview, receipt, shown, isBusy, failure, carryOut };
}
