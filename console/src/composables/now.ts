import { onUnmounted, ref, type Ref } from 'vue';

/** The current time, updated every half minute while the component is mounted. */
export function useNow(): Ref<number> {
  const now = ref(Date.now());
  const timer = window.setInterval(() => (now.value = Date.now()), 30_000);
  onUnmounted(() => window.clearInterval(timer));
  return now;
}
