import { useVirtualizer } from '@tanstack/vue-virtual';
import { computed, onMounted, onUnmounted, ref, type Ref, shallowRef } from 'vue';

/** Rows above and below those in view that are drawn too. */
const OVERSCAN = 12;

/** The rows of a list that are in view or near it, so that the others cost nothing. */
export function useVisibleRows(options: {
  count: () => number;
  /** The height of each row, in pixels; of rows that are measured, that of most. */
  rowHeight: number;
  /** What scrolls. */
  scroller: Readonly<Ref<HTMLElement | null>>;
  /** Where the rows begin in what scrolls, in pixels. */
  margin?: () => number;
}): ReturnType<typeof useVirtualizer<HTMLElement, HTMLElement>> {
  const { count, rowHeight, scroller, margin = () => 0 } = options;
  return useVirtualizer(
    computed(() => ({
      count: count(),
      getScrollElement: () => scroller.value,
      estimateSize: () => rowHeight,
      overscan: OVERSCAN,
      scrollMargin: margin(),
    })),
  );
}

/** From how many rows on only those in view are drawn. Below, the browser is as fast with all of them. */
export const MANY_ROWS = 500;

/**
 * {@link useVisibleRows} for rows of any height, in a list that something around it scrolls: on a narrow
 * screen that is another element than on a wide one.
 */
export function useVisibleLines(options: {
  list: Readonly<Ref<HTMLElement | null>>;
  count: () => number;
  lineHeight: number;
}) {
  const { list, count, lineHeight } = options;
  const scroller = shallowRef<HTMLElement | null>(null);
  const margin = ref(0);
  function place() {
    const element = list.value;
    scroller.value = element === null ? null : scrollerOf(element);
    if (element === null || scroller.value === null) return;
    const top = element.getBoundingClientRect().top - scroller.value.getBoundingClientRect().top;
    margin.value = top + scroller.value.scrollTop;
  }
  onMounted(() => {
    place();
    window.addEventListener('resize', place);
  });
  onUnmounted(() => window.removeEventListener('resize', place));
  const virtualizer = useVisibleRows({
    count,
    rowHeight: lineHeight,
    scroller,
    margin: () => margin.value,
  });
  const measure = (row: unknown) => virtualizer.value.measureElement(row as HTMLElement | null);
  /** Brings a line into the middle: in some frames, because the lines above are measured as they are drawn. */
  function bring(index: number, frames = FRAMES): void {
    place();
    const [top] = virtualizer.value.getOffsetForIndex(index, 'center') ?? [];
    if (scroller.value !== null && top !== undefined) scroller.value.scrollTop = top;
    if (frames > 0) window.requestAnimationFrame(() => bring(index, frames - 1));
  }
  return { virtualizer, margin, measure, bring, place };
}

/** Frames until the lines around the one that was asked for are drawn and measured. */
const FRAMES = 6;

function scrollerOf(element: HTMLElement): HTMLElement | null {
  for (let at = element.parentElement; at !== null; at = at.parentElement) {
    const { overflowY } = window.getComputedStyle(at);
    if (overflowY === 'auto' || overflowY === 'scroll') return at;
  }
  return null;
}
