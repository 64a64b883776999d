import { useQuery } from '@tanstack/vue-query';
import { computed, type ComputedRef, type Ref, watch } from 'vue';
import type { BlamedLines } from '../../../core/contracts/admin.ts';
import { useNotices } from './notices.ts';
import { useApi } from './session.ts';

/** Who wrote each line of a version of a file. */
export function useBlame(options: {
  path: () => string;
  version: () => number;
  enabled: () => boolean;
}): {
  readonly rangeOfLine: ComputedRef<ReadonlyMap<number, BlamedLines>>;
  readonly isLoading: Ref<boolean>;
  readonly isFetching: Ref<boolean>;
} {
  const api = useApi();
  const notices = useNotices();
  const { path, version, enabled } = options;
  const query = useQuery({
    queryKey: computed(() => ['file.blame', path(), version()]),
    enabled: computed(enabled),
    queryFn: async ({ signal }) =>
      // Of the version that is shown, also when another one was written meanwhile.
      (await api.file(path(), { version: version(), blame: true }, signal)).blame ?? [],
  });
  watch(query.error, (error) => {
    if (error !== null) notices.failed('Who wrote the lines could not be read', error);
  });
  const rangeOfLine = computed(() => toRangeOfLine(query.data.value ?? []));
  return { rangeOfLine, isLoading: query.isLoading, isFetching: query.isFetching };
}

function toRangeOfLine(ranges: readonly BlamedLines[]): ReadonlyMap<number, BlamedLines> {
  // What its writer had read comes once for each revision, with its first lines.
  const reads = new Map<string | null, BlamedLines['afterReading']>();
  for (const { revisionId, afterReading } of ranges) {
    if (afterReading !== undefined) reads.set(revisionId, afterReading);
  }
  return new Map(
    ranges.flatMap((range) => {
      const afterReading = reads.get(range.revisionId) ?? null;
      return Array.from(
        { length: range.endLine - range.startLine + 1 },
        (_, index) => [range.startLine + index, { ...range, afterReading }] as const,
      );
    }),
  );
}
