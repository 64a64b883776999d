import { onUnmounted, ref, type Ref } from 'vue';

/** The present, renewed every half minute while the component is there. */
export function useNow(): Ref<number> {
  const now = ref(Date.now());
  const timer = window.setInterval(() => (now.value = Date.now()), 30_000);
  onUnmounted(() => window.clearInterval(timer));
  return now;
}
