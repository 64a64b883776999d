import { computed, type ComputedRef, watch } from 'vue';
import { REFRESHES, usePreferences } from './preferences.ts';

/** How often figures are read again, in milliseconds; `false` where the reader chose never. */
export function useRefreshMs(): ComputedRef<number | false> {
  const { refresh } = usePreferences();
  return computed(() => REFRESHES[refresh.value].ms);
}

/** Does something again and again while the page is seen, as often as the reader chose. */
export function useRefresh(work: () => void): void {
  const everyMs = useRefreshMs();
  watch(
    everyMs,
    (ms, _before, onCleanup) => {
      if (ms === false) return;
      const timer = window.setInterval(() => document.hidden || work(), ms);
      onCleanup(() => window.clearInterval(timer));
    },
    { immediate: true },
  );
}
