import { useVirtualizer } from '@tanstack/vue-virtual';
import { computed, type Ref } from 'vue';

/** Rows above and below those in view that are drawn too. */
const OVERSCAN = 12;

/** The rows of a list that are in view or near it, so that the others cost nothing. */
export function useVisibleRows(options: {
  count: () => number;
  /** The height of each row, in pixels. */
  rowHeight: number;
  /** What scrolls. */
  scroller: Readonly<Ref<HTMLElement | null>>;
}): ReturnType<typeof useVirtualizer<HTMLElement, HTMLElement>> {
  const { count, rowHeight, scroller } = options;
  return useVirtualizer(
    computed(() => ({
      count: count(),
      getScrollElement: () => scroller.value,
      estimateSize: () => rowHeight,
      overscan: OVERSCAN,
    })),
  );
}
